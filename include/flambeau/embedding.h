/* Tables of vectors beyond plain lookup.
 * namespace: ops
 */
#ifndef FLAMBEAU_EMBEDDING_H
#define FLAMBEAU_EMBEDDING_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a bag of embeddings is folded. */
typedef int32_t flam_bag;
enum { FLAM_BAG_UNSPECIFIED = 0, FLAM_BAG_SUM = 1, FLAM_BAG_MEAN = 2, FLAM_BAG_MAX = 3 };

/** Scales those rows of a table that are looked up and whose norm is above a limit down to it.
 *
 * - `weight`: [rows, columns], floating point; changed in place.
 * - `indices`: int64, any shape.
 * - `max_norm`: the limit.
 * - `norm_type`: exponent of the norm; default 2.
 * - returns: `weight`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE` where `weight` is not 2-d.
 */
FLAM_TORCH("torch")
FLAM_BORROWED(weight)
FLAM_API flam_tensor *flam_embedding_renorm_(
    flam_tensor *weight, const flam_tensor *indices, double max_norm,
    double norm_type FLAM_DEFAULT(2));

/** Options of `flam_embedding_bag`. */
typedef struct flam_embedding_bag_options {
  size_t struct_size; /**< sizeof(flam_embedding_bag_options) */
  flam_bag mode FLAM_DEFAULT(FLAM_BAG_MEAN); /**< sum, mean or max; default mean */
  /** whether the last offset is the end of the last bag; default false */
  flam_bool include_last_offset FLAM_DEFAULT(0);
  const int64_t *padding_idx FLAM_DEFAULT(NULL); /**< rows that count for nothing; default none */
} flam_embedding_bag_options;

/** Folds looked-up vectors, bag by bag, without keeping them.
 *
 * - `input`: indices, int64: [bags, n], or [n] with `offsets`.
 * - `weight`: [rows, columns], floating point.
 * - `offsets`: int64 [bags]: where each bag starts in `input`; default none.
 * - `per_sample_weights`: shape of `input`, factors of the vectors, for sum; default none.
 * - returns: [bags, columns]; 0 for an empty bag.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_INDEX`;
 *   `FLAM_ERROR_UNSUPPORTED` for `per_sample_weights` in another mode than sum; `FLAM_ERROR_DTYPE`.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_embedding_bag(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *offsets FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *per_sample_weights FLAM_AFTER(mode) FLAM_DEFAULT(NULL),
    const flam_embedding_bag_options *options);

#ifdef __cplusplus
}
#endif
#endif
