/* Joining tensors, taking them apart and repeating them.
 * namespace: ops
 *
 * Joins copy and promote dtypes; parts are views of the whole.
 */
#ifndef FLAMBEAU_JOIN_H
#define FLAMBEAU_JOIN_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How `flam_meshgrid` orders the first two dimensions. */
typedef int32_t flam_meshgrid_indexing;
enum { FLAM_MESHGRID_UNSPECIFIED = 0, FLAM_MESHGRID_IJ = 1, FLAM_MESHGRID_XY = 2 };

/** Tensors one after another along a dimension they have.
 *
 * - `tensors`: at least one; equal shapes but for `dim`. Empty tensors of shape [0] are skipped.
 * - `dim`: the dimension; default 0.
 * - returns: the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where shapes differ; `FLAM_ERROR_INDEX` for `dim`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch torch.concat torch.concatenate")
FLAM_AUTOCAST("cpu=widest")
FLAM_API FLAM_OUT flam_tensor *flam_cat(
    flam_tensor *const *tensors, size_t n_tensors, int64_t dim FLAM_DEFAULT(0));

/** Tensors side by side along a new dimension.
 *
 * - `tensors`: at least one; equal shapes.
 * - `dim`: where the new dimension stands in the result; default 0.
 * - returns: the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where shapes differ; `FLAM_ERROR_INDEX` for `dim`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("cpu=widest")
FLAM_API FLAM_OUT flam_tensor *flam_stack(
    flam_tensor *const *tensors, size_t n_tensors, int64_t dim FLAM_DEFAULT(0));

/** Tensors joined column by column: along dimension 1, or 0 for vectors.
 *
 * - `tensors`: at least one; equal shapes but for that dimension.
 * - returns: the promoted dtype.
 * - errors: as `flam_cat`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("cpu=widest")
FLAM_API FLAM_OUT flam_tensor *flam_hstack(flam_tensor *const *tensors, size_t n_tensors);

/** Tensors joined row by row: along dimension 0, vectors as rows.
 *
 * - `tensors`: at least one; equal shapes but for that dimension.
 * - returns: the promoted dtype.
 * - errors: as `flam_cat`.
 */
FLAM_TORCH("torch torch.row_stack")
FLAM_AUTOCAST("cpu=widest")
FLAM_API FLAM_OUT flam_tensor *flam_vstack(flam_tensor *const *tensors, size_t n_tensors);

