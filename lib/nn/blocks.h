// The library's larger layers: normalisations, tables, recurrence, attention.
#pragma once
#include <optional>

#include "nn/parts.h"

namespace flambeau::nn {

struct ConvolutionOptions {
  Dims stride, padding, dilation, output_padding;  // empty: 1, 0, 1, 0
  int64_t groups = 1;
  bool bias = true, transposed = false;
  int32_t padding_mode = 0;
  Made made;
};

enum class RecurrentKind : int32_t { unspecified, rnn_tanh, rnn_relu, lstm, gru };

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true, batch_first = false, bidirectional = false;
  double dropout = 0;
  int64_t proj_size = 0;
  Made made;
};

struct AttentionOptions {
  double dropout = 0;
  bool bias = true, batch_first = false;
  Made made;
};

struct EmbeddingBagOptions {
  int32_t mode = 0;  // flam_bag
  bool include_last_offset = false;
  std::optional<int64_t> padding_idx;
  Made made;
};

struct InstanceNormOptions {
  double eps = 1e-5, momentum = 0.1;
  bool affine = false, track_running_stats = false;
  Made made;
};

struct TransformerOptions {  // of its layers
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  bool gelu = false;
  double eps = 1e-5;
  bool batch_first = false, norm_first = false, bias = true;
  Made made;
};

Ref<Module> convolution(int64_t in, int64_t out, DimsView kernel, const ConvolutionOptions& o);
Ref<Module> layer_norm(DimsView shape, double eps, bool affine, bool bias, const Made& made);
Ref<Module> rms_norm(DimsView shape, std::optional<double> eps, bool affine, const Made& made);
Ref<Module> group_norm(int64_t groups, int64_t channels, double eps, bool affine, const Made& made);
Ref<Module> instance_norm(int64_t features, int64_t spatial, const InstanceNormOptions& o);
Ref<Module> embedding(int64_t count, int64_t size, std::optional<int64_t> padding_idx,
                      const Made& made);
Ref<Module> embedding_bag(int64_t count, int64_t size, const EmbeddingBagOptions& o);
Ref<Module> recurrent(RecurrentKind kind, int64_t input, int64_t hidden, const RecurrentOptions& o);
Ref<Module> recurrent_cell(RecurrentKind kind, int64_t input, int64_t hidden, bool bias,
                           const Made& made);
Ref<Module> multihead_attention(int64_t embed_dim, int64_t heads, const AttentionOptions& o);
Ref<Module> transformer_encoder_layer(int64_t d_model, int64_t heads, const TransformerOptions& o);
Ref<Module> transformer_decoder_layer(int64_t d_model, int64_t heads, const TransformerOptions& o);
Ref<Module> transformer_encoder(int64_t d_model, int64_t heads, int64_t num_layers,
                                const TransformerOptions& o);
Ref<Module> transformer_decoder(int64_t d_model, int64_t heads, int64_t num_layers,
                                const TransformerOptions& o);
Ref<Module> transformer(int64_t d_model, int64_t heads, int64_t encoder_layers,
                        int64_t decoder_layers, const TransformerOptions& o);

}  // namespace flambeau::nn
