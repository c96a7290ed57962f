/* Layers: the modules that the library brings along. Parameters are initialised as PyTorch
 * initialises them, from the device's default generator.
 * namespace: capi
 */
#ifndef FLAMBEAU_LAYERS_H
#define FLAMBEAU_LAYERS_H

#include "flambeau/common.h"
#include "flambeau/module.h"

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
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
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
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size or another `spatial`.
 */
FLAM_API flam_module *flam_nn_batch_norm(
    int64_t num_features, int64_t spatial, const flam_nn_batch_norm_options *options);

/** Zeroes elements with probability `p` in training and scales the others by 1 / (1 - p).
 *
 * - `p`: probability, from 0 to 1; default 0.5.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p`.
 */
FLAM_API flam_module *flam_nn_dropout(double p FLAM_DEFAULT(0.5));

/** Options of `flam_nn_max_pool2d` and `flam_nn_avg_pool2d`. */
typedef struct flam_nn_pool_options {
  size_t struct_size; /**< sizeof(flam_nn_pool_options) */
  const int64_t *stride FLAM_DEFAULT(NULL); /**< distance of the windows; default: `kernel_size` */
  size_t n_stride;
  const int64_t *padding FLAM_DEFAULT(0); /**< zeros added at both ends; default 0 */
  size_t n_padding;
} flam_nn_pool_options;

/** Greatest element of each window of an image.
 *
 * - `kernel_size`: kh and kw, or one number for both.
 * - `padding`: added at both ends, never the greatest; default 0.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a size out of range.
 */
FLAM_API flam_module *flam_nn_max_pool2d(
    const int64_t *kernel_size, size_t n_kernel_size, const flam_nn_pool_options *options);

/** Mean of each window of an image.
 *
 * - `kernel_size`: kh and kw, or one number for both.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a size out of range.
 */
FLAM_API flam_module *flam_nn_avg_pool2d(
    const int64_t *kernel_size, size_t n_kernel_size, const flam_nn_pool_options *options);

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

/** Elementwise non-linearities as modules. */
typedef int32_t flam_activation;
enum {
  FLAM_ACTIVATION_UNSPECIFIED = 0,
  FLAM_ACTIVATION_RELU = 1,
  FLAM_ACTIVATION_SIGMOID = 2,
  FLAM_ACTIVATION_TANH = 3,
  FLAM_ACTIVATION_GELU = 4,
  FLAM_ACTIVATION_SILU = 5,
  FLAM_ACTIVATION_IDENTITY = 6
};

/** A non-linearity as a module.
 *
 * - `kind`: which one.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown kind.
 */
FLAM_API flam_module *flam_nn_activation(flam_activation kind);

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
