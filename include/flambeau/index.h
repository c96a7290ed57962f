/* Reading and writing at indices: gather, scatter, masks, and Python's `x[...]`.
 * namespace: ops
 *
 * Indices are int64 or int32 and count from the end where negative, unless a function says
 * otherwise. On the cpu an index out of range is an error that names it; on a device it is one
 * where the host knows the values.
 */
#ifndef FLAMBEAU_INDEX_H
#define FLAMBEAU_INDEX_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What one item of an index expression `x[a, b, ...]` is. */
typedef int32_t flam_index_kind;
enum {
  FLAM_INDEX_UNSPECIFIED = 0,
  FLAM_INDEX_INT = 1, /* one index; the dimension disappears */
  FLAM_INDEX_SLICE = 2, /* start, stop, step */
  FLAM_INDEX_ELLIPSIS = 3, /* all dimensions that no other item takes */
  FLAM_INDEX_NEWAXIS = 4, /* a new dimension of size 1 */
  FLAM_INDEX_BOOL = 5, /* a new dimension of size 1 for true, 0 for false */
  FLAM_INDEX_TENSOR = 6 /* an integer tensor, or a mask over as many dimensions as it has */
};

/** Python's `input[items]`: a view where only integers, slices, ellipsis and new axes are used,
 * else a copy.
 *
 * - `input`: any tensor.
 * - `kinds`: what each item is.
 * - `bounds`: three numbers per item: start, stop (past an end is fine: INT64_MAX for none) and
 *   step of a slice;
 *   the index, twice unused; the truth value, twice unused; all unused for other kinds.
 * - `tensors`: one per item of kind `FLAM_INDEX_TENSOR`, in order; int64, int32, bool or uint8 (a
 *   mask).
 * - returns: what the items select; dimensions of tensors that stand apart come first.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range or too many items; `FLAM_ERROR_SHAPE` for
 *   tensors that do
 *   not broadcast; `FLAM_ERROR_DTYPE` for tensors of another dtype; `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a step
 *   below 1.
 */
FLAM_API FLAM_VIEW FLAM_BLOCKS flam_tensor *flam_index(
    const flam_tensor *input, FLAM_ENCODED const int64_t *kinds, size_t n_kinds,
    FLAM_ENCODED const int64_t *bounds, size_t n_bounds,
    FLAM_NULLABLE flam_tensor *const *tensors FLAM_DEFAULT(NULL), size_t n_tensors);

