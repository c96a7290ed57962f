/* Reductions over some or all dimensions.
 * namespace: ops
 */
#ifndef FLAMBEAU_REDUCE_H
#define FLAMBEAU_REDUCE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sum of elements. Floating sums are within 1 ULP where all terms have one sign.
 *
 * - `input`: any shape and dtype; bool and integers are summed in int64.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_sum(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0), FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Greatest element of a tensor.
 *
 * - `input`: any shape but empty; any dtype. NaN wins.
 * - returns: 0-d, dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `input` is empty.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_max(const flam_tensor *input);

/** Greatest elements along a dimension and where they are. NaN wins; of equals, the first.
 *
 * - `input`: any dtype; its size along `dim` is not 0.
 * - `dim`: the dimension to reduce.
 * - `keepdim`: whether it stays with size 1; default false.
 * - `out_values`: the greatest elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_SHAPE` where `dim` has size 0.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch.max Tensor.max") flam_status flam_max_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0), flam_tensor **out_values,
    flam_tensor **out_indices);

#ifdef __cplusplus
}
#endif
#endif
