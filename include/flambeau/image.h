/* Resampling and rearranging images.
 * namespace: ops
 */
#ifndef FLAMBEAU_IMAGE_H
#define FLAMBEAU_IMAGE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How values between samples are found. */
typedef int32_t flam_interpolation;
enum {
  FLAM_INTERPOLATION_UNSPECIFIED = 0,
  FLAM_INTERPOLATION_NEAREST = 1,
  FLAM_INTERPOLATION_LINEAR = 2,
  FLAM_INTERPOLATION_BILINEAR = 3,
  FLAM_INTERPOLATION_BICUBIC = 4,
  FLAM_INTERPOLATION_TRILINEAR = 5,
  FLAM_INTERPOLATION_AREA = 6,
  FLAM_INTERPOLATION_NEAREST_EXACT = 7
};

/** What lies outside an image that a grid samples. */
typedef int32_t flam_grid_padding;
enum {
  FLAM_GRID_UNSPECIFIED = 0,
  FLAM_GRID_ZEROS = 1,
  FLAM_GRID_BORDER = 2,
  FLAM_GRID_REFLECTION = 3
};

/** Options of `flam_interpolate`. */
typedef struct flam_interpolate_options {
  size_t struct_size; /**< sizeof(flam_interpolate_options) */
  /** sizes of the result, one per further dimension or one for all; default none */
  const int64_t *size FLAM_DEFAULT(NULL);
  size_t n_size;
  const double *scale_factor FLAM_DEFAULT(NULL); /**< factors of the sizes instead; default none */
  size_t n_scale_factor;
  /** nearest, linear (3-d), bilinear, bicubic (4-d), trilinear (5-d), area or nearest_exact;
   *  default nearest */
  flam_interpolation mode FLAM_DEFAULT(FLAM_INTERPOLATION_NEAREST);
  /** whether the corners of both images coincide; default false; only for linear to trilinear */
  const flam_bool *align_corners FLAM_DEFAULT(NULL);
  /** whether factors are computed anew from the sizes; default false */
  const flam_bool *recompute_scale_factor FLAM_DEFAULT(NULL);
  /** whether a smaller image is smoothed first, for bilinear and bicubic; default false */
  flam_bool antialias FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_interpolate_options;

/** Resamples signals, images or volumes to another size.
 *
 * - `input`: [n, c, ...] with 1 to 3 further dimensions, floating point.
 * - returns: [n, c, ...] of the new size, dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for options that do not go together.
 */
FLAM_AUTOCAST("cuda=f32")
FLAM_LAYER("Upsample([scale_factor= or size=], [mode=])")
FLAM_API flam_tensor *flam_interpolate(
    const flam_tensor *input, const flam_interpolate_options *options);

/** Options of `flam_grid_sample`. */
typedef struct flam_grid_sample_options {
  size_t struct_size; /**< sizeof(flam_grid_sample_options) */
  /** bilinear, nearest or bicubic (4-d); default bilinear */
  flam_interpolation mode FLAM_DEFAULT(FLAM_INTERPOLATION_BILINEAR);
  /** zeros, border or reflection; default zeros */
  flam_grid_padding padding_mode FLAM_DEFAULT(FLAM_GRID_ZEROS);
  /** whether -1 and 1 are the centres of the outer pixels; default false: their outer edges */
  const flam_bool *align_corners FLAM_DEFAULT(NULL);
} flam_grid_sample_options;

/** Samples images or volumes at places between -1 and 1.
 *
 * - `input`: [n, c, h, w] or [n, c, d, h, w], floating point.
 * - `grid`: [n, h', w', 2] or [n, d', h', w', 3]: x, y (and z), dtype of `input`.
 * - returns: [n, c, h', w'] or [n, c, d', h', w'].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`.
 */
FLAM_AUTOCAST("cpu=f32 cuda=widest")
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_grid_sample(
    const flam_tensor *input, const flam_tensor *grid, const flam_grid_sample_options *options);

/** The grid of places that an affine map takes the pixels of an image to.
 *
 * - `theta`: [n, 2, 3] or [n, 3, 4], floating point.
 * - `size`: n, c, h, w or n, c, d, h, w of the result of sampling.
 * - `align_corners`: whether -1 and 1 are the centres of the outer pixels; default false.
 * - returns: [n, h, w, 2] or [n, d, h, w, 3].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_AUTOCAST("cuda=rest")
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_affine_grid(
    const flam_tensor *theta, const int64_t *size, size_t n_size,
    FLAM_NULLABLE const flam_bool *align_corners FLAM_DEFAULT(NULL));

/** Turns channels into a finer image, [c r^2, h, w] into [c, h r, w r].
 *
 * - `input`: [..., c r^2, h, w].
 * - `upscale_factor`: r.
 * - returns: [..., c, h r, w r].
 * - errors: `FLAM_ERROR_SHAPE` where r^2 does not divide the channels;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where `upscale_factor` is not positive.
 * - source: Shi et al., 2016, arXiv 1609.05158.
 */
FLAM_TORCH("F torch")
FLAM_LAYER("PixelShuffle([upscale_factor=])")
FLAM_API flam_tensor *flam_pixel_shuffle(const flam_tensor *input, int64_t upscale_factor);

/** Turns an image into channels of a coarser one, the inverse of `flam_pixel_shuffle`.
 *
 * - `input`: [..., c, h r, w r].
 * - `downscale_factor`: r.
 * - returns: [..., c r^2, h, w].
 * - errors: `FLAM_ERROR_SHAPE` where r does not divide a size; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("F torch")
FLAM_LAYER("PixelUnshuffle([downscale_factor=])")
FLAM_API flam_tensor *flam_pixel_unshuffle(const flam_tensor *input, int64_t downscale_factor);

/** Interleaves groups of channels.
 *
 * - `input`: [n, c, ...].
 * - `groups`: divides c.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 * - source: Zhang et al., 2017, arXiv 1707.01083.
 */
FLAM_TORCH("F torch")
FLAM_LAYER("ChannelShuffle([groups=])")
FLAM_API flam_tensor *flam_channel_shuffle(const flam_tensor *input, int64_t groups);

/** Options of `flam_im2col` and `flam_col2im`. */
typedef struct flam_im2col_options {
  size_t struct_size; /**< sizeof(flam_im2col_options) */
  const int64_t *dilation FLAM_DEFAULT(1); /**< distance of the window's elements; default 1 */
  size_t n_dilation;
  const int64_t *padding FLAM_DEFAULT(0); /**< cut off at both ends; default 0 */
  size_t n_padding;
  const int64_t *stride FLAM_DEFAULT(1); /**< distance of the windows; default 1 */
  size_t n_stride;
} flam_im2col_options;

/** Windows of images as columns.
 *
 * - `input`: [n, c, h, w] or [c, h, w].
 * - `kernel_size`: size of the window.
 * - `padding`: zeros added at both ends; default 0.
 * - returns: [n, c kh kw, windows], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("F.unfold")
FLAM_LAYER("Unfold([kernel_size=], [dilation=], [padding=], [stride=])")
FLAM_API flam_tensor *flam_im2col(
    const flam_tensor *input, const int64_t *kernel_size, size_t n_kernel_size,
    const flam_im2col_options *options);

/** Sums columns into the images whose windows they are: the transpose of `flam_im2col`.
 *
 * - `input`: [n, c kh kw, windows] or [c kh kw, windows].
 * - `output_size`: h and w of the images.
 * - `kernel_size`: size of the window.
 * - returns: [n, c, h, w], without n where `input` has none.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("F.fold")
FLAM_LAYER("Fold([output_size=], [kernel_size=], [dilation=], [padding=], [stride=])")
FLAM_API flam_tensor *flam_col2im(
    const flam_tensor *input, const int64_t *output_size, size_t n_output_size,
    const int64_t *kernel_size, size_t n_kernel_size, const flam_im2col_options *options);

#ifdef __cplusplus
}
#endif
#endif
