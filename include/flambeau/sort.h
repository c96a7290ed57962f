/* Sorting, order statistics and what follows from an order: ranks, modes, sets of values.
 * namespace: ops
 *
 * NaN counts as greater than every number and equal to every NaN; 0 and -0 are equal.
 */
#ifndef FLAMBEAU_SORT_H
#define FLAMBEAU_SORT_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What `flam_quantile` takes between two elements. */
typedef int32_t flam_quantile_interpolation;
enum {
  FLAM_QUANTILE_INTERPOLATION_UNSPECIFIED = 0,
  FLAM_QUANTILE_INTERPOLATION_LINEAR = 1,
  FLAM_QUANTILE_INTERPOLATION_LOWER = 2,
  FLAM_QUANTILE_INTERPOLATION_HIGHER = 3,
  FLAM_QUANTILE_INTERPOLATION_MIDPOINT = 4,
  FLAM_QUANTILE_INTERPOLATION_NEAREST = 5
};

/** Options of `flam_sort` and `flam_argsort`. */
typedef struct flam_sort_options {
  size_t struct_size; /**< sizeof(flam_sort_options) */
  int64_t dim FLAM_DEFAULT(-1); /**< the dimension to sort along; default -1 */
  flam_bool descending FLAM_DEFAULT(0); /**< whether the greatest comes first; default false */
  /** accepted; the order of equal elements is kept either way */
  flam_bool stable FLAM_KEYWORD FLAM_DEFAULT(0);
} flam_sort_options;

/** Elements in order along a dimension, and where they were. Equal elements keep their order.
 *
 * - `input`: any shape and dtype.
 * - `out_values`: the elements in order, shape and dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_sort(
    const flam_tensor *input, flam_tensor **out_values, flam_tensor **out_indices,
    const flam_sort_options *options);

/** Positions that put a dimension in order.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`, int64.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_argsort(const flam_tensor *input, const flam_sort_options *options);

/** Elements in ascending order along the first dimension.
 *
 * - `input`: any shape and dtype.
 * - returns: shape and dtype of `input`.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_msort(const flam_tensor *input);

/** Options of `flam_topk`. */
typedef struct flam_topk_options {
  size_t struct_size; /**< sizeof(flam_topk_options) */
  int64_t dim FLAM_DEFAULT(-1); /**< the dimension to search; default -1 */
  flam_bool largest FLAM_DEFAULT(1); /**< whether the greatest are wanted; default true */
  /** accepted; the results are in order either way; default true */
  flam_bool sorted FLAM_DEFAULT(1);
} flam_topk_options;

/** The greatest or least elements along a dimension, in order, and where they were.
 *
 * - `input`: any shape; any dtype but bool.
 * - `k`: how many; at most the size of `dim`.
 * - `out_values`: size `k` along `dim`, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64; of equals the first.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` or `k` out of range; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_topk(
    const flam_tensor *input, int64_t k, flam_tensor **out_values, flam_tensor **out_indices,
    const flam_topk_options *options);

/** Options of `flam_kthvalue` and `flam_mode`. */
typedef struct flam_order_statistic_options {
  size_t struct_size; /**< sizeof(flam_order_statistic_options) */
  int64_t dim FLAM_DEFAULT(-1); /**< the dimension to search; default -1 */
  flam_bool keepdim FLAM_DEFAULT(0); /**< whether it stays with size 1; default false */
  int32_t reserved; /**< 0 */
} flam_order_statistic_options;

