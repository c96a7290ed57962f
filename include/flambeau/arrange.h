/* Elements in other places: rotations, combinations, parts that replace parts.
 * namespace: ops
 */
#ifndef FLAMBEAU_ARRANGE_H
#define FLAMBEAU_ARRANGE_H

#include "flambeau/common.h"
#include "flambeau/shape.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How values that meet in one place are joined. */
typedef int32_t flam_scatter_rule;
enum {
  FLAM_SCATTER_UNSPECIFIED = 0,
  FLAM_SCATTER_SUM = 1,
  FLAM_SCATTER_PROD = 2,
  FLAM_SCATTER_MEAN = 3,
  FLAM_SCATTER_AMAX = 4,
  FLAM_SCATTER_AMIN = 5
};

/** Options of `flam_rot90`. */
typedef struct flam_rot90_options {
  size_t struct_size; /**< sizeof(flam_rot90_options) */
  int64_t k FLAM_DEFAULT(1); /**< number of quarter turns; default 1 */
  const int64_t *dims FLAM_DEFAULT(NULL); /**< the two dimensions; default: 0 and 1 */
  size_t n_dims;
} flam_rot90_options;

/** A quarter turn, or several, in the plane of two dimensions, from the first to the second.
 *
 * - `input`: at least 2-d.
 * - returns: `input`'s elements, turned.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there are not two different dimensions;
 *   `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_rot90(const flam_tensor *input, const flam_rot90_options *options);

/** All tuples of one element of each vector; the last one varies first.
 *
 * - `tensors`: 1-d, one dtype.
 * - returns: [product of sizes, number of tensors]; of one tensor, itself.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` without tensors.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_cartesian_prod(
    FLAM_VARIADIC flam_tensor *const *tensors, size_t n_tensors);

/** Options of `flam_combinations`. */
typedef struct flam_combinations_options {
  size_t struct_size; /**< sizeof(flam_combinations_options) */
  int64_t r FLAM_DEFAULT(2); /**< how many elements, in [0, 64]; default 2 */
  /** whether an element may be chosen again; default false */
  flam_bool with_replacement FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_combinations_options;

/** All choices of `r` elements of a vector, in order.
 *
 * - `input`: [n].
 * - returns: [number of choices, `r`].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative `r`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_tensor *flam_combinations(
    const flam_tensor *input, const flam_combinations_options *options);

/** Tensors side by side; vectors are columns.
 *
 * - `tensors`: equal first sizes.
 * - returns: joined along dimension 1.
 * - errors: as `flam_cat`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_OUT flam_tensor *flam_column_stack(flam_tensor *const *tensors, size_t n_tensors);

/** Parts of nearly equal size along a dimension; the first ones are one greater.
 *
 * - `input`: at least 1-d.
 * - `sections`: number of parts, in [1, 1048576].
 * - `dim`: the dimension to cut; default 0.
 * - returns: views.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `sections` is below 1; `FLAM_ERROR_INDEX`;
 *   `FLAM_ERROR_SHAPE` for 0 dimensions.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_tensor_split(
    const flam_tensor *input, int64_t sections, int64_t dim FLAM_DEFAULT(0));

/** Parts between given places along a dimension.
 *
 * - `input`: at least 1-d.
 * - `indices`: where to cut, as in slices.
 * - `dim`: the dimension to cut; default 0.
 * - returns: views, one more than there are indices.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_SHAPE` for 0 dimensions.
 */
FLAM_TORCH("torch.tensor_split Tensor.tensor_split")
FLAM_API FLAM_VIEW flam_tensor_list *flam_tensor_split_at(
    const flam_tensor *input, const int64_t *indices, size_t n_indices,
    int64_t dim FLAM_DEFAULT(0));

/** Equal parts along the second dimension, of a vector along the first.
 *
 * - `input`: at least 1-d.
 * - `sections`: number of parts; divides the size.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_hsplit(const flam_tensor *input, int64_t sections);

/** Parts between given places along the second dimension, of a vector along the first.
 *
 * - `input`: at least 1-d.
 * - `indices`: where to cut, as in slices.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch.hsplit Tensor.hsplit")
FLAM_API FLAM_VIEW flam_tensor_list *flam_hsplit_at(
    const flam_tensor *input, const int64_t *indices, size_t n_indices);

/** Equal parts along the first dimension.
 *
 * - `input`: at least 2-d.
 * - `sections`: number of parts; divides the size.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_vsplit(const flam_tensor *input, int64_t sections);

/** Parts between given places along the first dimension.
 *
 * - `input`: at least 2-d.
 * - `indices`: where to cut, as in slices.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch.vsplit Tensor.vsplit")
FLAM_API FLAM_VIEW flam_tensor_list *flam_vsplit_at(
    const flam_tensor *input, const int64_t *indices, size_t n_indices);

/** Equal parts along the third dimension.
 *
 * - `input`: at least 3-d.
 * - `sections`: number of parts; divides the size.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_dsplit(const flam_tensor *input, int64_t sections);

/** Parts between given places along the third dimension.
 *
 * - `input`: at least 3-d.
 * - `indices`: where to cut, as in slices.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch.dsplit Tensor.dsplit")
FLAM_API FLAM_VIEW flam_tensor_list *flam_dsplit_at(
    const flam_tensor *input, const int64_t *indices, size_t n_indices);

/** A copy in which one index of a dimension is replaced.
 *
 * - `input`: at least 1-d.
 * - `src`: `input`'s shape without `dim`.
 * - `dim`: the dimension.
 * - `index`: which one.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_select_scatter(
    const flam_tensor *input, const flam_tensor *src, int64_t dim, int64_t index);

/** A copy in which the elements of a view with given geometry are replaced.
 *
 * - `input`: any tensor.
 * - `src`: of shape `size`.
 * - `size`: shape of the view.
 * - `stride`: strides of the view in elements, one per dimension.
 * - `storage_offset`: its first element, counted from the storage's first; default: `input`'s own.
 * - returns: shape, strides and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where the view reaches outside of `input` or `src` does not fit it.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_as_strided_scatter(
    const flam_tensor *input, const flam_tensor *src, const int64_t *size, size_t n_size,
    const int64_t *stride, size_t n_stride,
    FLAM_NULLABLE const int64_t *storage_offset FLAM_DEFAULT(NULL));

/** Slices joined with those that an index names, by a rule.
 *
 * - `input`: any dtype but bool.
 * - `dim`: the dimension that `index` counts along.
 * - `index`: 1-d, i64 or i32.
 * - `source`: shape of `input` but for `dim`, where it has as many slices as `index`; its dtype.
 * - `reduce`: `FLAM_SCATTER_PROD`, `FLAM_SCATTER_MEAN`, `FLAM_SCATTER_AMAX` or `FLAM_SCATTER_AMIN`.
 * - `include_self`: whether the slices of `input` take part; default true.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INDEX`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another rule.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_index_reduce(
    const flam_tensor *input, int64_t dim, const flam_tensor *index, const flam_tensor *source,
    flam_scatter_rule reduce, FLAM_KEYWORD flam_bool include_self FLAM_DEFAULT(1));

/** Options of `flam_slice_scatter`. */
typedef struct flam_slice_scatter_options {
  size_t struct_size; /**< sizeof(flam_slice_scatter_options) */
  int64_t dim FLAM_DEFAULT(0); /**< the dimension to slice; default 0 */
  const int64_t *start FLAM_DEFAULT(NULL); /**< where the slice starts; default 0 */
  const int64_t *end FLAM_DEFAULT(NULL); /**< where it ends; default: at the end */
  int64_t step FLAM_DEFAULT(1); /**< distance of its indices; default 1 */
} flam_slice_scatter_options;

/** A copy in which a slice is replaced.
 *
 * - `input`: at least 1-d.
 * - `src`: the shape of the slice.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_slice_scatter(
    const flam_tensor *input, const flam_tensor *src, const flam_slice_scatter_options *options);

/** A copy in which a diagonal is replaced.
 *
 * - `input`: at least 2-d.
 * - `src`: the shape of the diagonal.
 * - `offset`: which diagonal: 0 the main, above 0 above it, below 0 below; default 0.
 * - `dim1`: the matrices' rows; default 0.
 * - `dim2`: their columns; default 1.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_diagonal_scatter(
    const flam_tensor *input, const flam_tensor *src, const flam_diagonal_options *options);

/** Values joined with what is where an index names: `input[index[i][j]][j]` with `src[i][j]` for
 * `dim` 0.
 *
 * - `input`: any tensor.
 * - `dim`: the dimension that `index` counts.
 * - `index`: as many dimensions as `input`, not greater than it but along `dim`; int64 or int32.
 * - `src`: not smaller than `index`; `input`'s dtype.
 * - `reduce`: how values of one place are joined.
 * - `include_self`: whether `input`'s elements take part; default true.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` without a way of joining.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_scatter_reduce(
    const flam_tensor *input, int64_t dim, const flam_tensor *index, const flam_tensor *src,
    flam_scatter_rule reduce, FLAM_KEYWORD flam_bool include_self FLAM_DEFAULT(1));

/** How the elements of a segment are joined. */
typedef int32_t flam_segment_rule;
enum {
  FLAM_SEGMENT_UNSPECIFIED = 0,
  FLAM_SEGMENT_SUM = 1, /* 0 where it is empty */
  FLAM_SEGMENT_MEAN = 2, /* NaN */
  FLAM_SEGMENT_MAX = 3, /* -infinity */
  FLAM_SEGMENT_MIN = 4, /* infinity */
  FLAM_SEGMENT_PROD = 5 /* 1 */
};

/** Options of `flam_segment_reduce`. */
typedef struct flam_segment_reduce_options {
  size_t struct_size; /**< sizeof(flam_segment_reduce_options) */
  /** sizes of the segments, [..., segments] with the sizes of `data` before `axis`; integers;
   *  default none */
  const flam_tensor *lengths FLAM_KEYWORD FLAM_DEFAULT(NULL);
  /** instead of `lengths`, where each segment begins and the last one ends, [..., segments + 1];
   *  default none */
  const flam_tensor *offsets FLAM_DEFAULT(NULL);
  int64_t axis FLAM_DEFAULT(0); /**< the dimension that is cut; default 0 */
  /** whether lengths or offsets are taken unchecked, which waits for no device: elements that no
   *  segment holds are left out, segments end with the data, a negative length or an offset below
   *  the one before makes an empty segment; default false */
  flam_bool unsafe FLAM_DEFAULT(0);
  /** what each segment starts with; default: what leaves the result alone */
  const double *initial FLAM_DEFAULT(NULL);
} flam_segment_reduce_options;

/** Sums, means, extremes or products of segments of a tensor along a dimension, each of its own
 * length.
 *
 * - `data`: at least 1-d; floating point.
 * - `reduce`: how elements are joined.
 * - returns: `data` with the number of segments along `axis`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` without lengths and offsets, for lengths that are
 *   negative or do not sum to the size of `axis`, or for offsets that fall or lie outside of it;
 *   `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_tensor *flam_segment_reduce(
    const flam_tensor *data, flam_segment_rule reduce, const flam_segment_reduce_options *options);

/** Options of `flam_repeat_interleave_each`. */
typedef struct flam_repeat_interleave_each_options {
  size_t struct_size; /**< sizeof(flam_repeat_interleave_each_options) */
  const int64_t *dim FLAM_DEFAULT(NULL); /**< the dimension; default: the flattened tensor */
  /** the sum of `repeats`, where it is known; default: it is read */
  const int64_t *output_size FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_repeat_interleave_each_options;

/** Each element, or slice along a dimension, as often as a tensor says.
 *
 * - `input`: any tensor.
 * - `repeats`: [size of `dim`] or one number; int64 or int32, not negative.
 * - returns: size `sum(repeats)` along `dim`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative number; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch.repeat_interleave Tensor.repeat_interleave")
FLAM_API FLAM_BLOCKS flam_tensor *flam_repeat_interleave_each(
    const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *repeats,
    const flam_repeat_interleave_each_options *options);

/** Sets the main diagonal, in place.
 *
 * - `input`: at least 2-d; of more than 2 dimensions, all sizes equal.
 * - `fill_value`: a number or 0-d tensor.
 * - `wrap`: whether a tall matrix starts a new diagonal after each `columns + 1` rows; default
 *   false.
 * - returns: `input`, another handle to the same tensor.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_fill_diagonal_(
    flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *fill_value,
    flam_bool wrap FLAM_DEFAULT(0));

#ifdef __cplusplus
}
#endif
#endif
