/* Products and shapes of vectors and matrices beside `matmul.h`: outer, Kronecker and cross
 * products, diagonals, distances.
 * namespace: ops
 */
#ifndef FLAMBEAU_MATRIX_H
#define FLAMBEAU_MATRIX_H

#include "flambeau/common.h"
#include "flambeau/matmul.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether `flam_cdist` makes distances of products of matrices: faster, less exact. */
typedef int32_t flam_cdist_mode;
enum {
  FLAM_CDIST_UNSPECIFIED = 0,
  FLAM_CDIST_USE_MM_FOR_EUCLID_DIST_IF_NECESSARY = 1, /* for more than 25 rows */
  FLAM_CDIST_USE_MM_FOR_EUCLID_DIST = 2,
  FLAM_CDIST_DONOT_USE_MM_FOR_EUCLID_DIST = 3
};

/** `beta * input + alpha * (mat @ vec)`.
 *
 * - `input`: broadcasts to [n]; not read where `beta` is 0.
 * - `mat`: [n, m], dtype of `input`.
 * - `vec`: [m], dtype of `input`.
 * - returns: [n].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=rest cuda=lower")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_addmv(
    const flam_tensor *input, const flam_tensor *mat, const flam_tensor *vec,
    const flam_addmm_options *options FLAM_KEYWORD);

/** `beta * input + alpha * outer(vec1, vec2)`.
 *
 * - `input`: broadcasts to [n, m]; not read where `beta` is 0.
 * - `vec1`: [n].
 * - `vec2`: [m].
 * - `beta`: factor of `input`; default 1. Must be integral where the result is integral.
 * - `alpha`: factor of the product; default 1. Must be integral where the result is integral.
 * - returns: [n, m].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=lower")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_addr(
    const flam_tensor *input, const flam_tensor *vec1, const flam_tensor *vec2,
    const flam_addmm_options *options FLAM_KEYWORD);

/** `beta * input + alpha * sum(batch1 @ batch2)`, the products summed over the batch.
 *
 * - `input`: broadcasts to [n, m]; not read where `beta` is 0.
 * - `batch1`: [b, n, k], dtype of `input`.
 * - `batch2`: [b, k, m], dtype of `input`.
 * - `alpha`: factor of the products; default 1.
 * - returns: [n, m].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_addbmm(
    const flam_tensor *input, const flam_tensor *batch1, const flam_tensor *batch2,
    const flam_addmm_options *options FLAM_KEYWORD);

/** Product summed over the last dimensions of both; where one is 0-d, the plain product.
 *
 * - `input`: [..., k].
 * - `other`: [..., k], dtype of `input`.
 * - returns: the other dimensions of `input`, then those of `other`.
 * - errors: `FLAM_ERROR_SHAPE` where the last sizes differ; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_inner(const flam_tensor *input, const flam_tensor *other);

/** Sum of products of two vectors, the first of them conjugated.
 *
 * - `input`: [n].
 * - `other`: [n], dtype of `input`.
 * - returns: 0-d.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_vdot(const flam_tensor *input, const flam_tensor *other);

/** Kronecker product: each element of `input` times all of `other`.
 *
 * - `input`: any shape.
 * - `other`: any shape; the shorter shape is filled with ones in front.
 * - returns: sizes multiplied; the promoted dtype.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_kron(const flam_tensor *input, const flam_tensor *other);

/** Cross product of vectors of 3 along a dimension.
 *
 * - `input`: size 3 along `dim`.
 * - `other`: broadcasts with `input`; size 3 along `dim`.
 * - `dim`: the dimension of the vectors; default: the first of size 3.
 * - returns: the broadcast shape.
 * - errors: `FLAM_ERROR_SHAPE` where the size is not 3; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_cross(
    const flam_tensor *input, const flam_tensor *other,
    FLAM_NULLABLE const int64_t *dim FLAM_DEFAULT(NULL));

/** Sum of the diagonal of a matrix.
 *
 * - `input`: [n, m]; any dtype, bool and integers are summed in int64.
 * - returns: 0-d.
 * - errors: `FLAM_ERROR_SHAPE` where `input` is not 2-d.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32 cuda=rest")
FLAM_API flam_tensor *flam_trace(const flam_tensor *input);

/** A matrix with a vector on a diagonal, or the diagonal of a matrix.
 *
 * - `input`: 1-d or 2-d.
 * - `diagonal`: which one: 0 the main, above 0 above it, below 0 below; default 0.
 * - returns: 2-d for a vector, 1-d for a matrix (a copy).
 * - errors: `FLAM_ERROR_SHAPE` for more dimensions.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_diag(
    const flam_tensor *input, int64_t diagonal FLAM_DEFAULT(0));

/** Options of `flam_diag_embed`. */
typedef struct flam_diag_embed_options {
  size_t struct_size; /**< sizeof(flam_diag_embed_options) */
  /** which diagonal: 0 the main, above 0 above it, below 0 below; default 0 */
  int64_t offset FLAM_DEFAULT(0);
  int64_t dim1 FLAM_DEFAULT(-2); /**< where the matrices' rows stand in the result; default -2 */
  int64_t dim2 FLAM_DEFAULT(-1); /**< where their columns stand; default -1 */
} flam_diag_embed_options;

