/* Convolutions.
 * namespace: ops
 *
 * Strides, paddings and dilations are one number per spatial dimension, or one for all of them.
 */
#ifndef FLAMBEAU_CONV_H
#define FLAMBEAU_CONV_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_conv1d`, `flam_conv2d` and `flam_conv3d`. */
typedef struct flam_conv_options {
  size_t struct_size; /**< sizeof(flam_conv_options) */
  const int64_t *stride FLAM_DEFAULT(1); /**< distance of the windows; default 1 */
  size_t n_stride;
  const int64_t *padding FLAM_DEFAULT(0); /**< zeros added at both ends; default 0 */
  size_t n_padding;
  const int64_t *dilation FLAM_DEFAULT(1); /**< distance of the window's elements; default 1 */
  size_t n_dilation;
  int64_t groups FLAM_DEFAULT(1); /**< number of separate groups of channels; default 1 */
} flam_conv_options;

/** Convolution (cross-correlation) in one dimension.
 *
 * - `input`: [n, c, l] or [c, l], floating point or int64.
 * - `weight`: [o, c / groups, k], dtype of `input`.
 * - `bias`: [o]; default none.
 * - returns: [n, o, (l + 2 padding - dilation (k - 1) - 1) / stride + 1], without n where `input`
 *   has none.
 * - errors: `FLAM_ERROR_SHAPE` naming both shapes and what differs; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch F")
FLAM_AUTOCAST("lower")
FLAM_API flam_tensor *flam_conv1d(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), const flam_conv_options *options);

/** Convolution (cross-correlation) in two dimensions.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point or int64.
 * - `weight`: [o, c / groups, kh, kw], dtype of `input`.
 * - `bias`: [o]; default none.
 * - returns: [n, o, h', w'] with h' = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1, without
 *   n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` naming both shapes and what differs; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch F")
FLAM_AUTOCAST("lower")
FLAM_API flam_tensor *flam_conv2d(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), const flam_conv_options *options);

/** Options of `flam_conv_transpose2d`, `flam_conv_transpose1d` and `flam_conv_transpose3d`. */
typedef struct flam_conv_transpose_options {
  size_t struct_size; /**< sizeof(flam_conv_transpose_options) */
  const int64_t *stride FLAM_DEFAULT(1); /**< of the convolution it transposes; default 1 */
  size_t n_stride;
  const int64_t *padding FLAM_DEFAULT(0); /**< of the convolution it transposes; default 0 */
  size_t n_padding;
  const int64_t *output_padding FLAM_DEFAULT(0); /**< added to one side of the result; default 0 */
  size_t n_output_padding;
  int64_t groups FLAM_DEFAULT(1); /**< number of separate groups of channels; default 1 */
  const int64_t *dilation FLAM_DEFAULT(1); /**< distance of the window's elements; default 1 */
  size_t n_dilation;
} flam_conv_transpose_options;

/** Transposed convolution in two dimensions: the gradient of `flam_conv2d` by its input, as an op.
 *
 * - `input`: [n, c, h, w] or [c, h, w], floating point or int64.
 * - `weight`: [c, o / groups, kh, kw], dtype of `input`.
 * - `bias`: [o]; default none.
 * - returns: [n, o, h', w'] with h' = (h - 1) stride - 2 padding + dilation (kh - 1) +
 *   output_padding + 1.
 * - errors: `FLAM_ERROR_SHAPE` naming both shapes and what differs, and where an image of the
 *   result would be empty; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a stride, padding or dilation out of range.
 */
FLAM_TORCH("torch F")
FLAM_AUTOCAST("lower")
FLAM_API flam_tensor *flam_conv_transpose2d(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    const flam_conv_transpose_options *options);

