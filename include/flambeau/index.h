/* Reading and writing at indices: gather and scatter along a dimension, masks, and Python's `x[...]`.
 * namespace: ops
 *
 * Indices are int64 or int32 and count from the end where negative, unless a function says otherwise. On the
 * cpu an index out of range is an error that names it; on a device it is one where the host knows the values.
 */
#ifndef FLAMBEAU_INDEX_H
#define FLAMBEAU_INDEX_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds slices to the slices of a tensor that an index names; equal indices add up.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension that `index` counts.
 * - `index`: [n] or 0-d, int64 or int32, not negative.
 * - `source`: `input`'s shape with size n along `dim`; `input`'s dtype.
 * - `alpha`: factor of `source`; default 1.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT flam_tensor *flam_index_add(
    const flam_tensor *input, int64_t dim, const flam_tensor *index, const flam_tensor *source,
    FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

#ifdef __cplusplus
}
#endif
#endif
