/* Layers: the modules that the library brings along. Parameters are initialised as PyTorch
 * initialises them, from the device's default generator.
 * namespace: capi
 */
#ifndef FLAMBEAU_LAYERS_H
#define FLAMBEAU_LAYERS_H

#include "flambeau/common.h"
#include "flambeau/module.h"
#include "flambeau/pad.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_nn_linear`. */
typedef struct flam_nn_linear_options {
  size_t struct_size; /**< sizeof(flam_nn_linear_options) */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_linear_options;

/** Affine map `x @ weight.T + bias`, with parameters `weight` [out, in] and `bias` [out].
 *
 * - `in_features`: size of the input's last dimension.
 * - `out_features`: size of the result's last dimension.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size; `FLAM_ERROR_SHAPE` for one that 64
 *   bits do not hold; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_linear(
    int64_t in_features, int64_t out_features, const flam_nn_linear_options *options);

/** Options of `flam_nn_batch_norm`. */
typedef struct flam_nn_batch_norm_options {
  size_t struct_size; /**< sizeof(flam_nn_batch_norm_options) */
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  /** share of the batch in the running statistics; default 0.1 */
  double momentum FLAM_DEFAULT(0.1);
  flam_bool affine FLAM_DEFAULT(1); /**< whether there are a weight and a bias; default true */
  /** whether running statistics are kept; default true */
  flam_bool track_running_stats FLAM_DEFAULT(1);
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_batch_norm_options;

/** Batch normalisation, with parameters `weight`, `bias` and buffers `running_mean`, `running_var`,
 * `num_batches_tracked`. Takes inputs of two or more dimensions; its printed name follows
 * `spatial`.
 *
 * - `num_features`: channels of the input.
 * - `spatial`: 1, 2 or 3, as in BatchNorm1d, 2d and 3d.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `spatial`; `FLAM_ERROR_SHAPE` for a negative
 *   size; `FLAM_ERROR_DTYPE` for a dtype that is not floating point.
 */
FLAM_API flam_module *flam_nn_batch_norm(
    int64_t num_features, int64_t spatial, const flam_nn_batch_norm_options *options);

/** Zeroes whole channels with probability `p` in training and scales the others by 1 / (1 - p).
 *
 * - `spatial`: 1, 2 or 3, as in Dropout1d, 2d and 3d.
 * - `p`: probability, from 0 to 1; default 0.5.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p` or `spatial`.
 * - source: Tompson et al., 2014, arXiv 1411.4280.
 */
FLAM_API flam_module *flam_nn_feature_dropout(int64_t spatial, double p FLAM_DEFAULT(0.5));

/** Options of `flam_nn_flatten`. */
typedef struct flam_nn_flatten_options {
  size_t struct_size; /**< sizeof(flam_nn_flatten_options) */
  int64_t start_dim FLAM_DEFAULT(1); /**< first dimension; default 1 */
  int64_t end_dim FLAM_DEFAULT(-1); /**< last dimension; default -1 */
} flam_nn_flatten_options;

/** Merges a range of dimensions into one.
 *
 * - returns: the module.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_module *flam_nn_flatten(const flam_nn_flatten_options *options);

/** Returns its input.
 *
 * - returns: the module.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_module *flam_nn_identity(void);

/** Softmax of the negated input along a dimension.
 *
 * - `dim`: the dimension along which the results sum to 1.
 * - returns: the module.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_module *flam_nn_softmin(int64_t dim);

/** Options of `flam_nn_rrelu`. */
typedef struct flam_nn_rrelu_options {
  size_t struct_size; /**< sizeof(flam_nn_rrelu_options) */
  double lower FLAM_DEFAULT(0.125); /**< least slope; default 1/8 */
  double upper FLAM_DEFAULT(0.3333333333333333); /**< greatest slope; default 1/3 */
} flam_nn_rrelu_options;

/** Rectifier whose slope below 0 is drawn for each element in training: `flam_rrelu` as a module.
 *
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a `lower` above `upper`.
 * - source: Xu et al., 2015, arXiv 1505.00853.
 */
FLAM_API flam_module *flam_nn_rrelu(const flam_nn_rrelu_options *options);

/** Options of `flam_nn_prelu`. */
typedef struct flam_nn_prelu_options {
  size_t struct_size; /**< sizeof(flam_nn_prelu_options) */
  int64_t num_parameters FLAM_DEFAULT(1); /**< one slope, or one for each channel; default 1 */
  double init FLAM_DEFAULT(0.25); /**< what slopes begin with; default 0.25 */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
} flam_nn_prelu_options;

/** Rectifier with a learned slope below 0, the parameter `weight` [num_parameters].
 *
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_DTYPE` for a dtype that is not floating point.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API flam_module *flam_nn_prelu(const flam_nn_prelu_options *options);

/** Options of `flam_nn_bilinear`. */
typedef struct flam_nn_bilinear_options {
  size_t struct_size; /**< sizeof(flam_nn_bilinear_options) */
  flam_bool bias FLAM_DEFAULT(1); /**< whether there is a bias; default true */
  /** of the parameters; default: the default dtype */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the parameters; default: the default device */
  int32_t reserved; /**< 0 */
} flam_nn_bilinear_options;

/** Bilinear map of two inputs, `x1^T weight x2 + bias`, with parameters `weight` [out, in1, in2]
 * and `bias` [out].
 *
 * - `in1_features`: size of the first input's last dimension, positive.
 * - `in2_features`: size of the second input's last dimension.
 * - `out_features`: size of the result's last dimension.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a size out of range; `FLAM_ERROR_SHAPE` for a size
 *   that is negative or that 64 bits do not hold; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_module *flam_nn_bilinear(
    int64_t in1_features, int64_t in2_features, int64_t out_features,
    const flam_nn_bilinear_options *options);

/** Options of `flam_nn_max_unpool`. */
typedef struct flam_nn_max_unpool_options {
  size_t struct_size; /**< sizeof(flam_nn_max_unpool_options) */
  const int64_t *stride FLAM_DEFAULT(NULL); /**< distance of the windows; default: `kernel_size` */
  size_t n_stride;
  const int64_t *padding FLAM_DEFAULT(0); /**< what the pooling added at both ends; default 0 */
  size_t n_padding;
} flam_nn_max_unpool_options;

/** Puts elements back where a maximum pooling found them, and 0 elsewhere, over one to three
 * dimensions: as many as `kernel_size` has sizes. Its forward function takes values and places, as
 * `flam_max_pool2d_with_indices` gives them.
 *
 * - `kernel_size`: sizes of the pooling's window, one per dimension.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it.
 */
FLAM_API flam_module *flam_nn_max_unpool(
    const int64_t *kernel_size, size_t n_kernel_size, const flam_nn_max_unpool_options *options);

/** Options of `flam_nn_pad`. */
typedef struct flam_nn_pad_options {
  size_t struct_size; /**< sizeof(flam_nn_pad_options) */
  /** what is added: a constant, a mirror image, the edge or the other end; default constant */
  flam_padding mode FLAM_DEFAULT(FLAM_PADDING_CONSTANT);
  double value FLAM_DEFAULT(0); /**< the constant; default 0 */
} flam_nn_pad_options;

/** Padding of signals, images and volumes; printed as ZeroPad, ConstantPad, ReflectionPad,
 * ReplicationPad or CircularPad with `spatial` and a d.
 *
 * - `spatial`: 1, 2 or 3: how many of the last dimensions are padded.
 * - `padding`: one number for all sides, or two for each dimension, before and after the last one,
 *   then the one before it, and so on; negative ones cut off.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `spatial`, number of sides or `mode`, or a
 *   `value` with another mode than constant.
 */
FLAM_API flam_module *flam_nn_pad(
    int64_t spatial, const int64_t *padding, size_t n_padding, const flam_nn_pad_options *options);

/** Modules applied one after another, in the order in which `flam_module_append` adds them.
 *
 * - returns: the module, without children.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_module *flam_nn_sequential(void);

/** Adds a child under the next free number: `0`, `1` and so on.
 *
 * - `module`: a sequential module, or any container.
 * - `child`: the child; `module` keeps a reference.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a child that holds `module`.
 */
FLAM_API flam_status flam_module_append(flam_module *module, flam_module *child);

#ifdef __cplusplus
}
#endif
#endif
