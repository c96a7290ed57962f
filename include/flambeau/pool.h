/* Pooling over windows of images.
 * namespace: ops
 *
 * Window sizes, strides and paddings are one number per spatial dimension, or one for both.
 */
#ifndef FLAMBEAU_POOL_H
#define FLAMBEAU_POOL_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of max pooling. */
typedef struct flam_max_pool_options {
  size_t struct_size; /**< sizeof(flam_max_pool_options) */
  const int64_t *stride FLAM_DEFAULT(NULL); /**< distance of the windows; default: `kernel_size` */
  size_t n_stride;
  /** added at both ends, at most half the window, never the greatest; default 0 */
  const int64_t *padding FLAM_DEFAULT(0);
  size_t n_padding;
  const int64_t *dilation FLAM_DEFAULT(1); /**< distance of the window's elements; default 1 */
  size_t n_dilation;
  /** whether windows that reach over the end count; default false */
  flam_bool ceil_mode FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_max_pool_options;

/** Greatest element of each window. NaN counts as the greatest.
 *
 * - `input`: [n, c, h, w] or [c, h, w], any dtype but bool.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("F torch")
FLAM_LAYER(
    "MaxPool2d([kernel_size=], stride=[stride or kernel_size], "
    "[padding=], [dilation=], [ceil_mode=])")
FLAM_API flam_tensor *flam_max_pool2d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_max_pool_options *options);

/** Options of `flam_avg_pool2d` and `flam_avg_pool3d`. */
typedef struct flam_avg_pool_options {
  size_t struct_size; /**< sizeof(flam_avg_pool_options) */
  const int64_t *stride FLAM_DEFAULT(NULL); /**< distance of the windows; default: `kernel_size` */
  size_t n_stride;
  /** zeros added at both ends, at most half the window; default 0 */
  const int64_t *padding FLAM_DEFAULT(0);
  size_t n_padding;
  /** whether windows that reach over the end count; default false */
  flam_bool ceil_mode FLAM_DEFAULT(0);
  /** whether padding counts as elements; default true (1) */
  flam_bool count_include_pad FLAM_DEFAULT(1);
  /** what to divide by, not 0; default: the number of elements */
  const int64_t *divisor_override FLAM_DEFAULT(NULL);
} flam_avg_pool_options;

/** Mean of each window.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point or int64, whose means are truncated.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for any other dtype.
 */
FLAM_TORCH("F")
FLAM_LAYER("AvgPool2d([kernel_size=], stride=[stride or kernel_size], [padding=])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_avg_pool2d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_avg_pool_options *options);

/** Means of windows that are sized so that the result has a given size.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `output_size`: h' and w', or one number for both.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F")
FLAM_LAYER("AdaptiveAvgPool2d([output_size=])")
FLAM_API flam_tensor *flam_adaptive_avg_pool2d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size);

/** Greatest element of each window. NaN counts as the greatest.
 *
 * - `input`: [n, c, l] or [c, l], any dtype but bool.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, l'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("F torch")
FLAM_LAYER(
    "MaxPool1d([kernel_size=], stride=[stride or kernel_size], "
    "[padding=], [dilation=], [ceil_mode=])")
FLAM_API flam_tensor *flam_max_pool1d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_max_pool_options *options);

/** Greatest element of each window, and where it is.
 *
 * - `input`: [n, c, l] or [c, l], any dtype but bool.
 * - `kernel_size`: size of the window.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("F torch")
FLAM_API flam_status flam_max_pool1d_with_indices(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    flam_tensor **out_values, flam_tensor **out_indices, const flam_max_pool_options *options);

/** Options of `flam_avg_pool1d`. */
typedef struct flam_avg_pool1d_options {
  size_t struct_size; /**< sizeof(flam_avg_pool1d_options) */
  const int64_t *stride FLAM_DEFAULT(NULL); /**< distance of the windows; default: `kernel_size` */
  size_t n_stride;
  /** zeros added at both ends, at most half the window; default 0 */
  const int64_t *padding FLAM_DEFAULT(0);
  size_t n_padding;
  /** whether windows that reach over the end count; default false */
  flam_bool ceil_mode FLAM_DEFAULT(0);
  /** whether padding counts as elements; default true (1) */
  flam_bool count_include_pad FLAM_DEFAULT(1);
} flam_avg_pool1d_options;

/** Mean of each window.
 *
 * - `input`: [n, c, l] or [c, l], floating point or int64, whose means are truncated.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, l'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for any other dtype.
 */
FLAM_TORCH("F torch")
FLAM_LAYER(
    "AvgPool1d(kernel_size=([kernel_size],), "
    "stride=([stride or kernel_size],), padding=([padding],))")
FLAM_API flam_tensor *flam_avg_pool1d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_avg_pool1d_options *options);

/** Means of windows that are sized so that the result has a given size.
 *
 * - `input`: [n, c, l] or [c, l], floating point.
 * - `output_size`: l', or one number for all.
 * - returns: [n, c, l'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F torch")
FLAM_LAYER("AdaptiveAvgPool1d([output_size=])")
FLAM_API flam_tensor *flam_adaptive_avg_pool1d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size);

/** Greatest elements of windows that are sized so that the result has a given size, and where they
 * are.
 *
 * - `input`: [n, c, l] or [c, l], floating point.
 * - `output_size`: l', or one number for all.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F.adaptive_max_pool1d_with_indices torch.adaptive_max_pool1d")
FLAM_LAYER("AdaptiveMaxPool1d([output_size=])")
FLAM_API flam_status flam_adaptive_max_pool1d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size,
    flam_tensor **out_values, flam_tensor **out_indices);

/** Puts elements back where a maximum pooling found them; 0 elsewhere.
 *
 * - `input`: [n, c, l] or [c, l], floating point.
 * - `indices`: int64, shape of `input`: places in the plane of the result.
 * - `output_size`: l' of the result.
 * - returns: [n, c, l'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes differ; `FLAM_ERROR_INDEX` for a place outside the
 *   plane; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_tensor *flam_max_unpool1d(
    const flam_tensor *input, const flam_tensor *indices, const int64_t *output_size,
    size_t n_output_size);

/** Options of `flam_lp_pool1d`, `flam_lp_pool2d` and `flam_lp_pool3d`. */
typedef struct flam_lp_pool_options {
  size_t struct_size; /**< sizeof(flam_lp_pool_options) */
  const int64_t *stride FLAM_DEFAULT(NULL); /**< distance of the windows; default: `kernel_size` */
  size_t n_stride;
  /** whether windows that reach over the end count; default false */
  flam_bool ceil_mode FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_lp_pool_options;

/** Power average of each window, `(sum |x|^p)^(1/p)`; the sum is of x^p, so that odd powers keep
 * signs, and below 0 it counts as 0.
 *
 * - `input`: [n, c, l] or [c, l], floating point.
 * - `norm_type`: p, not 0.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, l'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be.
 */
FLAM_TORCH("F")
FLAM_LAYER("LPPool1d([norm_type=], [kernel_size=], [stride=], [ceil_mode=])")
FLAM_API flam_tensor *flam_lp_pool1d(
    const flam_tensor *input, double norm_type, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_lp_pool_options *options);

/** Greatest element of each window, and where it is.
 *
 * - `input`: [n, c, h, w] or [c, h, w], any dtype but bool.
 * - `kernel_size`: size of the window.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("F")
FLAM_API flam_status flam_max_pool2d_with_indices(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    flam_tensor **out_values, flam_tensor **out_indices, const flam_max_pool_options *options);

/** Greatest elements of windows that are sized so that the result has a given size, and where they
 * are.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `output_size`: h', w', or one number for all.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F.adaptive_max_pool2d_with_indices")
FLAM_LAYER("AdaptiveMaxPool2d([output_size=])")
FLAM_API flam_status flam_adaptive_max_pool2d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size,
    flam_tensor **out_values, flam_tensor **out_indices);

/** Puts elements back where a maximum pooling found them; 0 elsewhere.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `indices`: int64, shape of `input`: places in the plane of the result.
 * - `output_size`: h', w' of the result.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes differ; `FLAM_ERROR_INDEX` for a place outside the
 *   plane; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_API flam_tensor *flam_max_unpool2d(
    const flam_tensor *input, const flam_tensor *indices, const int64_t *output_size,
    size_t n_output_size);

/** Power average of each window, `(sum |x|^p)^(1/p)`; the sum is of x^p, so that odd powers keep
 * signs, and below 0 it counts as 0.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `norm_type`: p, not 0.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be.
 */
FLAM_TORCH("F")
FLAM_LAYER("LPPool2d([norm_type=], [kernel_size=], [stride=], [ceil_mode=])")
FLAM_API flam_tensor *flam_lp_pool2d(
    const flam_tensor *input, double norm_type, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_lp_pool_options *options);

/** Greatest element of each window. NaN counts as the greatest.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], any dtype but bool.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, d', h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_TORCH("F torch")
FLAM_LAYER(
    "MaxPool3d([kernel_size=], stride=[stride or kernel_size], "
    "[padding=], [dilation=], [ceil_mode=])")
FLAM_API flam_tensor *flam_max_pool3d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_max_pool_options *options);

/** Greatest element of each window, and where it is.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], any dtype but bool.
 * - `kernel_size`: size of the window.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("F")
FLAM_API flam_status flam_max_pool3d_with_indices(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    flam_tensor **out_values, flam_tensor **out_indices, const flam_max_pool_options *options);

/** Mean of each window.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point or int64, whose means are truncated.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, d', h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be; `FLAM_ERROR_DTYPE` for any other dtype.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_TORCH("F")
FLAM_LAYER("AvgPool3d([kernel_size=], stride=[stride or kernel_size], [padding=])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_avg_pool3d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_avg_pool_options *options);

/** Means of windows that are sized so that the result has a given size.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point.
 * - `output_size`: d', h', w', or one number for all.
 * - returns: [n, c, d', h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_TORCH("F")
FLAM_LAYER("AdaptiveAvgPool3d([output_size=])")
FLAM_API flam_tensor *flam_adaptive_avg_pool3d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size);

/** Greatest elements of windows that are sized so that the result has a given size, and where they
 * are.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point.
 * - `output_size`: d', h', w', or one number for all.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative size; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_TORCH("F.adaptive_max_pool3d_with_indices")
FLAM_LAYER("AdaptiveMaxPool3d([output_size=])")
FLAM_API flam_status flam_adaptive_max_pool3d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size,
    flam_tensor **out_values, flam_tensor **out_indices);

/** Puts elements back where a maximum pooling found them; 0 elsewhere.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point.
 * - `indices`: int64, shape of `input`: places in the plane of the result.
 * - `output_size`: d', h', w' of the result.
 * - returns: [n, c, d', h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes differ; `FLAM_ERROR_INDEX` for a place outside the
 *   plane; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_API flam_tensor *flam_max_unpool3d(
    const flam_tensor *input, const flam_tensor *indices, const int64_t *output_size,
    size_t n_output_size);

/** Power average of each window, `(sum |x|^p)^(1/p)`; the sum is of x^p, so that odd powers keep
 * signs, and below 0 it counts as 0.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point.
 * - `norm_type`: p, not 0.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, d', h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a kernel, stride or padding that cannot be.
 */
FLAM_TORCH("F")
FLAM_LAYER("LPPool3d([norm_type=], [kernel_size=], [stride=], [ceil_mode=])")
FLAM_API flam_tensor *flam_lp_pool3d(
    const flam_tensor *input, double norm_type, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_lp_pool_options *options);

/** Greatest elements of windows at drawn steps, and where they are: the result has any size.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `kernel_size`: size of the window.
 * - `output_size`: h' and w', or one number for all; with the window less one at most the input's.
 * - `random_samples`: [n, c, 2], from 0 to 1: where each plane's steps begin; default: drawn.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 * - source: Graham, 2014, arXiv 1412.6071.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_API flam_status flam_fractional_max_pool2d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const int64_t *output_size, size_t n_output_size,
    FLAM_NULLABLE const flam_tensor *random_samples FLAM_DEFAULT(NULL), flam_tensor **out_values,
    flam_tensor **out_indices);

/** Greatest elements of windows at drawn steps, and where they are: the result has any size.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point.
 * - `kernel_size`: size of the window.
 * - `output_size`: d', h' and w', or one number for all; with the window less one at most the
 *   input's.
 * - `random_samples`: [n, c, 3], from 0 to 1: where each plane's steps begin; default: drawn.
 * - `out_values`: the greatest elements.
 * - `out_indices`: where they are in their plane, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 * - source: Graham, 2014, arXiv 1412.6071.
 */
FLAM_AUTOCAST("cpu=f32")
FLAM_API flam_status flam_fractional_max_pool3d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const int64_t *output_size, size_t n_output_size,
    FLAM_NULLABLE const flam_tensor *random_samples FLAM_DEFAULT(NULL), flam_tensor **out_values,
    flam_tensor **out_indices);

#ifdef __cplusplus
}
#endif
#endif