/** Matrices with the last dimension on a diagonal.
 *
 * - `input`: at least 1-d.
 * - returns: one dimension more than `input`, 0 off the diagonal.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range; `FLAM_ERROR_INVALID_ARGUMENT` where
 *   both are the same; `FLAM_ERROR_SHAPE` for a size that 64 bits do not hold.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_diag_embed(
    const flam_tensor *input, const flam_diag_embed_options *options);

/** A matrix with all elements on a diagonal.
 *
 * - `input`: any shape.
 * - `offset`: which diagonal: 0 the main, above 0 above it, below 0 below; default 0.
 * - returns: 2-d, square.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_diagflat(const flam_tensor *input, int64_t offset FLAM_DEFAULT(0));

/** Options of `flam_tril_indices` and `flam_triu_indices`. */
typedef struct flam_triangle_indices_options {
  size_t struct_size; /**< sizeof(flam_triangle_indices_options) */
  /** from which diagonal: 0 the main, above 0 above it, below 0 below; default 0 */
  int64_t offset FLAM_DEFAULT(0);
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_I64); /**< of the result; default int64 */
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
} flam_triangle_indices_options;

/** Positions of the lower triangle of a matrix, row by row.
 *
 * - `row`: number of rows.
 * - `col`: number of columns.
 * - `offset`: up to which diagonal: 0 the main, above 0 above it, below 0 below; default 0.
 * - returns: [2, n]: rows and columns.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size; `FLAM_ERROR_SHAPE` for one that 64
 *   bits do not hold; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_tensor *flam_tril_indices(
    int64_t row, int64_t col, const flam_triangle_indices_options *options);

/** Positions of the upper triangle of a matrix, row by row.
 *
 * - `row`: number of rows.
 * - `col`: number of columns.
 * - returns: [2, n]: rows and columns.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative size; `FLAM_ERROR_SHAPE` for one that 64
 *   bits do not hold; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_tensor *flam_triu_indices(
    int64_t row, int64_t col, const flam_triangle_indices_options *options);

/** Options of `flam_cdist`. */
typedef struct flam_cdist_options {
  size_t struct_size; /**< sizeof(flam_cdist_options) */
  double p FLAM_DEFAULT(2); /**< order of the norm, not negative; default 2 */
  /** how those of `p` 2 are made; default: by products for more than 25 rows */
  flam_cdist_mode compute_mode FLAM_DEFAULT(FLAM_CDIST_USE_MM_FOR_EUCLID_DIST_IF_NECESSARY);
  int32_t reserved; /**< 0 */
} flam_cdist_options;

/** Distances between all pairs of rows.
 *
 * - `x1`: [..., n, d]; floating point.
 * - `x2`: [..., m, d]; dtype of `x1`; leading sizes broadcast.
 * - returns: [..., n, m].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative
 *   `p`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("f32")
FLAM_API flam_tensor *flam_cdist(
    const flam_tensor *x1, const flam_tensor *x2, const flam_cdist_options *options);

/** Norm of the difference of two tensors.
 *
 * - `input`: floating point.
 * - `other`: broadcasts with `input`.
 * - `p`: order of the norm; default 2.
 * - returns: 0-d.
 * - errors: `FLAM_ERROR_DTYPE`, `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API flam_tensor *flam_dist(
    const flam_tensor *input, const flam_tensor *other, double p FLAM_DEFAULT(2));

/** Slices along a dimension, scaled down where their norm is greater than allowed.
 *
 * - `input`: at least 2-d; floating point.
 * - `p`: order of the norm, above 0.
 * - `dim`: the dimension whose slices are scaled.
 * - `maxnorm`: the greatest norm that stays.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_INDEX` for a dimension
 *   out of range; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_renorm(
    const flam_tensor *input, double p, int64_t dim, double maxnorm);

/** A matrix of matrices along the main diagonal, 0 elsewhere.
 *
 * - `tensors`: at most 2-d; a vector is one row.
 * - returns: 2-d, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` for more dimensions.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_block_diag(FLAM_VARIADIC flam_tensor *const *tensors, size_t n_tensors);

/** Options of `flam_vander`. */
typedef struct flam_vander_options {
  size_t struct_size; /**< sizeof(flam_vander_options) */
  const int64_t *N FLAM_DEFAULT(NULL); /**< number of columns; default n */
  /** whether the powers rise from left to right; default false */
  flam_bool increasing FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_vander_options;

/** Powers of the elements of a vector, one row per element.
 *
 * - `x`: [n].
 * - returns: [n, `N`].
 * - errors: `FLAM_ERROR_SHAPE` where `x` is not 1-d; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("cuda=rest")
FLAM_API flam_tensor *flam_vander(const flam_tensor *x, const flam_vander_options *options);

#ifdef __cplusplus
}
#endif
#endif