/** The `k`-th least element along a dimension and where it is.
 *
 * - `input`: any shape and dtype.
 * - `k`: which one, counted from 1.
 * - `out_values`: the elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` or `k` out of range; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_kthvalue(
    const flam_tensor *input, int64_t k, flam_tensor **out_values, flam_tensor **out_indices,
    const flam_order_statistic_options *options);

/** The middle element of all; of an even number the lower one. NaN where any element is.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: 0-d, dtype of `input`; NaN of nothing.
 * - errors: `FLAM_ERROR_SHAPE` for an empty `input` of integers; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_median(const flam_tensor *input);

/** The middle elements along a dimension and where they are; of an even number the lower one. NaN
 * where any element is.
 *
 * - `input`: any shape; any dtype but bool.
 * - `dim`: the dimension to reduce; not empty.
 * - `keepdim`: whether it stays with size 1; default false.
 * - `out_values`: the elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or of size 0; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch.median Tensor.median")
FLAM_API flam_status flam_median_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0),
    flam_tensor **out_values, flam_tensor **out_indices);

/** The middle element of all that are numbers; of an even number the lower one.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: 0-d, dtype of `input`; NaN where there is no number.
 * - errors: `FLAM_ERROR_SHAPE` for an empty `input` of integers; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_nanmedian(const flam_tensor *input);

/** The middle elements along a dimension, NaN left out, and where they are; of an even number the
 * lower one.
 *
 * - `input`: any shape; any dtype but bool.
 * - `dim`: the dimension to reduce; not empty.
 * - `keepdim`: whether it stays with size 1; default false.
 * - `out_values`: the elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or of size 0; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch.nanmedian Tensor.nanmedian")
FLAM_API flam_status flam_nanmedian_dim(
    const flam_tensor *input, int64_t dim, flam_bool keepdim FLAM_DEFAULT(0),
    flam_tensor **out_values, flam_tensor **out_indices);

/** The most frequent elements along a dimension, of equally frequent ones the least, and the last
 * position where each is.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to reduce, not empty; default -1.
 * - `out_values`: the elements, dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range or of size 0.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_mode(
    const flam_tensor *input, flam_tensor **out_values, flam_tensor **out_indices,
    const flam_order_statistic_options *options);

/** Options of `flam_quantile` and `flam_nanquantile`. */
typedef struct flam_quantile_options {
  size_t struct_size; /**< sizeof(flam_quantile_options) */
  const int64_t *dim FLAM_DEFAULT(NULL); /**< the dimension to reduce; default: all */
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  /** what to take between two elements; default linear */
  flam_quantile_interpolation interpolation
      FLAM_KEYWORD FLAM_DEFAULT(FLAM_QUANTILE_INTERPOLATION_LINEAR);
} flam_quantile_options;

/** Quantiles: what a share `q` of the elements is below. NaN where any element is.
 *
 * - `input`: any shape but empty; f32 or f64.
 * - `q`: a number or a tensor of 0 or 1 dimensions and `input`'s dtype, between 0 and 1.
 * - returns: `input`'s shape without `dim`, behind a dimension of `q`'s size where `q` is 1-d.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE` for an empty `input` or a `q` of more
 *   dimensions; `FLAM_ERROR_INVALID_ARGUMENT` for a `q` outside [0, 1]; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_quantile(
    const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *q,
    const flam_quantile_options *options);

/** Quantiles of the elements that are numbers.
 *
 * - `input`: any shape but empty; f32 or f64.
 * - `q`: a number or a tensor of 0 or 1 dimensions and `input`'s dtype, between 0 and 1.
 * - returns: `input`'s shape without `dim`, behind a dimension of `q`'s size where `q` is 1-d; NaN
 *   where there is no number.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE` for an empty `input` or a `q` of more
 *   dimensions; `FLAM_ERROR_INVALID_ARGUMENT` for a `q` outside [0, 1]; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_nanquantile(
    const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *q,
    const flam_quantile_options *options);

/** Options of `flam_unique` and `flam_unique_consecutive`. */
typedef struct flam_unique_options {
  size_t struct_size; /**< sizeof(flam_unique_options) */
  /** the dimension whose slices are compared; default: single elements of the whole tensor */
  const int64_t *dim FLAM_DEFAULT(NULL);
  /** whether to tell where each element went; default false */
  flam_bool return_inverse FLAM_DEFAULT(0);
  /** whether to tell how often each occurs; default false */
  flam_bool return_counts FLAM_DEFAULT(0);
} flam_unique_options;

/** The different elements, or slices along a dimension, in ascending order.
 *
 * - `input`: any shape and dtype. Every NaN is different.
 * - returns: the different ones; then, where asked for, int64 positions in them (shape of `input`,
 *   or one per slice), then int64 counts.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_API FLAM_BLOCKS flam_tensor_list *flam_unique(
    const flam_tensor *input, const flam_unique_options *options);

/** Elements, or slices along a dimension, without those that equal the one before.
 *
 * - `input`: any shape and dtype. Every NaN is different.
 * - `return_counts`: whether to tell how often each is repeated; default false.
 * - returns: those that stay; then, where asked for, int64 positions in them (shape of `input`, or
 *   one per slice), then int64 counts.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_API FLAM_BLOCKS flam_tensor_list *flam_unique_consecutive(
    const flam_tensor *input, const flam_unique_options *options);

#ifdef __cplusplus
}
#endif
#endif
