/* Distances between vectors.
 * namespace: ops
 */
#ifndef FLAMBEAU_DISTANCE_H
#define FLAMBEAU_DISTANCE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_cosine_similarity`. */
typedef struct flam_cosine_similarity_options {
  size_t struct_size; /**< sizeof(flam_cosine_similarity_options) */
  int64_t dim FLAM_DEFAULT(1); /**< the dimension that holds the vectors; default 1 */
  double eps FLAM_DEFAULT(1e-8); /**< least norm; default 1e-8 */
} flam_cosine_similarity_options;

/** Cosine of the angle between vectors, `x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`.
 *
 * - `x1`: any shape; floating point.
 * - `x2`: shape that broadcasts with `x1`'s.
 * - returns: the broadcast shape without `dim`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE` where the promoted dtype is not floating point;
 *   `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_AUTOCAST("cuda=f32")
FLAM_TORCH("F torch")
FLAM_LAYER("CosineSimilarity()")
FLAM_API flam_tensor *flam_cosine_similarity(
    const flam_tensor *x1, const flam_tensor *x2, const flam_cosine_similarity_options *options);

/** Options of `flam_pairwise_distance`. */
typedef struct flam_pairwise_distance_options {
  size_t struct_size; /**< sizeof(flam_pairwise_distance_options) */
  double p FLAM_DEFAULT(2); /**< exponent of the norm; default 2 */
  double eps FLAM_DEFAULT(1e-6); /**< added to the difference; default 1e-6 */
  /** whether the last dimension stays with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_pairwise_distance_options;

/** Norm of the difference of vectors, `|x1 - x2 + eps|_p`.
 *
 * - `x1`: [..., d], floating point.
 * - `x2`: shape that broadcasts with `x1`'s.
 * - returns: the broadcast shape without its last dimension.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("F torch")
FLAM_LAYER("PairwiseDistance()")
FLAM_API flam_tensor *flam_pairwise_distance(
    const flam_tensor *x1, const flam_tensor *x2, const flam_pairwise_distance_options *options);

/** Distances between all pairs of rows.
 *
 * - `input`: [n, d], floating point.
 * - `p`: exponent of the norm, not negative; default 2.
 * - returns: [n (n - 1) / 2]: of rows 0 and 1, 0 and 2, ..., 1 and 2, ...
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_AUTOCAST("cuda=f32")
FLAM_TORCH("F torch")
FLAM_API flam_tensor *flam_pdist(const flam_tensor *input, double p FLAM_DEFAULT(2));

#ifdef __cplusplus
}
#endif
#endif
