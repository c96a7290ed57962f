/* Reductions over some or all dimensions, and running ones.
 * namespace: ops
 */
#ifndef FLAMBEAU_REDUCE_H
#define FLAMBEAU_REDUCE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of sums, means and norms. */
typedef struct flam_reduce_options {
  size_t struct_size; /**< sizeof(flam_reduce_options) */
  /** dimensions to reduce, negative ones count from the end; default: all */
  const int64_t *dim FLAM_DEFAULT(NULL);
  size_t n_dim;
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  /** of the result; default: `input`'s */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
} flam_reduce_options;

/** Sum of elements. Floating sums are within 1 ULP where all terms have one sign.
 *
 * - `input`: any shape and dtype; bool and integers are summed in int64.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_OUT flam_tensor *flam_sum(
    const flam_tensor *input, const flam_reduce_options *options);

/** Sum of elements, NaN counted as 0.
 *
 * - `input`: any shape and dtype; bool and integers are summed in int64.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_nansum(
    const flam_tensor *input, const flam_reduce_options *options);

/** Mean of elements; NaN of none.
 *
 * - `input`: any shape; floating point, or any dtype with `dtype` given.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where the result is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_mean(
    const flam_tensor *input, const flam_reduce_options *options);

/** Options of `flam_prod`. */
typedef struct flam_prod_options {
  size_t struct_size; /**< sizeof(flam_prod_options) */
  const int64_t *dim FLAM_DEFAULT(NULL); /**< the dimension to reduce; default: all */
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  /** of the result; default: `input`'s, int64 for bool and integers */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
} flam_prod_options;

