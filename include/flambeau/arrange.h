/* Elements in other places: rotations, combinations, parts that replace parts.
 * namespace: ops
 */
#ifndef FLAMBEAU_ARRANGE_H
#define FLAMBEAU_ARRANGE_H

#include "flambeau/common.h"
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

/** A quarter turn, or several, in the plane of two dimensions, from the first to the second.
 *
 * - `input`: at least 2-d.
 * - `k`: number of quarter turns; default 1.
 * - `dims`: the two dimensions; default: 0 and 1.
 * - returns: `input`'s elements, turned.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there are not two different dimensions.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_rot90(
    const flam_tensor *input, int64_t k FLAM_DEFAULT(1),
    FLAM_NULLABLE const int64_t *dims FLAM_DEFAULT(NULL), size_t n_dims);

/** All tuples of one element of each vector; the last one varies first.
 *
 * - `tensors`: 1-d, one dtype.
 * - returns: [product of sizes, number of tensors]; of one tensor, itself.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_cartesian_prod(
    FLAM_VARIADIC flam_tensor *const *tensors, size_t n_tensors);

/** All choices of `r` elements of a vector, in order.
 *
 * - `input`: [n].
 * - `r`: how many elements; default 2.
 * - `with_replacement`: whether an element may be chosen again; default false.
 * - returns: [number of choices, `r`].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative `r`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS FLAM_TORCH("torch") flam_tensor *flam_combinations(
    const flam_tensor *input, int64_t r FLAM_DEFAULT(2),
    flam_bool with_replacement FLAM_DEFAULT(0));

/** Tensors side by side; vectors are columns.
 *
 * - `tensors`: equal first sizes.
 * - returns: joined along dimension 1.
 * - errors: as `flam_cat`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") FLAM_OUT flam_tensor *flam_column_stack(
    flam_tensor *const *tensors, size_t n_tensors);

/** Parts of nearly equal size along a dimension; the first ones are one greater.
 *
 * - `input`: at least 1-d.
 * - `sections`: number of parts.
 * - `dim`: the dimension to cut; default 0.
 * - returns: views.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `sections` is below 1; `FLAM_ERROR_INDEX`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor_list *flam_tensor_split(
    const flam_tensor *input, int64_t sections, int64_t dim FLAM_DEFAULT(0));

/** Parts between given places along a dimension.
 *
 * - `input`: at least 1-d.
 * - `indices`: where to cut, as in slices.
 * - `dim`: the dimension to cut; default 0.
 * - returns: views, one more than there are indices.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_API FLAM_SINCE(0, 1)
    FLAM_TORCH("torch.tensor_split Tensor.tensor_split") flam_tensor_list *flam_tensor_split_at(
        const flam_tensor *input, const int64_t *indices, size_t n_indices,
        int64_t dim FLAM_DEFAULT(0));

/** Equal parts along the second dimension, of a vector along the first.
 *
 * - `input`: at least 1-d.
 * - `sections`: number of parts; divides the size.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor_list *flam_hsplit(
    const flam_tensor *input, int64_t sections);

/** Parts between given places along the second dimension, of a vector along the first.
 *
 * - `input`: at least 1-d.
 * - `indices`: where to cut, as in slices.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1)
    FLAM_TORCH("torch.hsplit Tensor.hsplit") flam_tensor_list *flam_hsplit_at(
        const flam_tensor *input, const int64_t *indices, size_t n_indices);

/** Equal parts along the first dimension.
 *
 * - `input`: at least 2-d.
 * - `sections`: number of parts; divides the size.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor_list *flam_vsplit(
    const flam_tensor *input, int64_t sections);

/** Parts between given places along the first dimension.
 *
 * - `input`: at least 2-d.
 * - `indices`: where to cut, as in slices.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1)
    FLAM_TORCH("torch.vsplit Tensor.vsplit") flam_tensor_list *flam_vsplit_at(
        const flam_tensor *input, const int64_t *indices, size_t n_indices);

/** Equal parts along the third dimension.
 *
 * - `input`: at least 3-d.
 * - `sections`: number of parts; divides the size.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor_list *flam_dsplit(
    const flam_tensor *input, int64_t sections);

/** Parts between given places along the third dimension.
 *
 * - `input`: at least 3-d.
 * - `indices`: where to cut, as in slices.
 * - returns: views.
 * - errors: `FLAM_ERROR_SHAPE`.
 */
