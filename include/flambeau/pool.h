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

/** Greatest element of each window. NaN counts as the greatest.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `kernel_size`: size of the window.
 * - `stride`: distance of the windows; default: `kernel_size`.
 * - `padding`: added at both ends, at most half the window, never the greatest; default 0.
 * - `dilation`: distance of the window's elements; default 1.
 * - `ceil_mode`: whether windows that reach over the end count; default false.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F torch") flam_tensor *flam_max_pool2d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    FLAM_NULLABLE const int64_t *stride FLAM_DEFAULT(NULL), size_t n_stride,
    const int64_t *padding FLAM_DEFAULT(0), size_t n_padding,
    const int64_t *dilation FLAM_DEFAULT(1), size_t n_dilation,
    flam_bool ceil_mode FLAM_DEFAULT(0));

/** Mean of each window.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `kernel_size`: size of the window.
 * - `stride`: distance of the windows; default: `kernel_size`.
 * - `padding`: zeros added at both ends, at most half the window; default 0.
 * - `ceil_mode`: whether windows that reach over the end count; default false.
 * - `count_include_pad`: whether padding counts as elements; default true (1).
 * - `divisor_override`: what to divide by, not 0; default: the number of elements.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` where the result would be empty; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F") flam_tensor *flam_avg_pool2d(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    FLAM_NULLABLE const int64_t *stride FLAM_DEFAULT(NULL), size_t n_stride,
    const int64_t *padding FLAM_DEFAULT(0), size_t n_padding, flam_bool ceil_mode FLAM_DEFAULT(0),
    flam_bool count_include_pad FLAM_DEFAULT(1),
    FLAM_NULLABLE const int64_t *divisor_override FLAM_DEFAULT(NULL));

/** Means of windows that are sized so that the result has a given size.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point.
 * - `output_size`: h' and w', or one number for both.
 * - returns: [n, c, h', w'], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F") flam_tensor *flam_adaptive_avg_pool2d(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size);

#ifdef __cplusplus
}
#endif
#endif
