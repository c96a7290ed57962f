/* Sums of products over named or paired dimensions.
 * namespace: ops
 */
#ifndef FLAMBEAU_CONTRACT_H
#define FLAMBEAU_CONTRACT_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Einstein summation: products of operands summed over the labels that the output lacks.
 *
 * The pair whose product is the smallest for what it removes is multiplied first.
 *
 * - `equation`: labels (letters) of each operand, separated by commas, and after `->` those of the
 *   output; without `->` the labels that occur once, in alphabetical order. `...` stands for any
 *   number of dimensions that broadcast; a label that an operand repeats takes its diagonal.
 * - `operands`: one tensor per group of labels.
 * - returns: a dimension per output label.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an equation that cannot be read or does not fit the
 *   operands; `FLAM_ERROR_SHAPE` where one label has two sizes.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_API FLAM_VIEW flam_tensor *flam_einsum(
    const char *equation, flam_tensor *const *operands, size_t n_operands);

/** Product summed over pairs of dimensions.
 *
 * - `a`: any shape.
 * - `b`: any shape; dtype of `a`.
 * - `dims_a`: dimensions of `a` to sum over.
 * - `dims_b`: those of `b` that they are paired with.
 * - returns: the other dimensions of `a`, then those of `b`.
 * - errors: `FLAM_ERROR_SHAPE` where paired sizes differ; `FLAM_ERROR_INDEX` for a dimension out of
 *   range or named twice; `FLAM_ERROR_INVALID_ARGUMENT` for lists of different lengths;
 *   `FLAM_ERROR_DTYPE` where the dtypes differ.
 */
FLAM_AUTOCAST("cuda=widest")
FLAM_API flam_tensor *flam_tensordot(
    const flam_tensor *a, const flam_tensor *b, const int64_t *dims_a, size_t n_dims_a,
    const int64_t *dims_b, size_t n_dims_b);

#ifdef __cplusplus
}
#endif
#endif
