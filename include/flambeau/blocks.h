/* Larger layers: any convolution, normalisations without a batch, tables, recurrence, attention.
 * namespace: capi
 *
 * Parameters have PyTorch's names, shapes and initial distributions.
 */
#ifndef FLAMBEAU_BLOCKS_H
#define FLAMBEAU_BLOCKS_H

#include "flambeau/common.h"
#include "flambeau/embedding.h"
#include "flambeau/module.h"
#include "flambeau/pad.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds of recurrent layers. */
typedef int32_t flam_recurrent;
enum {
  FLAM_RECURRENT_UNSPECIFIED = 0,
  FLAM_RECURRENT_RNN_TANH = 1,
  FLAM_RECURRENT_RNN_RELU = 2,
  FLAM_RECURRENT_LSTM = 3,
  FLAM_RECURRENT_GRU = 4
};

/** Options of `flam_nn_convolution`. */
typedef struct flam_nn_convolution_options {
  size_t struct_size; /**< sizeof(flam_nn_convolution_options) */
  const int64_t *stride FLAM_DEFAULT(1); /**< distance of the windows; default 1 */
  size_t n_stride;
  const int64_t *padding FLAM_DEFAULT(0); /**< elements added at both ends; default 0 */
  size_t n_padding;
  const int64_t *dilation FLAM_DEFAULT(1); /**< distance of the window's elements; default 1 */
  size_t n_dilation;
  int64_t groups FLAM_DEFAULT(1); /**< number of separate groups of channels; default 1 */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true (1) */
  /** what is added: zeros (constant), or a mirror image, the edge or the other end; default
   *  zeros */
  flam_padding padding_mode FLAM_DEFAULT(FLAM_PADDING_CONSTANT);
  flam_bool transposed FLAM_DEFAULT(0); /**< whether the convolution is transposed; default false */
  /** of a transposed one: added to one side of the result; default 0 */
  const int64_t *output_padding FLAM_DEFAULT(0);
  size_t n_output_padding;
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_convolution_options;

/** Convolution or transposed convolution over one to three dimensions: as many as `kernel_size` has
 * sizes.
 *
 * - `in_channels`: channels of the input.
 * - `out_channels`: channels of the result.
 * - `kernel_size`: sizes of the window, one per dimension.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it; `FLAM_ERROR_SHAPE`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `dtype` is not floating point.
 */
FLAM_API flam_module *flam_nn_convolution(
    int64_t in_channels, int64_t out_channels, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_nn_convolution_options *options);

/** Options of `flam_nn_layer_norm`. */
typedef struct flam_nn_layer_norm_options {
  size_t struct_size; /**< sizeof(flam_nn_layer_norm_options) */
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  flam_bool affine FLAM_DEFAULT(1); /**< whether there are a weight and a bias; default true (1) */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true (1) */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_layer_norm_options;

/** Layer normalisation over the last dimensions, with parameters `weight` and `bias`.
 *
 * - `normalized_shape`: sizes of the dimensions to normalise over.
 * - returns: the module.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE` for a dtype that is not
 *   floating point.
 */
FLAM_API flam_module *flam_nn_layer_norm(
    const int64_t *normalized_shape, size_t n_normalized_shape,
    const flam_nn_layer_norm_options *options);

/** Options of `flam_nn_rms_norm`. */
typedef struct flam_nn_rms_norm_options {
  size_t struct_size; /**< sizeof(flam_nn_rms_norm_options) */
  /** added to the mean; default: machine epsilon */
  const double *eps FLAM_DEFAULT(NULL);
  flam_bool affine FLAM_DEFAULT(1); /**< whether there is a weight; default true (1) */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_rms_norm_options;

/** Root mean square normalisation over the last dimensions, with the parameter `weight`.
 *
 * - `normalized_shape`: sizes of the dimensions to normalise over.
 * - returns: the module.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE` for a dtype that is not
 *   floating point.
 */
FLAM_API flam_module *flam_nn_rms_norm(
    const int64_t *normalized_shape, size_t n_normalized_shape,
    const flam_nn_rms_norm_options *options);

/** Options of `flam_nn_group_norm`. */
typedef struct flam_nn_group_norm_options {
  size_t struct_size; /**< sizeof(flam_nn_group_norm_options) */
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  flam_bool affine FLAM_DEFAULT(1); /**< whether there are a weight and a bias; default true (1) */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_group_norm_options;

/** Normalisation over groups of channels, with parameters `weight` and `bias`.
 *
 * - `num_groups`: divides `num_channels`.
 * - `num_channels`: channels of the input.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the channels are not divisible; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_DTYPE` for a dtype that is not floating point.
 */
FLAM_API flam_module *flam_nn_group_norm(
    int64_t num_groups, int64_t num_channels, const flam_nn_group_norm_options *options);

/** Options of `flam_nn_instance_norm`. */
typedef struct flam_nn_instance_norm_options {
  size_t struct_size; /**< sizeof(flam_nn_instance_norm_options) */
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  /** share of the batch in the running statistics; default 0.1 */
  double momentum FLAM_DEFAULT(0.1);
  flam_bool affine FLAM_DEFAULT(0); /**< whether there are a weight and a bias; default false */
  /** whether running statistics are kept, and used in evaluation; default false */
  flam_bool track_running_stats FLAM_DEFAULT(0);
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_instance_norm_options;

/** Normalisation of each channel of each instance, with parameters `weight`, `bias` and buffers
 * `running_mean`, `running_var`, `num_batches_tracked` where options ask for them.
 *
 * - `num_features`: channels of the input.
 * - `spatial`: 1, 2 or 3, as in InstanceNorm1d, 2d and 3d.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `spatial`.
 */
FLAM_API flam_module *flam_nn_instance_norm(
    int64_t num_features, int64_t spatial, const flam_nn_instance_norm_options *options);

/** Options of `flam_nn_embedding`. */
typedef struct flam_nn_embedding_options {
  size_t struct_size; /**< sizeof(flam_nn_embedding_options) */
  /** row that stays zero and receives no gradient; default none */
  const int64_t *padding_idx FLAM_DEFAULT(NULL);
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_embedding_options;

/** Table of vectors looked up by index, with the parameter `weight` [num_embeddings,
 * embedding_dim].
 *
 * - `num_embeddings`: rows of the table.
 * - `embedding_dim`: size of a vector.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for sizes or a row out of range; `FLAM_ERROR_SHAPE` for a
 *   size that is negative or that 64 bits do not hold; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_embedding(
    int64_t num_embeddings, int64_t embedding_dim, const flam_nn_embedding_options *options);

/** Options of `flam_nn_embedding_bag`. */
typedef struct flam_nn_embedding_bag_options {
  size_t struct_size; /**< sizeof(flam_nn_embedding_bag_options) */
  flam_bag mode FLAM_DEFAULT(FLAM_BAG_MEAN); /**< sum, mean or max; default mean */
  /** whether the last offset is the end of the last bag; default false */
  flam_bool include_last_offset FLAM_DEFAULT(0);
  /** row that stays zero and counts for nothing; default none */
  const int64_t *padding_idx FLAM_DEFAULT(NULL);
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_embedding_bag_options;

/** Sums, means or maxima of looked-up vectors, bag by bag, with the parameter `weight`
 * [num_embeddings, embedding_dim]. Its forward function takes what `flam_embedding_bag` takes
 * beside it: indices, then optionally where bags start, then optionally factors of the vectors.
 *
 * - `num_embeddings`: rows of the table.
 * - `embedding_dim`: size of a vector.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for sizes or a row out of range, or an unknown `mode`;
 *   `FLAM_ERROR_SHAPE` for a size that is negative or that 64 bits do not hold; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_embedding_bag(
    int64_t num_embeddings, int64_t embedding_dim, const flam_nn_embedding_bag_options *options);

/** Options of `flam_nn_recurrent`. */
typedef struct flam_nn_recurrent_options {
  size_t struct_size; /**< sizeof(flam_nn_recurrent_options) */
  int64_t num_layers FLAM_DEFAULT(1); /**< how many layers, in [1, 65536]; default 1 */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true (1) */
  /** whether the batch is the first dimension; default false */
  flam_bool batch_first FLAM_DEFAULT(0);
  /** probability of dropping results between layers in training; default 0 */
  double dropout FLAM_DEFAULT(0);
  /** whether each layer also runs backwards; default false */
  flam_bool bidirectional FLAM_DEFAULT(0);
  int64_t proj_size FLAM_DEFAULT(0); /**< size of projected outputs of LSTM; default 0, for none */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_recurrent_options;

/** Recurrent layer over sequences. Its forward function takes the sequence and, if any, the initial
 * states, and returns the outputs; the last states come from the function of its name
 * (`flam_lstm`), given its parameters in order.
 *
 * - `kind`: which one.
 * - `input_size`: features of the input.
 * - `hidden_size`: features of the state.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it; `FLAM_ERROR_DTYPE`
 *   where `dtype` is not floating point.
 */
FLAM_API flam_module *flam_nn_recurrent(
    flam_recurrent kind, int64_t input_size, int64_t hidden_size,
    const flam_nn_recurrent_options *options);

/** Options of `flam_nn_recurrent_cell`. */
typedef struct flam_nn_recurrent_cell_options {
  size_t struct_size; /**< sizeof(flam_nn_recurrent_cell_options) */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true (1) */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_recurrent_cell_options;

/** One step of a recurrent layer, with parameters `weight_ih`, `weight_hh`, `bias_ih` and
 * `bias_hh`. Its forward function takes an input, [n, input_size] or [input_size], then optionally
 * the state and, for an LSTM, the cell; they begin with zeros. It returns the next state; of an
 * LSTM state and cell, stacked: [2, n, hidden_size].
 *
 * - `kind`: which one.
 * - `input_size`: features of the input.
 * - `hidden_size`: features of the state.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a size or kind out of range; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_recurrent_cell(
    flam_recurrent kind, int64_t input_size, int64_t hidden_size,
    const flam_nn_recurrent_cell_options *options);

/** Options of `flam_nn_multihead_attention`. */
typedef struct flam_nn_multihead_attention_options {
  size_t struct_size; /**< sizeof(flam_nn_multihead_attention_options) */
  double dropout FLAM_DEFAULT(0); /**< probability of dropping a weight in training; default 0 */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true (1) */
  /** whether the batch is the first dimension; default false */
  flam_bool batch_first FLAM_DEFAULT(0);
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_multihead_attention_options;

/** Attention of several heads. Its forward function takes query, key and value, or one tensor for
 * all three, and then optionally a mask.
 *
 * - `embed_dim`: features, divisible by `num_heads`.
 * - `num_heads`: how many heads.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the features are not divisible; `FLAM_ERROR_DTYPE`.
 * - source: Vaswani et al., 2017, arXiv 1706.03762.
 */
FLAM_API flam_module *flam_nn_multihead_attention(
    int64_t embed_dim, int64_t num_heads, const flam_nn_multihead_attention_options *options);

#ifdef __cplusplus
}
#endif
#endif
