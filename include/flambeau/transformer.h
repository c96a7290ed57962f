/* Transformers: layers of attention, stacks of them, and an encoder with a decoder.
 * namespace: capi
 *
 * Parameters have PyTorch's names, shapes and initial distributions. Masks are those of
 * `flam_multihead_attention`: true or -inf hides a place. Of the masks that a forward function
 * takes any may be left out: at the end, or by `NULL`.
 */
#ifndef FLAMBEAU_TRANSFORMER_H
#define FLAMBEAU_TRANSFORMER_H

#include "flambeau/common.h"
#include "flambeau/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a transformer's layers. */
typedef struct flam_nn_transformer_layer_options {
  size_t struct_size; /**< sizeof(flam_nn_transformer_layer_options) */
  /** features inside the feed-forward networks; default 2048 */
  int64_t dim_feedforward FLAM_DEFAULT(2048);
  double dropout FLAM_DEFAULT(0.1); /**< probability of dropping in training; default 0.1 */
  /** whether the activation is GELU instead of ReLU; default false */
  flam_bool gelu FLAM_DEFAULT(0);
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  /** whether the batch is the first dimension; default false */
  flam_bool batch_first FLAM_DEFAULT(0);
  /** whether norms come before attention and network; default false */
  flam_bool norm_first FLAM_DEFAULT(0);
  flam_bool bias FLAM_DEFAULT(1); /**< whether there are biases; default true (1) */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_transformer_layer_options;

/** Self-attention and a feed-forward network, each with a residual and a layer norm. Its forward
 * function takes the sequence and optionally a mask.
 *
 * - `d_model`: features, divisible by `num_heads`.
 * - `num_heads`: how many heads.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the features are not divisible; `FLAM_ERROR_DTYPE`.
 * - source: Vaswani et al., 2017, arXiv 1706.03762.
 */
FLAM_API flam_module *flam_nn_transformer_encoder_layer(
    int64_t d_model, int64_t num_heads, const flam_nn_transformer_layer_options *options);

/** Self-attention, attention over a memory and a feed-forward network, each with a residual and a
 * layer norm. Its forward function takes the sequence, the memory, and optionally a mask of the
 * sequence, then one of the memory.
 *
 * - `d_model`: features, divisible by `num_heads`.
 * - `num_heads`: how many heads.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the features are not divisible; `FLAM_ERROR_DTYPE`.
 * - source: Vaswani et al., 2017, arXiv 1706.03762.
 */
FLAM_API flam_module *flam_nn_transformer_decoder_layer(
    int64_t d_model, int64_t num_heads, const flam_nn_transformer_layer_options *options);

/** Encoder layers one after another, its children `layers.0` and so on, each drawn for itself. Its
 * forward function is a layer's. A child `norm`, where the program sets one, comes last.
 *
 * - `d_model`: features, divisible by `num_heads`.
 * - `num_heads`: how many heads.
 * - `num_layers`: how many layers, in [1, 65536].
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number out of range; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_transformer_encoder(
    int64_t d_model, int64_t num_heads, int64_t num_layers,
    const flam_nn_transformer_layer_options *options);

/** Decoder layers one after another, its children `layers.0` and so on, each drawn for itself. Its
 * forward function is a layer's. A child `norm`, where the program sets one, comes last.
 *
 * - `d_model`: features, divisible by `num_heads`.
 * - `num_heads`: how many heads.
 * - `num_layers`: how many layers, in [1, 65536].
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number out of range; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_transformer_decoder(
    int64_t d_model, int64_t num_heads, int64_t num_layers,
    const flam_nn_transformer_layer_options *options);

/** Options of `flam_nn_transformer`. */
typedef struct flam_nn_transformer_options {
  size_t struct_size; /**< sizeof(flam_nn_transformer_options) */
  int64_t num_encoder_layers FLAM_DEFAULT(6); /**< how many, in [1, 65536]; default 6 */
  int64_t num_decoder_layers FLAM_DEFAULT(6); /**< how many, in [1, 65536]; default 6 */
  /** features inside the feed-forward networks; default 2048 */
  int64_t dim_feedforward FLAM_DEFAULT(2048);
  double dropout FLAM_DEFAULT(0.1); /**< probability of dropping in training; default 0.1 */
  /** whether the activation is GELU instead of ReLU; default false */
  flam_bool gelu FLAM_DEFAULT(0);
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  /** whether the batch is the first dimension; default false */
  flam_bool batch_first FLAM_DEFAULT(0);
  /** whether norms come before attention and network; default false */
  flam_bool norm_first FLAM_DEFAULT(0);
  flam_bool bias FLAM_DEFAULT(1); /**< whether there are biases; default true (1) */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_transformer_options;

/** An encoder and a decoder, with final norms; matrices are drawn by Xavier's uniform
 * initialisation. Its forward function takes source and target, and optionally a mask of the
 * source, then one of the target, then one of the encoder's result.
 *
 * - `d_model`: features, divisible by `num_heads`.
 * - `num_heads`: how many heads.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number out of range; `FLAM_ERROR_DTYPE`.
 * - source: Vaswani et al., 2017, arXiv 1706.03762.
 */
FLAM_API flam_module *flam_nn_transformer(
    int64_t d_model, int64_t num_heads, const flam_nn_transformer_options *options);

#ifdef __cplusplus
}
#endif
#endif