FLAM_API FLAM_SINCE(0, 1)
    FLAM_TORCH("torch.dsplit Tensor.dsplit") flam_tensor_list *flam_dsplit_at(
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
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_select_scatter(
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
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_as_strided_scatter(
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
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT
    flam_tensor *flam_index_reduce(const flam_tensor *input, int64_t dim, const flam_tensor *index,
        const flam_tensor *source, flam_scatter_rule reduce,
        FLAM_KEYWORD flam_bool include_self FLAM_DEFAULT(1));

/** A copy in which a slice is replaced.
 *
 * - `input`: at least 1-d.
 * - `src`: the shape of the slice.
 * - `dim`: the dimension to slice; default 0.
 * - `start`: where the slice starts; default 0.
 * - `end`: where it ends; default: at the end.
 * - `step`: distance of its indices; default 1.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_slice_scatter(
    const flam_tensor *input, const flam_tensor *src, int64_t dim FLAM_DEFAULT(0),
    FLAM_NULLABLE const int64_t *start FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const int64_t *end FLAM_DEFAULT(NULL), int64_t step FLAM_DEFAULT(1));

/** A copy in which a diagonal is replaced.
 *
 * - `input`: at least 2-d.
 * - `src`: the shape of the diagonal.
 * - `offset`: which diagonal: 0 the main, above 0 above it, below 0 below; default 0.
 * - `dim1`: the matrices' rows; default 0.
 * - `dim2`: their columns; default 1.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") flam_tensor *flam_diagonal_scatter(
    const flam_tensor *input, const flam_tensor *src, int64_t offset FLAM_DEFAULT(0),
    int64_t dim1 FLAM_DEFAULT(0), int64_t dim2 FLAM_DEFAULT(1));

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
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT
    flam_tensor *flam_scatter_reduce(const flam_tensor *input, int64_t dim,
        const flam_tensor *index, const flam_tensor *src, flam_scatter_rule reduce,
        FLAM_KEYWORD flam_bool include_self FLAM_DEFAULT(1));

/** Each element, or slice along a dimension, as often as a tensor says.
 *
 * - `input`: any tensor.
 * - `repeats`: [size of `dim`] or one number; int64 or int32, not negative.
 * - `dim`: the dimension; default: the flattened tensor.
 * - `output_size`: the sum of `repeats`, where it is known; default: it is read.
 * - returns: size `sum(repeats)` along `dim`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative number; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_DTYPE`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS
    FLAM_TORCH("torch.repeat_interleave Tensor.repeat_interleave")
    flam_tensor *flam_repeat_interleave_each(const flam_tensor *input, const flam_tensor *repeats,
        FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL),
        FLAM_KEYWORD FLAM_NULLABLE const int64_t *output_size FLAM_DEFAULT(NULL));

/** Sets the main diagonal, in place.
 *
 * - `input`: at least 2-d; of more than 2 dimensions, all sizes equal.
 * - `fill_value`: a number or 0-d tensor.
 * - `wrap`: whether a tall matrix starts a new diagonal after each `columns + 1` rows; default
 *   false.
 * - returns: `input`, another handle to the same tensor.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("Tensor") FLAM_BORROWED(input)
    flam_tensor *flam_fill_diagonal_( flam_tensor *input, const flam_tensor *fill_value,
        flam_bool wrap FLAM_DEFAULT(0));

#ifdef __cplusplus
}
#endif
#endif