/** Options of `flam_index_put_`. */
typedef struct flam_index_put_options {
  size_t struct_size; /**< sizeof(flam_index_put_options) */
  /** the index tensors, as for `flam_index`; default none */
  flam_tensor *const *tensors FLAM_DEFAULT(NULL);
  size_t n_tensors;
  /** whether to add instead of replacing; equal indices then add up; default false */
  flam_bool accumulate FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_index_put_options;

/** Python's `input[items] = values`, in place.
 *
 * - `input`: the tensor to write to.
 * - `kinds`: what each item is, as for `flam_index`.
 * - `bounds`: three numbers per item, as for `flam_index`.
 * - `values`: a number, or a tensor whose shape broadcasts to what the items select.
 * - returns: `input`.
 * - errors: as `flam_index`; `FLAM_ERROR_SHAPE` where `values` do not broadcast;
 *   `FLAM_ERROR_DTYPE` where tensors name the places and `values` is a tensor of another dtype,
 *   but for a single value under masks; `FLAM_ERROR_INVALID_ARGUMENT` where the dtype has no value
 *   for a number; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_BORROWED(input)
FLAM_API FLAM_BLOCKS flam_tensor *flam_index_put_(
    flam_tensor *input, FLAM_ENCODED const int64_t *kinds, size_t n_kinds,
    FLAM_ENCODED const int64_t *bounds, size_t n_bounds,
    const flam_tensor *values FLAM_AFTER(tensors), const flam_index_put_options *options);

/** The slices of a dimension that an index names.
 *
 * - `input`: any tensor.
 * - `dim`: the dimension that `index` counts.
 * - `index`: [n] or 0-d, int64 or int32.
 * - returns: `input`'s shape with size n along `dim`.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE` for an index of more
 *   dimensions; `FLAM_ERROR_DTYPE` where `index` is neither i32 nor i64.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_index_select(
    const flam_tensor *input, int64_t dim, const flam_tensor *index);

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
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_index_add(
    const flam_tensor *input, int64_t dim, const flam_tensor *index, const flam_tensor *source,
    FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

/** Replaces the slices that an index names.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension that `index` counts.
 * - `index`: [n] or 0-d, int64 or int32.
 * - `source`: `input`'s shape with size n along `dim`; `input`'s dtype.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=widest")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_index_copy(
    const flam_tensor *input, int64_t dim, const flam_tensor *index, const flam_tensor *source);

/** Sets the slices that an index names to one value.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension that `index` counts.
 * - `index`: [n] or 0-d, int64 or int32.
 * - `value`: a number or 0-d tensor.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE` where `value` is not
 *   0-d; `FLAM_ERROR_DTYPE` where `index` is neither i32 nor i64; `FLAM_ERROR_INVALID_ARGUMENT`
 *   where the dtype has no value for a number.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE flam_tensor *flam_index_fill(
    const flam_tensor *input, int64_t dim, const flam_tensor *index,
    FLAM_OR_NUMBER const flam_tensor *value);

/** Elements picked along a dimension: `out[i][j] = input[index[i][j]][j]` for `dim` 0.
 *
 * - `input`: any tensor.
 * - `dim`: the dimension that `index` counts.
 * - `index`: as many dimensions as `input`, not greater than it but along `dim`; int64 or int32.
 * - returns: `index`'s shape, `input`'s dtype.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_gather(
    const flam_tensor *input, int64_t dim, const flam_tensor *index);

/** Elements written along a dimension: `out[index[i][j]][j] = src[i][j]` for `dim` 0, elsewhere
 * `input`.
 *
 * - `input`: any tensor.
 * - `dim`: the dimension that `index` counts.
 * - `index`: as many dimensions as `input`, not greater than it but along `dim`; int64 or int32.
 * - `src`: a number, or a tensor not smaller than `index` of `input`'s dtype.
 * - returns: shape and dtype of `input`. Where an index occurs twice, one of the values stays.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where the dtype has no value for a number.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_scatter(
    const flam_tensor *input, int64_t dim, const flam_tensor *index,
    FLAM_OR_NUMBER const flam_tensor *src);

/** Elements added along a dimension: `out[index[i][j]][j] += src[i][j]` for `dim` 0; equal indices
 * add up.
 *
 * - `input`: any tensor.
 * - `dim`: the dimension that `index` counts.
 * - `index`: as many dimensions as `input`, not greater than it but along `dim`; int64 or int32.
 * - `src`: not smaller than `index`; `input`'s dtype.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_scatter_add(
    const flam_tensor *input, int64_t dim, const flam_tensor *index, const flam_tensor *src);

/** The elements where a mask is true, in C order.
 *
 * - `input`: any shape that broadcasts with `mask`'s.
 * - `mask`: bool.
 * - returns: 1-d; how long depends on the mask's values.
 * - errors: `FLAM_ERROR_DTYPE` where `mask` is not bool; `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_masked_select(
    const flam_tensor *input, const flam_tensor *mask);

/** Writes the elements of a source, in order, where a mask is true.
 *
 * - `input`: any tensor.
 * - `mask`: bool; broadcasts to `input`'s shape.
 * - `source`: at least as many elements as there are true ones; `input`'s dtype.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE` where the source is too short.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS FLAM_INPLACE flam_tensor *flam_masked_scatter(
    const flam_tensor *input, const flam_tensor *mask, const flam_tensor *source);

/** Where the elements are not zero.
 *
 * - `input`: any dtype.
 * - returns: [n, dimensions of `input`], int64, in C order.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor torch.argwhere Tensor.argwhere")
FLAM_API FLAM_BLOCKS flam_tensor *flam_nonzero(const flam_tensor *input);

/** Where the elements are not zero, one tensor per dimension.
 *
 * - `condition`: any dtype.
 * - returns: as many [n] int64 tensors as `condition` has dimensions; one for a 0-d tensor.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.where")
FLAM_API FLAM_BLOCKS flam_tensor_list *flam_nonzero_tuple(const flam_tensor *condition);

/** Places in a flattened tensor, as one index for each of its dimensions.
 *
 * - `indices`: any shape; integers. Places beyond the shape count from its start again, negative
 *   ones from its end.
 * - `shape`: sizes of the tensor.
 * - returns: a tensor for each size, int64, shape of `indices`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative size, and a size of 0
 *   where there are indices.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor_list *flam_unravel_index(
    const flam_tensor *indices, const int64_t *shape, size_t n_shape);

/** Elements of the flattened tensor.
 *
 * - `input`: any tensor.
 * - `index`: any shape; int64 or int32, counts `input`'s elements in C order.
 * - returns: `index`'s shape, `input`'s dtype.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_take(const flam_tensor *input, const flam_tensor *index);

/** Elements picked along a dimension; shapes broadcast but for that dimension.
 *
 * - `input`: any tensor.
 * - `indices`: int64; as many dimensions as `input`.
 * - `dim`: the dimension that `indices` count; default: the flattened tensor.
 * - returns: `indices`' shape, broadcast.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_take_along_dim(
    const flam_tensor *input, const flam_tensor *indices,
    FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL));

/** Rows of a table, one per index.
 *
 * - `input`: indices, any shape; int64 or int32, not negative.
 * - `weight`: [n, d], the table.
 * - `padding_idx`: a row whose gradient stays zero; negative from the end; default: none.
 * - returns: `input`'s shape and a last dimension of d.
 * - errors: `FLAM_ERROR_INDEX` for an index out of range; `FLAM_ERROR_SHAPE` where `weight` is not
 *   2-d; `FLAM_ERROR_DTYPE` where `input` is not integral; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_embedding(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const int64_t *padding_idx FLAM_DEFAULT(NULL));

/** A 1 at the place of each class, 0 elsewhere.
 *
 * - `input`: class numbers, any shape; int64.
 * - `num_classes`: size of the new last dimension; default: one more than the greatest class.
 * - returns: int64, `input`'s shape and a last dimension of `num_classes`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not int64; `FLAM_ERROR_INVALID_ARGUMENT` for a
 *   negative class or one that is not below `num_classes`.
 */
FLAM_TORCH("F")
FLAM_API FLAM_BLOCKS flam_tensor *flam_one_hot(
    const flam_tensor *input, int64_t num_classes FLAM_DEFAULT(-1));

#ifdef __cplusplus
}
#endif
#endif
