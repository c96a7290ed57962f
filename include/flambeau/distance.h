/* Distances between vectors.
 * namespace: ops
 */
#ifndef FLAMBEAU_DISTANCE_H
#define FLAMBEAU_DISTANCE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Cosine of the angle between vectors, `x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`.
 *
 * - `x1`: any shape; floating point.
 * - `x2`: shape that broadcasts with `x1`'s.
 * - `dim`: the dimension that holds the vectors; default 1.
 * - `eps`: least norm; default 1e-8.
 * - returns: the broadcast shape without `dim`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE` where the promoted dtype is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("cuda=f32")
    FLAM_TORCH("F torch") flam_tensor *flam_cosine_similarity(const flam_tensor *x1,
                                                              const flam_tensor *x2,
                                                              int64_t dim FLAM_DEFAULT(1),
                                                              double eps FLAM_DEFAULT(1e-8));

/** Norm of the difference of vectors, `|x1 - x2 + eps|_p`.
 *
 * - `x1`: [..., d], floating point.
 * - `x2`: shape that broadcasts with `x1`'s.
 * - `p`: exponent of the norm; default 2.
 * - `eps`: added to the difference; default 1e-6.
 * - `keepdim`: whether the last dimension stays with size 1; default false.
 * - returns: the broadcast shape without its last dimension.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F torch") flam_tensor *flam_pairwise_distance(
    const flam_tensor *x1, const flam_tensor *x2, double p FLAM_DEFAULT(2),
    double eps FLAM_DEFAULT(1e-6), flam_bool keepdim FLAM_DEFAULT(0));

/** Distances between all pairs of rows.
 *
 * - `input`: [n, d], floating point.
 * - `p`: exponent of the norm, not negative; default 2.
 * - returns: [n (n - 1) / 2]: of rows 0 and 1, 0 and 2, ..., 1 and 2, ...
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("cuda=f32")
    FLAM_TORCH("F torch") flam_tensor *flam_pdist(const flam_tensor *input,
                                                  double p FLAM_DEFAULT(2));

#ifdef __cplusplus
}
#endif
#endif