/** Convolution (cross-correlation) in three dimensions.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point or int64.
 * - `weight`: [o, c / groups, kd, kh, kw], dtype of `input`.
 * - `bias`: [o]; default none.
 * - returns: [n, o, d', h', w'], each size (in + 2 padding - dilation (k - 1) - 1) / stride + 1,
 *   without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE` naming both shapes and what differs; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_AUTOCAST("lower")
FLAM_TORCH("torch F")
FLAM_API flam_tensor *flam_conv3d(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), const flam_conv_options *options);

/** Transposed convolution in one dimension: the gradient of a convolution by its input, as an op.
 *
 * - `input`: [n, c, l] or [c, l], floating point or int64.
 * - `weight`: [c, o / groups, k], dtype of `input`.
 * - `bias`: [o]; default none.
 * - returns: [n, o, l'], each size (in - 1) stride - 2 padding + dilation (k - 1) + output_padding
 *   + 1.
 * - errors: `FLAM_ERROR_SHAPE` naming both shapes and what differs, and where an image of the
 *   result would be empty; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a stride, padding or dilation out of range.
 */
FLAM_AUTOCAST("lower")
FLAM_TORCH("torch F")
FLAM_API flam_tensor *flam_conv_transpose1d(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    const flam_conv_transpose_options *options);

/** Transposed convolution in three dimensions: the gradient of a convolution by its input, as an
 * op.
 *
 * - `input`: [n, c, d, h, w] or [c, d, h, w], floating point or int64.
 * - `weight`: [c, o / groups, kd, kh, kw], dtype of `input`.
 * - `bias`: [o]; default none.
 * - returns: [n, o, d', h', w'], each size (in - 1) stride - 2 padding + dilation (k - 1) +
 *   output_padding + 1.
 * - errors: `FLAM_ERROR_SHAPE` naming both shapes and what differs, and where an image of the
 *   result would be empty; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a stride, padding or dilation out of range.
 */
FLAM_AUTOCAST("lower")
FLAM_TORCH("torch F")
FLAM_API flam_tensor *flam_conv_transpose3d(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    const flam_conv_transpose_options *options);

/** Options of `flam_conv_norm`. */
typedef struct flam_conv_norm_options {
  size_t struct_size; /**< sizeof(flam_conv_norm_options) */
  const int64_t *stride FLAM_DEFAULT(1); /**< distance of the windows; default 1 */
  size_t n_stride;
  const int64_t *padding FLAM_DEFAULT(0); /**< zeros added at both ends; default 0 */
  size_t n_padding;
  const int64_t *dilation FLAM_DEFAULT(1); /**< distance of the window's elements; default 1 */
  size_t n_dilation;
  int64_t groups FLAM_DEFAULT(1); /**< number of separate groups of channels; default 1 */
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
  flam_bool relu FLAM_DEFAULT(0); /**< whether ReLU is the last step; default false */
  int32_t reserved; /**< 0 */
} flam_conv_norm_options;

/** Convolution, batch normalisation by running statistics, and ReLU.
 *
 * In one pass where no gradient is recorded: scale and shift of the normalisation go into weight
 * and bias. Otherwise, in half types and where scaling the weight would cost more, as three
 * operations.
 *
 * - `input`: [n, c, ...] or [c, ...] with one to three dimensions of an image, floating point.
 * - `weight`: [o, c / groups, ...], dtype of `input`.
 * - `bias`: [o]; default none.
 * - `running_mean`: [o]; default none: there is no normalisation.
 * - `running_var`: [o]; default none: there is no normalisation.
 * - `norm_weight`: [o]; default none, for 1.
 * - `norm_bias`: [o]; default none, for 0.
 * - returns: what the convolution makes, of that shape.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where only one of the statistics is given, or `norm_weight` or
 *   `norm_bias` without them.
 * - source: Ioffe and Szegedy, 2015, arXiv 1502.03167.
 */
FLAM_API flam_tensor *flam_conv_norm(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *running_mean FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *running_var FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *norm_weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *norm_bias FLAM_DEFAULT(NULL),
    const flam_conv_norm_options *options);

#ifdef __cplusplus
}
#endif
#endif
