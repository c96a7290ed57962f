// Targets of blocks.h: options of the C structs as those of the layers, where absent lists and the
// numbers that stand for "none" become empty.
#include "nn/blocks.h"

#include "capi/gen/targets.h"

namespace flambeau::capi {

Ref<flam_module> nn_convolution(int64_t in, int64_t out, DimsView kernel_size, DimsView stride,
                                DimsView padding, DimsView dilation, int64_t groups, bool bias,
                                int32_t padding_mode, bool transposed, DimsView output_padding,
                                Dtype dtype, Device device) {
  return nn::convolution(in, out, kernel_size,
                         {Dims(stride),
                          Dims(padding),
                          Dims(dilation),
                          Dims(output_padding),
                          groups,
                          bias,
                          transposed,
                          padding_mode,
                          {device, dtype}});
}

Ref<flam_module> nn_layer_norm(DimsView normalized_shape, double eps, bool affine, bool bias,
                               Dtype dtype, Device device) {
  return nn::layer_norm(normalized_shape, eps, affine, bias, {device, dtype});
}

Ref<flam_module> nn_rms_norm(DimsView normalized_shape, std::optional<double> eps, bool affine,
                             Dtype dtype, Device device) {
  return nn::rms_norm(normalized_shape, eps, affine, {device, dtype});
}

Ref<flam_module> nn_group_norm(int64_t num_groups, int64_t num_channels, double eps, bool affine,
                               Dtype dtype, Device device) {
  return nn::group_norm(num_groups, num_channels, eps, affine, {device, dtype});
}

Ref<flam_module> nn_instance_norm(int64_t num_features, int64_t spatial, double eps,
                                  double momentum, bool affine, bool track_running_stats,
                                  Dtype dtype, Device device) {
  return nn::instance_norm(num_features, spatial,
                           {eps, momentum, affine, track_running_stats, {device, dtype}});
}

Ref<flam_module> nn_embedding(int64_t num_embeddings, int64_t embedding_dim,
                              std::optional<int64_t> padding_idx, Dtype dtype, Device device) {
  return nn::embedding(num_embeddings, embedding_dim, padding_idx, {device, dtype});
}

Ref<flam_module> nn_embedding_bag(int64_t num_embeddings, int64_t embedding_dim, int32_t mode,
                                  bool include_last_offset, std::optional<int64_t> padding_idx,
                                  Dtype dtype, Device device) {
  return nn::embedding_bag(num_embeddings, embedding_dim,
                           {mode, include_last_offset, padding_idx, {device, dtype}});
}

Ref<flam_module> nn_recurrent_cell(int32_t kind, int64_t input_size, int64_t hidden_size, bool bias,
                                   Dtype dtype, Device device) {
  return nn::recurrent_cell(nn::RecurrentKind(kind), input_size, hidden_size, bias,
                            {device, dtype});
}

Ref<flam_module> nn_recurrent(int32_t kind, int64_t input_size, int64_t hidden_size,
                              int64_t num_layers, bool bias, bool batch_first, double dropout,
                              bool bidirectional, int64_t proj_size, Dtype dtype, Device device) {
  return nn::recurrent(
      nn::RecurrentKind(kind), input_size, hidden_size,
      {num_layers, bias, batch_first, bidirectional, dropout, proj_size, {device, dtype}});
}

Ref<flam_module> nn_multihead_attention(int64_t embed_dim, int64_t num_heads, double dropout,
                                        bool bias, bool batch_first, Dtype dtype, Device device) {
  return nn::multihead_attention(embed_dim, num_heads,
                                 {dropout, bias, batch_first, {device, dtype}});
}

}  // namespace flambeau::capi