/** Product of elements; 1 of none.
 *
 * - `input`: any shape and dtype; bool and integers are multiplied in int64.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("f32")
FLAM_API FLAM_OUT flam_tensor *flam_prod(
    const flam_tensor *input, const flam_prod_options *options);

/** Greatest element of a tensor; equals share the gradient.
 *
 * - `input`: any shape but empty; any dtype. NaN wins.
 * - returns: 0-d, dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `input` is empty.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_max(const flam_tensor *input);

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
FLAM_TORCH("torch.max Tensor.max")
FLAM_API flam_status flam_max_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0),
    flam_tensor **out_values, flam_tensor **out_indices);

/** Least element of a tensor; equals share the gradient.
 *
 * - `input`: any shape but empty; any dtype. NaN wins.
 * - returns: 0-d, dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `input` is empty.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_min(const flam_tensor *input);

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
FLAM_TORCH("torch.min Tensor.min")
FLAM_API flam_status flam_min_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0),
    flam_tensor **out_values, flam_tensor **out_indices);

/** Options of reductions that keep the dtype or answer yes or no. */
typedef struct flam_dims_options {
  size_t struct_size; /**< sizeof(flam_dims_options) */
  /** dimensions to reduce, negative ones count from the end; default: all */
  const int64_t *dim FLAM_EMPTY FLAM_DEFAULT(NULL);
  size_t n_dim;
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_dims_options;

/** Greatest elements over dimensions; equals share the gradient. NaN wins.
 *
 * - `input`: any dtype; the reduced dimensions are not empty.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice or of size 0;
 *   `FLAM_ERROR_SHAPE` where all of an empty tensor is reduced.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_amax(
    const flam_tensor *input, const flam_dims_options *options);

/** Least elements over dimensions; equals share the gradient. NaN wins.
 *
 * - `input`: any dtype; the reduced dimensions are not empty.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice or of size 0;
 *   `FLAM_ERROR_SHAPE` where all of an empty tensor is reduced.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_amin(
    const flam_tensor *input, const flam_dims_options *options);

/** Options of reductions along one dimension. */
typedef struct flam_dim_options {
  size_t struct_size; /**< sizeof(flam_dim_options) */
  /** the dimension to reduce; default: all, and the position counts in row-major order */
  const int64_t *dim FLAM_DEFAULT(NULL);
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_dim_options;

/** Position of the greatest element; of equals, the first. NaN wins.
 *
 * - `input`: any dtype but bool; the reduced dimension is not empty.
 * - returns: `input`'s shape without the reduced dimensions, int64.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or nothing to reduce; `FLAM_ERROR_DTYPE` for
 *   bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_argmax(
    const flam_tensor *input, const flam_dim_options *options);

/** Position of the least element; of equals, the first. NaN wins.
 *
 * - `input`: any dtype but bool; the reduced dimension is not empty.
 * - returns: `input`'s shape without the reduced dimensions, int64.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or nothing to reduce; `FLAM_ERROR_DTYPE` for
 *   bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_argmin(
    const flam_tensor *input, const flam_dim_options *options);

/** Whether any element is not 0.
 *
 * - `input`: any shape and dtype.
 * - returns: `input`'s shape without the reduced dimensions, bool; u8 for u8.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_any(
    const flam_tensor *input, const flam_dims_options *options);

/** Whether all elements are not 0.
 *
 * - `input`: any shape and dtype.
 * - returns: `input`'s shape without the reduced dimensions, bool; u8 for u8.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_all(
    const flam_tensor *input, const flam_dims_options *options);

/** Options of variances and standard deviations. */
typedef struct flam_var_options {
  size_t struct_size; /**< sizeof(flam_var_options) */
  /** dimensions to reduce, negative ones count from the end; default: all */
  const int64_t *dim FLAM_DEFAULT(NULL);
  size_t n_dim;
  /** subtracted from the number of elements; default 1 */
  double correction FLAM_KEYWORD FLAM_DEFAULT(1);
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_var_options;

/** Variance of elements, `sum((x - mean)^2) / (n - correction)`.
 *
 * - `input`: any shape; floating point.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_var(const flam_tensor *input, const flam_var_options *options);

/** Standard deviation of elements, `sum((x - mean)^2) / (n - correction)`, rooted.
 *
 * - `input`: any shape; floating point.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_std(const flam_tensor *input, const flam_var_options *options);

/** Options of `flam_norm`. */
typedef struct flam_norm_options {
  size_t struct_size; /**< sizeof(flam_norm_options) */
  double p FLAM_DEFAULT(2); /**< order of the norm; default 2 */
  /** dimensions to reduce, negative ones count from the end; default: all */
  const int64_t *dim FLAM_DEFAULT(NULL);
  size_t n_dim;
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  /** of the result; default: `input`'s */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
} flam_norm_options;

/** Vector norm, `(sum |x|^p)^(1/p)`; `p` inf is the greatest magnitude, -inf the least, 0 counts
 * elements that are not 0.
 *
 * - `input`: any shape; floating point.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor torch.linalg.vector_norm")
FLAM_AUTOCAST("cuda=f32")
FLAM_API flam_tensor *flam_norm(const flam_tensor *input, const flam_norm_options *options);

/** Logarithm of the sum of exponentials, computed without overflow.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - `dim`: dimensions to reduce, negative ones count from the end.
 * - `keepdim`: whether reduced dimensions stay with size 1; default false.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor torch.special.logsumexp")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_OUT flam_tensor *flam_logsumexp(
    const flam_tensor *input, const int64_t *dim, size_t n_dim, flam_bool keepdim FLAM_DEFAULT(0));

/** Number of elements that are not 0.
 *
 * - `input`: any shape and dtype.
 * - `dim`: dimensions to reduce, negative ones count from the end; default: all.
 * - returns: `input`'s shape without the reduced dimensions, int64.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_count_nonzero(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim);

/** Running sums along a dimension.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to run along.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: shape of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_DTYPE` where `dtype` is bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_cumsum(
    const flam_tensor *input, int64_t dim,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Running products along a dimension.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to run along.
 * - `dtype`: of the result; default: `input`'s, int64 for bool and integers.
 * - returns: shape of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_DTYPE` where `dtype` is bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_cumprod(
    const flam_tensor *input, int64_t dim,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

#ifdef __cplusplus
}
#endif
#endif
