/* Reductions over some or all dimensions, and running ones.
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
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_AUTOCAST("cuda=f32") FLAM_OUT flam_tensor
    *flam_sum(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0), FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Sum of elements, NaN counted as 0.
 *
 * - `input`: any shape and dtype; bool and integers are summed in int64.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_nansum(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0), FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Mean of elements; NaN of none.
 *
 * - `input`: any shape; floating point, or any dtype with `dtype` given.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - `dtype`: of the result; default: `input`'s.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where the result is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_mean(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0), FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Product of elements; 1 of none.
 *
 * - `input`: any shape and dtype; bool and integers are multiplied in int64.
 * - `dim`: the dimension to reduce; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_AUTOCAST("f32") flam_tensor *flam_prod(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL),
    flam_bool keepdim FLAM_DEFAULT(0), FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Greatest element of a tensor; equals share the gradient.
 *
 * - `input`: any shape but empty; any dtype. NaN wins.
 * - returns: 0-d, dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `input` is empty.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_max(
    const flam_tensor *input);

/** Greatest elements along a dimension and where they are. NaN wins; of equals, the first.
 *
 * - `input`: any dtype; its size along `dim` is not 0.
 * - `dim`: the dimension to reduce.
 * - `keepdim`: whether it stays with size 1; default false.
 * - `out_values`: the greatest elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or of size 0.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch.max Tensor.max") flam_status flam_max_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0),
    flam_tensor **out_values, flam_tensor **out_indices);

/** Least element of a tensor; equals share the gradient.
 *
 * - `input`: any shape but empty; any dtype. NaN wins.
 * - returns: 0-d, dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `input` is empty.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_min(
    const flam_tensor *input);

/** Least elements along a dimension and where they are. NaN wins; of equals, the first.
 *
 * - `input`: any dtype; its size along `dim` is not 0.
 * - `dim`: the dimension to reduce.
 * - `keepdim`: whether it stays with size 1; default false.
 * - `out_values`: the least elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or of size 0.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch.min Tensor.min") flam_status flam_min_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0),
    flam_tensor **out_values, flam_tensor **out_indices);

/** Greatest elements over dimensions; equals share the gradient. NaN wins.
 *
 * - `input`: any dtype; the reduced dimensions are not empty.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice or of size 0;
 *   `FLAM_ERROR_SHAPE` where all of an empty tensor is reduced.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_amax(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0));

/** Least elements over dimensions; equals share the gradient. NaN wins.
 *
 * - `input`: any dtype; the reduced dimensions are not empty.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice or of size 0;
 *   `FLAM_ERROR_SHAPE` where all of an empty tensor is reduced.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_amin(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0));

/** Position of the greatest element; of equals, the first. NaN wins.
 *
 * - `input`: any dtype but bool; the reduced dimension is not empty.
 * - `dim`: the dimension to reduce; default: all, and the position counts in row-major order.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions, int64.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or nothing to reduce; `FLAM_ERROR_DTYPE` for
 *   bool.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_argmax(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL),
    flam_bool keepdim FLAM_DEFAULT(0));

/** Position of the least element; of equals, the first. NaN wins.
 *
 * - `input`: any dtype but bool; the reduced dimension is not empty.
 * - `dim`: the dimension to reduce; default: all, and the position counts in row-major order.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions, int64.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or nothing to reduce; `FLAM_ERROR_DTYPE` for
 *   bool.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_argmin(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL),
    flam_bool keepdim FLAM_DEFAULT(0));

/** Whether any element is not 0.
 *
 * - `input`: any shape and dtype.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions, bool; u8 for u8.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_any(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0));

/** Whether all elements are not 0.
 *
 * - `input`: any shape and dtype.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions, bool; u8 for u8.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_all(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    flam_bool keepdim FLAM_DEFAULT(0));

/** Variance of elements, `sum((x - mean)^2) / (n - correction)`.
 *
 * - `input`: any shape; floating point.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `correction`: subtracted from the number of elements; default 1.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_var(const flam_tensor *input,
    FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    FLAM_KEYWORD double correction FLAM_DEFAULT(1), flam_bool keepdim FLAM_DEFAULT(0));

/** Variance of elements with the correction named by a flag.
 *
 * - `input`: any shape; floating point.
 * - `dim`: dimensions to reduce; none: all.
 * - `unbiased`: whether to divide by `n - 1` rather than by `n`.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch.var Tensor.var") flam_tensor *flam_var_unbiased(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim, size_t n_dim, flam_bool unbiased,
    flam_bool keepdim FLAM_DEFAULT(0));

/** Standard deviation of elements, `sum((x - mean)^2) / (n - correction)`, rooted.
 *
 * - `input`: any shape; floating point.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `correction`: subtracted from the number of elements; default 1.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_std(const flam_tensor *input,
    FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
    FLAM_KEYWORD double correction FLAM_DEFAULT(1), flam_bool keepdim FLAM_DEFAULT(0));

/** Standard deviation of elements with the correction named by a flag.
 *
 * - `input`: any shape; floating point.
 * - `dim`: dimensions to reduce; none: all.
 * - `unbiased`: whether to divide by `n - 1` rather than by `n`.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch.std Tensor.std") flam_tensor *flam_std_unbiased(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim, size_t n_dim, flam_bool unbiased,
    flam_bool keepdim FLAM_DEFAULT(0));

/** Vector norm, `(sum |x|^p)^(1/p)`; `p` inf is the greatest magnitude, -inf the least, 0 counts
 * elements that are not 0.
 *
 * - `input`: any shape; floating point.
 * - `p`: order of the norm; default 2.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - `dtype`: of the result; default: `input`'s.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor torch.linalg.vector_norm")
    FLAM_AUTOCAST("cuda=f32")
    flam_tensor *flam_norm(const flam_tensor *input, double p FLAM_DEFAULT(2),
        FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim,
        flam_bool keepdim FLAM_DEFAULT(0),
        FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Logarithm of the sum of exponentials, computed without overflow.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - `dim`: dimensions to reduce, negative ones count from the end.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor torch.special.logsumexp")
    FLAM_AUTOCAST("cuda=f32")
    flam_tensor *flam_logsumexp(const flam_tensor *input, const int64_t *dim, size_t n_dim,
        flam_bool keepdim FLAM_DEFAULT(0));

/** Number of elements that are not 0.
 *
 * - `input`: any shape and dtype.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - returns: `input`'s shape without the reduced dimensions, int64.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_count_nonzero(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim);

/** Running sums along a dimension.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to run along.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: shape of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_AUTOCAST("cuda=f32") FLAM_INPLACE
    FLAM_OUT flam_tensor *flam_cumsum(
    const flam_tensor *input, int64_t dim,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Running products along a dimension.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to run along.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: shape of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_AUTOCAST("cuda=f32") FLAM_INPLACE FLAM_OUT
    flam_tensor *flam_cumprod(const flam_tensor *input, int64_t dim,
        FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

#ifdef __cplusplus
}
#endif
#endif
