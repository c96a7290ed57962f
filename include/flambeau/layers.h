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

/** Affine map `x @ weight.T + bias`, with parameters `weight` [out, in] and `bias` [out].
 *
 * - `in_features`: size of the input's last dimension.
 * - `out_features`: size of the result's last dimension.
 * - `bias`: whether there is a bias; default true.
 * - `device`: of the parameters; default: the default device.
 * - `dtype`: of the parameters; default: the default dtype.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_linear(
    int64_t in_features, int64_t out_features, flam_bool bias FLAM_DEFAULT(1),
    flam_device device FLAM_DEFAULT(0), flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Convolution of images, with parameters `weight` [out, in / groups, kh, kw] and `bias` [out].
 *
 * - `in_channels`: channels of the input.
 * - `out_channels`: channels of the result.
 * - `kernel_size`: kh and kw, or one number for both.
 * - `stride`: distance of the windows; default 1.
 * - `padding`: zeros added at both ends; default 0.
 * - `dilation`: distance of the window's elements; default 1.
 * - `groups`: number of separate groups of channels; default 1.
 * - `bias`: whether there is a bias; default true.
 * - `device`: of the parameters; default: the default device.
 * - `dtype`: of the parameters; default: the default dtype.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an option out of range, naming it.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_conv2d(
    int64_t in_channels, int64_t out_channels, const int64_t *kernel_size, size_t n_kernel_size,
    const int64_t *stride FLAM_DEFAULT(1), size_t n_stride, const int64_t *padding FLAM_DEFAULT(0),
    size_t n_padding, const int64_t *dilation FLAM_DEFAULT(1), size_t n_dilation,
    int64_t groups FLAM_DEFAULT(1), flam_bool bias FLAM_DEFAULT(1),
    flam_device device FLAM_DEFAULT(0), flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Batch normalisation, with parameters `weight`, `bias` and buffers `running_mean`, `running_var`,
 * `num_batches_tracked`. Takes inputs of two or more dimensions; its printed name follows
 * `spatial`.
 *
 * - `num_features`: channels of the input.
 * - `spatial`: 1, 2 or 3, as in BatchNorm1d, 2d and 3d.
 * - `eps`: added to the variance; default 1e-5.
 * - `momentum`: share of the batch in the running statistics; default 0.1.
 * - `affine`: whether there are a weight and a bias; default true.
 * - `track_running_stats`: whether running statistics are kept; default true.
 * - `device`: of the parameters; default: the default device.
 * - `dtype`: of the parameters; default: the default dtype.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size or another `spatial`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_batch_norm(
    int64_t num_features, int64_t spatial, double eps FLAM_DEFAULT(1e-5),
    double momentum FLAM_DEFAULT(0.1), flam_bool affine FLAM_DEFAULT(1),
    flam_bool track_running_stats FLAM_DEFAULT(1), flam_device device FLAM_DEFAULT(0),
    flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Zeroes elements with probability `p` in training and scales the others by 1 / (1 - p).
 *
 * - `p`: probability, from 0 to 1; default 0.5.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_dropout(double p FLAM_DEFAULT(0.5));

/** Greatest element of each window of an image.
 *
 * - `kernel_size`: kh and kw, or one number for both.
 * - `stride`: distance of the windows; default: `kernel_size`.
 * - `padding`: added at both ends, never the greatest; default 0.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a size out of range.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_max_pool2d(
    const int64_t *kernel_size, size_t n_kernel_size,
    FLAM_NULLABLE const int64_t *stride FLAM_DEFAULT(NULL), size_t n_stride,
    const int64_t *padding FLAM_DEFAULT(0), size_t n_padding);

/** Mean of each window of an image.
 *
 * - `kernel_size`: kh and kw, or one number for both.
 * - `stride`: distance of the windows; default: `kernel_size`.
 * - `padding`: zeros added at both ends; default 0.
 * - returns: the module.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a size out of range.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_avg_pool2d(
    const int64_t *kernel_size, size_t n_kernel_size,
    FLAM_NULLABLE const int64_t *stride FLAM_DEFAULT(NULL), size_t n_stride,
    const int64_t *padding FLAM_DEFAULT(0), size_t n_padding);

/** Merges a range of dimensions into one.
 *
 * - `start_dim`: first dimension; default 1.
 * - `end_dim`: last dimension; default -1.
 * - returns: the module.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_flatten(int64_t start_dim FLAM_DEFAULT(1),
                                                       int64_t end_dim FLAM_DEFAULT(-1));

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
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_activation(flam_activation kind);

/** Modules applied one after another, in the order in which `flam_module_append` adds them.
 *
 * - returns: the module, without children.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_module *flam_nn_sequential(void);

/** Adds a child under the next free number: `0`, `1` and so on.
 *
 * - `module`: a sequential module, or any container.
 * - `child`: the child; `module` keeps a reference.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a child that holds `module`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_module_append(flam_module *module, flam_module *child);

#ifdef __cplusplus
}
#endif
#endif