/** Tensors joined in depth: along dimension 2.
 *
 * - `tensors`: at least one; equal shapes but for that dimension.
 * - returns: the promoted dtype.
 * - errors: as `flam_cat`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("cpu=widest")
FLAM_API FLAM_OUT flam_tensor *flam_dstack(flam_tensor *const *tensors, size_t n_tensors);

/** Views of all tensors in their broadcast shape.
 *
 * - `tensors`: shapes that broadcast with each other.
 * - returns: one view per tensor.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_VIEW flam_tensor_list *flam_broadcast_tensors(
    FLAM_VARIADIC flam_tensor *const *tensors, size_t n_tensors);

/** Coordinate grids of vectors.
 *
 * - `tensors`: 1-d or 0-d, of one dtype.
 * - `indexing`: `FLAM_MESHGRID_XY` swaps the first two dimensions; default `FLAM_MESHGRID_IJ`.
 * - returns: one view per vector, in the shape of all sizes.
 * - errors: `FLAM_ERROR_SHAPE` for more than one dimension; `FLAM_ERROR_DTYPE` where dtypes differ;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_VIEW flam_tensor_list *flam_meshgrid(
    FLAM_VARIADIC flam_tensor *const *tensors, size_t n_tensors,
    FLAM_KEYWORD flam_meshgrid_indexing indexing FLAM_DEFAULT(FLAM_MESHGRID_IJ));

/** Parts of equal size; the last may be smaller.
 *
 * - `tensor`: at least 1-d.
 * - `split_size`: size of a part along `dim`.
 * - `dim`: the dimension to split; default 0.
 * - returns: views.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size, or 0 where the dimension is not
 *   empty; `FLAM_ERROR_SHAPE` for 0 dimensions; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_split(
    const flam_tensor *tensor, int64_t split_size, int64_t dim FLAM_DEFAULT(0));

/** Parts of given sizes.
 *
 * - `tensor`: at least 1-d.
 * - `split_sizes`: sizes along `dim`; they add up to the dimension's.
 * - `dim`: the dimension to split; default 0.
 * - returns: views.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the sizes are negative or do not add up;
 *   `FLAM_ERROR_SHAPE` for 0 dimensions; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH(
    "torch.split Tensor.split torch.split_with_sizes "
    "Tensor.split_with_sizes")
FLAM_API FLAM_VIEW flam_tensor_list *flam_split_with_sizes(
    const flam_tensor *tensor, const int64_t *split_sizes, size_t n_split_sizes,
    int64_t dim FLAM_DEFAULT(0));

/** A number of parts of equal size; the last may be smaller, and there may be fewer.
 *
 * - `input`: at least 1-d.
 * - `chunks`: how many parts.
 * - `dim`: the dimension to split; default 0.
 * - returns: views.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `chunks` is below 1; `FLAM_ERROR_SHAPE` for 0
 *   dimensions; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_chunk(
    const flam_tensor *input, int64_t chunks, int64_t dim FLAM_DEFAULT(0));

/** One view per index of a dimension.
 *
 * - `input`: at least 1-d.
 * - `dim`: the dimension that disappears; default 0.
 * - returns: views.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_VIEW flam_tensor_list *flam_unbind(
    const flam_tensor *input, int64_t dim FLAM_DEFAULT(0));

/** The elements in reverse order along dimensions.
 *
 * - `input`: any tensor.
 * - `dims`: the dimensions to reverse.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_flip(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *dims, size_t n_dims);

/** The columns in reverse order.
 *
 * - `input`: at least 2-d.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_SHAPE` for fewer dimensions.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_fliplr(const flam_tensor *input);

/** The rows in reverse order.
 *
 * - `input`: at least 1-d.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_SHAPE` for a 0-d tensor.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_flipud(const flam_tensor *input);

/** The elements moved along dimensions; what leaves at the end comes in at the start.
 *
 * - `input`: any tensor.
 * - `shifts`: by how many places, one per dimension.
 * - `dims`: the dimensions; default: the flattened tensor, by one shift.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_INDEX` for a dimension; `FLAM_ERROR_INVALID_ARGUMENT` where the lists
 *   differ in length.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_roll(
    const flam_tensor *input, const int64_t *shifts, size_t n_shifts,
    FLAM_NULLABLE const int64_t *dims FLAM_DEFAULT(NULL), size_t n_dims);

/** The tensor repeated along its dimensions.
 *
 * - `input`: any tensor.
 * - `repeats`: how often, per dimension of the result; not fewer than `input` has.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_SHAPE` for too few or negative numbers.
 */
FLAM_TORCH("Tensor")
FLAM_API flam_tensor *flam_repeat(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *repeats, size_t n_repeats);

/** The tensor repeated along its dimensions; missing numbers are 1.
 *
 * - `input`: any tensor.
 * - `dims`: how often, per dimension, the last ones named.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_SHAPE` for negative numbers.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_tile(
    const flam_tensor *input, FLAM_VARIADIC const int64_t *dims, size_t n_dims);

/** Every element (or slice) repeated, copies next to each other.
 *
 * - `input`: any tensor.
 * - `repeats`: how often each is repeated.
 * - `dim`: the dimension whose slices are repeated; default: elements of the flattened tensor.
 * - returns: a copy.
 * - errors: `FLAM_ERROR_INDEX` for `dim`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative number.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_repeat_interleave(
    const flam_tensor *input, int64_t repeats, FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL));

#ifdef __cplusplus
}
#endif
#endif
