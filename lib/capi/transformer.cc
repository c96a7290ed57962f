// Targets of transformer.h: the C structs' options as those of the layers, copied for each.
#include "capi/gen/targets.h"
#include "nn/blocks.h"

namespace flambeau::capi {

Ref<flam_module> nn_transformer_encoder_layer(int64_t d_model, int64_t num_heads,
                                              int64_t dim_feedforward, double dropout, bool gelu,
                                              double eps, bool batch_first, bool norm_first,
                                              bool bias, Dtype dtype, Device device) {
  return nn::transformer_encoder_layer(
      d_model, num_heads,
      {dim_feedforward, dropout, gelu, eps, batch_first, norm_first, bias, {device, dtype}});
}

Ref<flam_module> nn_transformer_decoder_layer(int64_t d_model, int64_t num_heads,
                                              int64_t dim_feedforward, double dropout, bool gelu,
                                              double eps, bool batch_first, bool norm_first,
                                              bool bias, Dtype dtype, Device device) {
  return nn::transformer_decoder_layer(
      d_model, num_heads,
      {dim_feedforward, dropout, gelu, eps, batch_first, norm_first, bias, {device, dtype}});
}

Ref<flam_module> nn_transformer_encoder(int64_t d_model, int64_t num_heads, int64_t num_layers,
                                        int64_t dim_feedforward, double dropout, bool gelu,
                                        double eps, bool batch_first, bool norm_first, bool bias,
                                        Dtype dtype, Device device) {
  return nn::transformer_encoder(
      d_model, num_heads, num_layers,
      {dim_feedforward, dropout, gelu, eps, batch_first, norm_first, bias, {device, dtype}});
}

Ref<flam_module> nn_transformer_decoder(int64_t d_model, int64_t num_heads, int64_t num_layers,
                                        int64_t dim_feedforward, double dropout, bool gelu,
                                        double eps, bool batch_first, bool norm_first, bool bias,
                                        Dtype dtype, Device device) {
  return nn::transformer_decoder(
      d_model, num_heads, num_layers,
      {dim_feedforward, dropout, gelu, eps, batch_first, norm_first, bias, {device, dtype}});
}

Ref<flam_module> nn_transformer(int64_t d_model, int64_t num_heads, int64_t num_encoder_layers,
                                int64_t num_decoder_layers, int64_t dim_feedforward, double dropout,
                                bool gelu, double eps, bool batch_first, bool norm_first, bool bias,
                                Dtype dtype, Device device) {
  return nn::transformer(
      d_model, num_heads, num_encoder_layers, num_decoder_layers,
      {dim_feedforward, dropout, gelu, eps, batch_first, norm_first, bias, {device, dtype}});
}

}  // namespace flambeau::capi
