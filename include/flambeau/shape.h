/* Views and layout: the same elements under another shape, sharing memory and history.
 * namespace: ops
 */
#ifndef FLAMBEAU_SHAPE_H
#define FLAMBEAU_SHAPE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A view of another shape over the same memory.
 *
 * - `input`: any tensor whose strides allow the shape without a copy.
 * - `size`: the new shape; one entry may be -1 and is inferred.
 * - returns: a view of shape `size`.
 * - errors: `FLAM_ERROR_SHAPE` where the element counts differ or a copy would be needed (use
 *   reshape).
 */
FLAM_TORCH("Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_view(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *size, size_t n_size);

/** A view of the same bytes as another dtype; it carries no gradient.
 *
 * - `input`: any tensor; where the item sizes differ its last dimension is dense.
 * - `dtype`: of the view. Items half as long make the last dimension twice as long, and so on.
 * - returns: a view.
 * - errors: `FLAM_ERROR_SHAPE` where the last dimension is not dense, or bytes do not make up whole
 *   items; `FLAM_ERROR_DTYPE` for no dtype.
 */
FLAM_API FLAM_VIEW flam_tensor *flam_view_dtype(const flam_tensor *input, flam_dtype dtype);

/** The same elements in another shape: a view where the strides allow it, else a copy.
 *
 * - `input`: any tensor.
 * - `shape`: the new shape; one entry may be -1 and is inferred.
 * - returns: a tensor of shape `shape`.
 * - errors: `FLAM_ERROR_SHAPE` where the element counts differ.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_reshape(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *shape, size_t n_shape);

/** A view with given geometry over `input`'s memory.
 *
 * - `input`: any tensor.
 * - `size`: shape of the view.
 * - `stride`: strides of the view in elements, one per dimension.
 * - `storage_offset`: first element, counted from the storage's first; default NULL: `input`'s own.
 * - returns: a view of shape `size`.
 * - errors: `FLAM_ERROR_SHAPE` where sizes and strides differ in number or reach outside the
 *   storage.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_as_strided(
    const flam_tensor *input, const int64_t *size, size_t n_size, const int64_t *stride,
    size_t n_stride, FLAM_NULLABLE const int64_t *storage_offset FLAM_DEFAULT(NULL));

/** Gives a tensor another geometry over its memory, in place.
 *
 * - `input`: the tensor to change; what it shares memory with keeps its own geometry.
 * - `size`: the new shape.
 * - `stride`: the new strides in elements, one per dimension.
 * - `storage_offset`: first element, counted from the storage's first; default NULL: `input`'s own.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_SHAPE` where sizes and strides differ in number or reach outside the
 *   storage; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_TORCH("torch Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_as_strided_(
    flam_tensor *input, const int64_t *size, size_t n_size, const int64_t *stride, size_t n_stride,
    FLAM_NULLABLE const int64_t *storage_offset FLAM_DEFAULT(NULL));

/** A view with dimensions in another order.
 *
 * - `input`: any tensor.
 * - `dims`: a permutation of its dimensions; negative ones count from the end.
 * - returns: a view whose dimension i is `input`'s `dims[i]`.
 * - errors: `FLAM_ERROR_SHAPE` where `dims` is no permutation; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_permute(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *dims, size_t n_dims);

/** A view with two dimensions exchanged.
 *
 * - `input`: any tensor.
 * - `dim0`: the first dimension.
 * - `dim1`: the second dimension.
 * - returns: a view of `input`.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH(
    "torch Tensor torch.swapaxes Tensor.swapaxes torch.swapdims "
    "Tensor.swapdims")
FLAM_API FLAM_VIEW flam_tensor *flam_transpose(
    const flam_tensor *input, int64_t dim0, int64_t dim1);

/** The transpose of a matrix; vectors and 0-d tensors come back as they are.
 *
 * - `input`: at most 2-d.
 * - returns: a view of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `input` has more than two dimensions.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_t(const flam_tensor *input);

/** A view that repeats dimensions of size 1 without copying.
 *
 * - `input`: any tensor.
 * - `size`: the shape to repeat to; -1 keeps a size, new dimensions come first.
 * - returns: a view of shape `size`, with stride 0 where it repeats.
 * - errors: `FLAM_ERROR_SHAPE` where a size other than 1 would change.
 */
FLAM_TORCH("Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_expand(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *size, size_t n_size);

/** Options of `flam_slice`. */
typedef struct flam_slice_options {
  size_t struct_size; /**< sizeof(flam_slice_options) */
  int64_t dim FLAM_DEFAULT(0); /**< the dimension; default 0 */
  int64_t start FLAM_DEFAULT(0); /**< first index, negative from the end; default 0 */
  /** index after the last; default: the dimension's end. Both are clamped to the dimension. */
  int64_t end FLAM_DEFAULT(9223372036854775807);
  int64_t step FLAM_DEFAULT(1); /**< distance between indices, positive; default 1 */
} flam_slice_options;

/** A view of a range of one dimension.
 *
 * - `input`: any tensor of at least one dimension.
 * - returns: a view.
 * - errors: `FLAM_ERROR_INDEX` for `dim`; `FLAM_ERROR_INVALID_ARGUMENT` for a step below 1;
 *   `FLAM_ERROR_SHAPE` for 0 dimensions.
 */
FLAM_API FLAM_VIEW flam_tensor *flam_slice(
    const flam_tensor *input, const flam_slice_options *options);

/** A view of one index of a dimension, which disappears.
 *
 * - `input`: any tensor of at least one dimension.
 * - `dim`: the dimension.
 * - `index`: the index, negative from the end.
 * - returns: a view with one dimension less.
 * - errors: `FLAM_ERROR_INDEX` for `dim` or `index` out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_select(const flam_tensor *input, int64_t dim, int64_t index);

/** A view of `length` indices of a dimension from `start` on.
 *
 * - `input`: any tensor of at least one dimension.
 * - `dim`: the dimension.
 * - `start`: first index, negative from the end.
 * - `length`: how many.
 * - returns: a view.
 * - errors: `FLAM_ERROR_INDEX` where the range leaves the dimension; `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_narrow(
    const flam_tensor *input, int64_t dim, int64_t start, int64_t length);

/** A view without dimensions of size 1.
 *
 * - `input`: any tensor.
 * - `dim`: which dimensions to drop where their size is 1; default: all.
 * - returns: a view.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_squeeze(
    const flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim);

/** A view with a new dimension of size 1.
 *
 * - `input`: any tensor.
 * - `dim`: where the new dimension stands in the result; negative from the end.
 * - returns: a view.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_unsqueeze(const flam_tensor *input, int64_t dim);

/** Options of `flam_flatten`. */
typedef struct flam_flatten_options {
  size_t struct_size; /**< sizeof(flam_flatten_options) */
  int64_t start_dim FLAM_DEFAULT(0); /**< first dimension to merge; default 0 */
  int64_t end_dim FLAM_DEFAULT(-1); /**< last dimension to merge; default -1 */
} flam_flatten_options;

/** Merges a range of dimensions into one.
 *
 * - `input`: any tensor.
 * - returns: a view where possible, else a copy; 1-d for a 0-d operand.
 * - errors: `FLAM_ERROR_INDEX` for dimensions out of range or order.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_flatten(
    const flam_tensor *input, const flam_flatten_options *options);

/** The tensor itself where it is contiguous in C order, else a contiguous copy.
 *
 * - `input`: any tensor.
 * - returns: a contiguous tensor of the same shape.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY` or `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_TORCH("Tensor")
FLAM_API flam_tensor *flam_contiguous(const flam_tensor *input);

/** A copy with memory of its own; gradients flow through it.
 *
 * - `input`: any tensor.
 * - returns: shape, dtype, device and dense layout of `input`.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY` or `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_clone(const flam_tensor *input);

/** The same memory without history: no gradient flows through it.
 *
 * - `input`: any tensor.
 * - returns: a tensor that shares `input`'s memory and does not require grad.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_detach(const flam_tensor *input);

/** Splits one dimension into several.
 *
 * - `input`: any tensor.
 * - `dim`: the dimension to split.
 * - `sizes`: what it becomes; one entry may be -1 and is inferred.
 * - returns: a view.
 * - errors: `FLAM_ERROR_INDEX` for `dim`; `FLAM_ERROR_SHAPE` where the product differs from the
 *   dimension's size.
 */
FLAM_TORCH("torch Tensor")
FLAM_LAYER("Unflatten([dim=], unflattened_size=[sizes])")
FLAM_API FLAM_VIEW flam_tensor *flam_unflatten(
    const flam_tensor *input, int64_t dim, const int64_t *sizes, size_t n_sizes);

/** All windows of a dimension; they stand in a new last dimension.
 *
 * - `input`: any tensor.
 * - `dimension`: the dimension that windows slide along.
 * - `size`: elements of a window.
 * - `step`: distance of neighbouring windows, at least 1.
 * - returns: a view with `(n - size) / step + 1` windows along `dimension` and a last dimension of
 *   `size`.
 * - errors: `FLAM_ERROR_INDEX` for `dimension`; `FLAM_ERROR_INVALID_ARGUMENT` for a window beyond
 *   the dimension.
 */
FLAM_TORCH("Tensor.unfold")
FLAM_API FLAM_VIEW flam_tensor *flam_unfold_dim(
    const flam_tensor *input, int64_t dimension, int64_t size, int64_t step);

/** Options of `flam_diagonal_scatter` and `flam_diagonal`. */
typedef struct flam_diagonal_options {
  size_t struct_size; /**< sizeof(flam_diagonal_options) */
  /** which diagonal: above the main one where positive; default 0 */
  int64_t offset FLAM_DEFAULT(0);
  int64_t dim1 FLAM_DEFAULT(0); /**< rows; default 0 */
  int64_t dim2 FLAM_DEFAULT(1); /**< columns; default 1 */
} flam_diagonal_options;

/** A diagonal of two dimensions; it stands in a new last dimension.
 *
 * - `input`: at least 2-d.
 * - returns: a view without `dim1` and `dim2`, and with the diagonal last.
 * - errors: `FLAM_ERROR_INDEX` for dimensions out of range; `FLAM_ERROR_INVALID_ARGUMENT` where
 *   they are equal.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_diagonal(
    const flam_tensor *input, const flam_diagonal_options *options);

/** A view with dimensions moved; the others keep their order.
 *
 * - `input`: any tensor.
 * - `source`: the dimensions to move.
 * - `destination`: where they go, one for one.
 * - returns: a view.
 * - errors: `FLAM_ERROR_INDEX` for dimensions out of range; `FLAM_ERROR_SHAPE` where the lists
 *   differ in length or repeat a dimension.
 */
FLAM_TORCH("torch Tensor torch.moveaxis Tensor.moveaxis")
FLAM_API FLAM_VIEW flam_tensor *flam_movedim(
    const flam_tensor *input, const int64_t *source, size_t n_source, const int64_t *destination,
    size_t n_destination);

/** A view in the shape of another tensor.
 *
 * - `input`: any tensor whose strides allow the shape without a copy.
 * - `other`: any tensor of as many elements.
 * - returns: a view of `input`.
 * - errors: as `flam_view`.
 */
FLAM_TORCH("Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_view_as(const flam_tensor *input, const flam_tensor *other);

/** The same elements in the shape of another tensor.
 *
 * - `input`: any tensor.
 * - `other`: any tensor of as many elements.
 * - returns: a view where possible, else a copy.
 * - errors: `FLAM_ERROR_SHAPE` where the element counts differ.
 */
FLAM_TORCH("Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_reshape_as(const flam_tensor *input, const flam_tensor *other);

/** A view that repeats dimensions of size 1 up to another tensor's shape.
 *
 * - `input`: any tensor.
 * - `other`: any tensor.
 * - returns: a view in `other`'s shape.
 * - errors: `FLAM_ERROR_SHAPE` where a size other than 1 would change.
 */
FLAM_TORCH("Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_expand_as(const flam_tensor *input, const flam_tensor *other);

/** A view that repeats dimensions of size 1 up to a shape.
 *
 * - `input`: any tensor.
 * - `size`: the shape.
 * - returns: a view of shape `size`.
 * - errors: `FLAM_ERROR_SHAPE` where a size other than 1 would change.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_broadcast_to(
    const flam_tensor *input, const int64_t *size, size_t n_size);

/** All elements in one dimension.
 *
 * - `input`: any tensor.
 * - returns: [n], a view where possible, else a copy.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor *flam_ravel(const flam_tensor *input);

/** The tensor with at least one dimension.
 *
 * - `input`: any tensor.
 * - returns: `input`, or a view of shape [1].
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_VIEW flam_tensor *flam_atleast_1d(const flam_tensor *input);

/** The tensor with at least two dimensions.
 *
 * - `input`: any tensor.
 * - returns: `input`, or a view of shape [1, 1] or [1, n].
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_VIEW flam_tensor *flam_atleast_2d(const flam_tensor *input);

/** The tensor with at least three dimensions.
 *
 * - `input`: any tensor.
 * - returns: `input`, or a view of shape [1, 1, 1], [1, n, 1] or [n, m, 1].
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_VIEW flam_tensor *flam_atleast_3d(const flam_tensor *input);

/** Drops dimensions of size 1 in place.
 *
 * - `input`: the tensor to change.
 * - `dim`: which dimensions to drop where their size is 1; default: all.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range; `FLAM_ERROR_AUTOGRAD` for a leaf that
 *   requires grad.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_squeeze_(
    flam_tensor *input, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL), size_t n_dim);

/** Adds a dimension of size 1 in place.
 *
 * - `input`: the tensor to change.
 * - `dim`: where the new dimension stands; negative from the end of the result.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_AUTOGRAD` for a leaf that
 *   requires grad.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_unsqueeze_(flam_tensor *input, int64_t dim);

/** Exchanges two dimensions in place.
 *
 * - `input`: the tensor to change.
 * - `dim0`: the first dimension.
 * - `dim1`: the second dimension.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range; `FLAM_ERROR_AUTOGRAD` for a leaf that
 *   requires grad.
 */
FLAM_TORCH("Tensor Tensor.swapaxes_ Tensor.swapdims_")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_transpose_(flam_tensor *input, int64_t dim0, int64_t dim1);

/** Transposes a matrix in place.
 *
 * - `input`: at most 2-d.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_SHAPE` for more than two dimensions; `FLAM_ERROR_AUTOGRAD` for a leaf that
 *   requires grad.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_t_(flam_tensor *input);

#ifdef __cplusplus
}
#endif
#endif
