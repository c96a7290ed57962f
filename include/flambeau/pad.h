/* Padding.
 * namespace: ops
 *
 * Sizes are given from the last dimension backwards, two for each: before and after.
 */
#ifndef FLAMBEAU_PAD_H
#define FLAMBEAU_PAD_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a padding holds: a constant, or elements of the tensor itself. */
typedef int32_t flam_padding;
enum {
  FLAM_PADDING_UNSPECIFIED = 0,
  FLAM_PADDING_CONSTANT = 1,
  FLAM_PADDING_REFLECT = 2,
  FLAM_PADDING_REPLICATE = 3,
  FLAM_PADDING_CIRCULAR = 4
};

/** Options of `flam_pad`. */
typedef struct flam_pad_options {
  size_t struct_size; /**< sizeof(flam_pad_options) */
  /** a constant; or the elements mirrored at the edge without it, the edge repeated, or those of
   *  the other end; default constant. The last three pad the last 1, 2 or 3 of 2 to 5
   *  dimensions. */
  flam_padding mode FLAM_DEFAULT(FLAM_PADDING_CONSTANT);
  const double *value FLAM_DEFAULT(NULL); /**< of the constant; default 0 */
} flam_pad_options;

/** Puts elements before and after a tensor along its last dimensions.
 *
 * - `input`: any shape and dtype.
 * - `pad`: elements before and after the last dimension, then the one before it, and so on;
 *   negative sizes cut off.
 * - returns: dtype of `input`, its sizes and the paddings added.
 * - errors: `FLAM_ERROR_SHAPE` where a size becomes negative or a mirror or circle is greater than
 *   the tensor; `FLAM_ERROR_INVALID_ARGUMENT` for an odd count, or a `value` with another mode than
 *   constant or that the dtype does not have.
 */
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_pad(
    const flam_tensor *input, const int64_t *pad, size_t n_pad, const flam_pad_options *options);

#ifdef __cplusplus
}
#endif
#endif
