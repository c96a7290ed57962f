/* Linear algebra: factorizations of matrices, and what they answer: solutions, inverses,
 * determinants, ranks, norms of matrices.
 *
 * Matrices are the last two dimensions, batches the others. A GPU factors them by cuSOLVER; without
 * it, many small ones and those of other devices are waited for, copied to the host and their
 * factors back. Products run where tensors are. Errors of dtype: f32 and f64; convert others first.
 * namespace: ops
 */
#ifndef FLAMBEAU_LINALG_H
#define FLAMBEAU_LINALG_H

#include "flambeau/common.h"
#include "flambeau/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Determinant.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - returns: [...]; 1 where n is 0.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 2.2.4.
 */
FLAM_TORCH("torch.linalg.det torch.det Tensor.det")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_det(const flam_tensor *A);

/** Sign of the determinant and logarithm of its magnitude.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `out_sign`: [...]: 1, -1 or 0; carries no gradient.
 * - `out_logabsdet`: [...]; -inf where the matrix is singular.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 2.2.4.
 */
FLAM_TORCH("torch.linalg.slogdet torch.slogdet Tensor.slogdet")
FLAM_API FLAM_BLOCKS flam_status
flam_linalg_slogdet(const flam_tensor *A, flam_tensor **out_sign, flam_tensor **out_logabsdet);

/** Logarithm of the determinant.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - returns: [...]; NaN where the determinant is negative, -inf where it is 0.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS flam_tensor *flam_logdet(const flam_tensor *A);

/** Inverse.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - returns: shape of `A`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_LINALG` naming the first matrix that is singular.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 2.2.3.
 */
FLAM_TORCH("torch.linalg.inv torch.inverse Tensor.inverse")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_inv(const flam_tensor *A);

/** Inverse, with a number per matrix that says whether there is one.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `check_errors`: whether a singular matrix is an error; default false.
 * - `out_inverse`: shape of `A`; not to be used where info is not 0.
 * - `out_info`: [...] int32: 0, or which pivot is 0, from 1.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_LINALG` where `check_errors` and a matrix is singular.
 */
FLAM_TORCH("torch.linalg.inv_ex")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_inv_ex(
    const flam_tensor *A, FLAM_KEYWORD flam_bool check_errors FLAM_DEFAULT(0),
    flam_tensor **out_inverse, flam_tensor **out_info);

/** Solution of a square system of equations, by LU with row pivots.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `B`: [..., n, k], or [n] or [..., n] as one column per matrix of `A`, dtype of `A`; leading
 *   sizes broadcast with `A`'s. Where `left` is false: [..., k, n].
 * - `left`: whether `A X = B` is solved, else `X A = B`; default true.
 * - returns: the broadcast shape of `B`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_LINALG` naming the first matrix that is singular.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 2.3.1.
 */
FLAM_TORCH("torch.linalg.solve")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_solve(
    const flam_tensor *A, const flam_tensor *B, FLAM_KEYWORD flam_bool left FLAM_DEFAULT(1));

/** Options of `flam_linalg_solve_ex`. */
typedef struct flam_linalg_solve_ex_options {
  size_t struct_size; /**< sizeof(flam_linalg_solve_ex_options) */
  flam_bool left FLAM_DEFAULT(1); /**< whether `A X = B` is solved, else `X A = B`; default true */
  /** whether a singular matrix is an error; default false */
  flam_bool check_errors FLAM_DEFAULT(0);
} flam_linalg_solve_ex_options;

/** Solution of a square system, with a number per matrix that says whether there is one.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `B`: [..., n, k], or [n] or [..., n] as one column per matrix of `A`, dtype of `A`; leading
 *   sizes broadcast with `A`'s. Where `left` is false: [..., k, n].
 * - `out_result`: the broadcast shape of `B`; not to be used where info is not 0.
 * - `out_info`: [...] int32: 0, or which pivot is 0, from 1.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_LINALG` where `check_errors` and a matrix is singular.
 */
FLAM_TORCH("torch.linalg.solve_ex")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_solve_ex(
    const flam_tensor *A, const flam_tensor *B, flam_tensor **out_result, flam_tensor **out_info,
    const flam_linalg_solve_ex_options *options FLAM_KEYWORD);

/** Options of `flam_linalg_solve_triangular`. */
typedef struct flam_linalg_solve_triangular_options {
  size_t struct_size; /**< sizeof(flam_linalg_solve_triangular_options) */
  flam_bool left FLAM_DEFAULT(1); /**< whether `A X = B` is solved, else `X A = B`; default true */
  /** whether the diagonal counts as 1 and is not read; default false */
  flam_bool unitriangular FLAM_DEFAULT(0);
} flam_linalg_solve_triangular_options;

/** Solution of a system of equations whose matrix is a triangle.
 *
 * - `A`: [..., n, n], f32 or f64; the other triangle is not read.
 * - `B`: [..., n, k], dtype of `A`; leading sizes broadcast with `A`'s. Where `left` is false:
 *   [..., k, n].
 * - `upper`: whether `A` is an upper triangle, else a lower one.
 * - returns: the broadcast shape of `B`; not finite where a diagonal element is 0.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 2.3.1.
 */
FLAM_TORCH("torch.linalg.solve_triangular")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_solve_triangular(
    const flam_tensor *A, const flam_tensor *B, flam_bool upper FLAM_KEYWORD,
    const flam_linalg_solve_triangular_options *options);

/** Cholesky factor of a symmetric positive-definite matrix, `A = L L^T`.
 *
 * - `A`: [..., n, n], f32 or f64; one triangle is read.
 * - `upper`: whether the result is `L^T` and the upper triangle is read; default false.
 * - returns: shape of `A`, 0 beyond the triangle.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_LINALG` naming the first matrix that is not positive-definite.
 * - source: of the gradient: Murray, 2016, arXiv 1602.07527.
 */
FLAM_TORCH("torch.linalg.cholesky torch.cholesky Tensor.cholesky")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_cholesky(
    const flam_tensor *A, flam_bool upper FLAM_DEFAULT(0));

/** Options of `flam_linalg_cholesky_ex`. */
typedef struct flam_linalg_cholesky_ex_options {
  size_t struct_size; /**< sizeof(flam_linalg_cholesky_ex_options) */
  /** whether the result is `L^T` and the upper triangle is read; default false */
  flam_bool upper FLAM_DEFAULT(0);
  /** whether a matrix that is not positive-definite is an error; default false */
  flam_bool check_errors FLAM_DEFAULT(0);
} flam_linalg_cholesky_ex_options;

/** Cholesky factor, with a number per matrix that says whether there is one.
 *
 * - `A`: [..., n, n], f32 or f64; one triangle is read.
 * - `out_L`: shape of `A`; not to be used where info is not 0.
 * - `out_info`: [...] int32: 0, or the order of the first minor that is not positive.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_LINALG` where `check_errors` and a factor does not exist.
 */
FLAM_TORCH("torch.linalg.cholesky_ex")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_cholesky_ex(
    const flam_tensor *A, flam_tensor **out_L, flam_tensor **out_info,
    const flam_linalg_cholesky_ex_options *options FLAM_KEYWORD);

/** Inverse of `L L^T`.
 *
 * - `L`: [..., n, n], f32 or f64: a lower triangle.
 * - `upper`: whether `L` is an upper triangle U instead, of `U^T U`; default false.
 * - returns: shape of `L`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_cholesky_inverse(
    const flam_tensor *L, flam_bool upper FLAM_DEFAULT(0));

/** Solution of `L L^T X = B`.
 *
 * - `B`: [..., n, k], f32 or f64.
 * - `L`: [..., n, n], dtype of `B`: a lower triangle; leading sizes broadcast.
 * - `upper`: whether `L` is an upper triangle U instead, of `U^T U`; default false.
 * - returns: the broadcast shape of `B`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_cholesky_solve(
    const flam_tensor *B, const flam_tensor *L, flam_bool upper FLAM_DEFAULT(0));

/** Orthogonal matrix and upper triangle whose product is the matrix, by Householder's reflections.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `mode`: "reduced" (default): [..., m, k] and [..., k, n], k the lesser of m and n; "complete":
 *   [..., m, m] and [..., m, n], without gradient where m > n; "r": R as reduced, Q [0], without
 *   gradient.
 * - `out_Q`: columns are orthonormal.
 * - `out_R`: 0 below the diagonal.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` below two dimensions; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another mode.
 * - source: of the gradient: Walter, Lehmann and Lamour, 2012, On evaluating higher-order
 *   derivatives of the QR decomposition; Roberts and Roberts, 2020, arXiv 2009.10071.
 */
FLAM_TORCH("torch.linalg.qr")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_qr(
    const flam_tensor *A, const char *mode FLAM_DEFAULT("reduced"), flam_tensor **out_Q,
    flam_tensor **out_R);

/** Eigenvalues and eigenvectors of a symmetric matrix, `A = V diag(values) V^T`.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `UPLO`: which triangle is read, "L" (default) or "U".
 * - `out_eigenvalues`: [..., n], rising.
 * - `out_eigenvectors`: [..., n, n]: its columns; their gradient exists where no eigenvalues are
 *   equal.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another `UPLO`; `FLAM_ERROR_LINALG` where `A` is not finite.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 3.1.
 */
FLAM_TORCH("torch.linalg.eigh")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_eigh(
    const flam_tensor *A, const char *UPLO FLAM_DEFAULT("L"), flam_tensor **out_eigenvalues,
    flam_tensor **out_eigenvectors);

/** Eigenvalues of a symmetric matrix.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `UPLO`: which triangle is read, "L" (default) or "U".
 * - returns: [..., n], rising.
 * - errors: as `flam_linalg_eigh`.
 */
FLAM_TORCH("torch.linalg.eigvalsh")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_eigvalsh(
    const flam_tensor *A, const char *UPLO FLAM_DEFAULT("L"));

/** Options of `flam_linalg_svd`. */
typedef struct flam_linalg_svd_options {
  size_t struct_size; /**< sizeof(flam_linalg_svd_options) */
  /** whether U is [..., m, m] and Vh [..., n, n]; default true */
  flam_bool full_matrices FLAM_DEFAULT(1);
  /** "gesvd", "gesvdj" or "gesvda", accepted for tensors that are not on the cpu; all take the
   *  same way; default none */
  const char *driver FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_linalg_svd_options;

/** Singular value decomposition, `A = U diag(S) Vh`.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `out_U`: [..., m, m], or [..., m, k], k the lesser of m and n.
 * - `out_S`: [..., k], falling.
 * - `out_Vh`: [..., n, n], or [..., k, n].
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` below two dimensions; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_LINALG` where
 *   `A` is not finite; `FLAM_ERROR_INVALID_ARGUMENT` for a driver on the cpu.
 * - source: of the gradient: Giles, 2008, Collected Matrix Derivative Results, 3.2; Seeger, Hetzel,
 *   Dai, Meissner and Lawrence, 2017, arXiv 1710.08717.
 */
FLAM_TORCH("torch.linalg.svd")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_svd(
    const flam_tensor *A, flam_tensor **out_U, flam_tensor **out_S, flam_tensor **out_Vh,
    const flam_linalg_svd_options *options);

/** Options of `flam_svd_lowrank`. */
typedef struct flam_svd_lowrank_options {
  size_t struct_size; /**< sizeof(flam_svd_lowrank_options) */
  int64_t q FLAM_DEFAULT(6); /**< how many singular values; default 6 */
  int64_t niter FLAM_DEFAULT(2); /**< rounds of power iteration, 1000 at most; default 2 */
  /** what is taken off `A`, in a shape that broadcasts to its; default none */
  const flam_tensor *M FLAM_DEFAULT(NULL);
} flam_svd_lowrank_options;

/** The greatest singular values with their vectors, nearly: `A = U diag(S) V^T` where the rank of
 * `A` is at most `q`. Random vectors come from the default generator.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `out_U`: [..., m, k], k the least of m, n and `q`.
 * - `out_S`: [..., k], falling.
 * - `out_V`: [..., n, k].
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` below two dimensions; `FLAM_ERROR_INVALID_ARGUMENT` for a negative
 *   number; those of `flam_linalg_svd`.
 * - source: Halko, Martinsson and Tropp, 2009, arXiv 0909.4061, algorithms 4.4 and 5.1.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_status flam_svd_lowrank(
    const flam_tensor *A, flam_tensor **out_U, flam_tensor **out_S, flam_tensor **out_V,
    const flam_svd_lowrank_options *options);

/** Options of `flam_pca_lowrank`. */
typedef struct flam_pca_lowrank_options {
  size_t struct_size; /**< sizeof(flam_pca_lowrank_options) */
  /** how many components; default: the least of 6, m and n */
  const int64_t *q FLAM_DEFAULT(NULL);
  flam_bool center FLAM_DEFAULT(1); /**< whether the rows' mean is taken off; default true */
  int64_t niter FLAM_DEFAULT(2); /**< rounds of power iteration, 1000 at most; default 2 */
} flam_pca_lowrank_options;

/** Principal components of rows: `flam_svd_lowrank` of a matrix without the mean of its rows.
 *
 * - `A`: [..., m, n], m samples; f32 or f64.
 * - `out_U`: [..., m, q].
 * - `out_S`: [..., q], falling.
 * - `out_V`: [..., n, q], the directions.
 * - returns: `FLAM_OK`.
 * - errors: those of `flam_svd_lowrank`; `FLAM_ERROR_INVALID_ARGUMENT` for `q` above m or n.
 * - source: Halko, Martinsson and Tropp, 2009, arXiv 0909.4061.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_status flam_pca_lowrank(
    const flam_tensor *A, flam_tensor **out_U, flam_tensor **out_S, flam_tensor **out_V,
    const flam_pca_lowrank_options *options);

/** Singular values.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `driver`: "gesvd", "gesvdj" or "gesvda", accepted for tensors that are not on the cpu; all take
 *   the same way; default none.
 * - returns: [..., k], falling, k the lesser of m and n.
 * - errors: as `flam_linalg_svd`.
 */
FLAM_TORCH("torch.linalg.svdvals")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_svdvals(
    const flam_tensor *A, FLAM_KEYWORD FLAM_NULLABLE const char *driver FLAM_DEFAULT(NULL));

/** Options of `flam_linalg_pinv` and `flam_linalg_matrix_rank`. */
typedef struct flam_linalg_tolerance_options {
  size_t struct_size; /**< sizeof(flam_linalg_tolerance_options) */
  const double *atol FLAM_DEFAULT(NULL); /**< values up to it count as 0; default 0 */
  /** values up to it times the greatest count as 0; default 0 where `atol` is above 0, else the
   *  greater of m and n times machine epsilon */
  const double *rtol FLAM_DEFAULT(NULL);
  /** whether `A` is taken for symmetric and its lower triangle read; default false */
  flam_bool hermitian FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_linalg_tolerance_options;

/** Moore and Penrose's inverse.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - returns: [..., n, m].
 * - errors: as `flam_linalg_svd`.
 * - source: of the gradient: Golub and Pereyra, 1973, SIAM J. Numer. Anal. 10.
 */
FLAM_TORCH("torch.linalg.pinv")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_linalg_pinv(
    const flam_tensor *A, const flam_linalg_tolerance_options *options FLAM_KEYWORD);

/** Number of singular values that are not 0.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - returns: [...] int64.
 * - errors: as `flam_linalg_svd`.
 */
FLAM_TORCH("torch.linalg.matrix_rank")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_linalg_matrix_rank(
    const flam_tensor *A, const flam_linalg_tolerance_options *options FLAM_KEYWORD);

/** Options of `flam_linalg_lstsq`. */
typedef struct flam_linalg_lstsq_options {
  size_t struct_size; /**< sizeof(flam_linalg_lstsq_options) */
  /** values up to it times the greatest count as 0; default: the greater of m and n times the
   *  distance from 1 to the next number */
  const double *rcond FLAM_DEFAULT(NULL);
  /** "gelsy" (default on the cpu; by orthogonal factors), "gels" (the same, default elsewhere;
   *  `A` has full rank), "gelsd" or "gelss" (by singular values) */
  const char *driver FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_linalg_lstsq_options;

/** The shortest solutions with the least squares of `A X - B`.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `B`: [..., m, k], or [..., m] as one column per matrix of `A`, dtype of `A`; leading sizes
 *   broadcast.
 * - `out_solution`: [..., n, k].
 * - `out_residuals`: [..., k]: sums of squares where m > n, all ranks are n and the driver is not
 *   "gelsy", else [0].
 * - `out_rank`: [...] int64; [0] for "gels".
 * - `out_singular_values`: [..., k] for "gelsd" and "gelss", else [0].
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another
 *   driver; `FLAM_ERROR_LINALG` where "gels" finds a lower rank.
 * - source: of the gradient: Golub and Pereyra, 1973, SIAM J. Numer. Anal. 10.
 */
FLAM_TORCH("torch.linalg.lstsq")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_lstsq(
    const flam_tensor *A, const flam_tensor *B, flam_tensor **out_solution,
    flam_tensor **out_residuals, flam_tensor **out_rank, flam_tensor **out_singular_values,
    const flam_linalg_lstsq_options *options);

/** Product of a matrix with itself, `n` factors.
 *
 * - `A`: [..., m, m], floating point; f32 or f64 where `n` is negative.
 * - `n`: how many; 0 makes the identity, a negative one takes the inverse.
 * - returns: shape of `A`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_LINALG` for a
 *   singular matrix and a negative `n`; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch.linalg.matrix_power torch.matrix_power Tensor.matrix_power")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_linalg_matrix_power(
    const flam_tensor *A, int64_t n);

/** Product of matrices, in the order with the fewest multiplications.
 *
 * - `tensors`: at least two matrices; the first and the last may be vectors.
 * - returns: 2-d; 1-d where one end is a vector, 0-d where both are.
 * - errors: `FLAM_ERROR_SHAPE` where neighbours do not fit; `FLAM_ERROR_DTYPE` where dtypes differ;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for fewer than two matrices.
 * - source: Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, 15.2.
 */
FLAM_TORCH("torch.linalg.multi_dot torch.chain_matmul")
FLAM_AUTOCAST("cuda=lower")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_multi_dot(
    FLAM_VARIADIC flam_tensor *const *tensors, size_t n_tensors);

/** Cross product of vectors of 3 along a dimension.
 *
 * - `input`: size 3 along `dim`.
 * - `other`: broadcasts with `input`; size 3 along `dim`.
 * - `dim`: the dimension of the vectors; default -1.
 * - returns: the broadcast shape.
 * - errors: `FLAM_ERROR_SHAPE` where the size is not 3; `FLAM_ERROR_INDEX`.
 */
FLAM_TORCH("torch.linalg.cross")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_cross(
    const flam_tensor *input, const flam_tensor *other, FLAM_KEYWORD int64_t dim FLAM_DEFAULT(-1));

/** Norm of a matrix by number: 1 and -1 the greatest and least sum of a column's magnitudes, inf
 * and -inf of a row's, 2 and -2 the greatest and least singular value.
 *
 * - `A`: at least 2-d, floating point; f32 or f64 for 2 and -2.
 * - `ord`: which norm.
 * - `dim`: the two dimensions of the matrices; default the last two.
 * - `dtype`: of the computation and the result; default: `A`'s.
 * - returns: `A`'s shape without the two dimensions.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another `ord`;
 *   `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch.linalg.matrix_norm")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_matrix_norm(
    const flam_tensor *A, double ord, const flam_reduce_options *options);

/** Options of `flam_linalg_matrix_norm_by_name`. */
typedef struct flam_linalg_matrix_norm_by_name_options {
  size_t struct_size; /**< sizeof(flam_linalg_matrix_norm_by_name_options) */
  const char *ord FLAM_DEFAULT("fro"); /**< which norm; default "fro" */
  /** the two dimensions of the matrices; default the last two */
  const int64_t *dim FLAM_DEFAULT(NULL);
  size_t n_dim;
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  /** of the computation and the result; default: `A`'s */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
} flam_linalg_matrix_norm_by_name_options;

/** Norm of a matrix by name: "fro" the root of the sum of squares, "nuc" the sum of singular
 * values.
 *
 * - `A`: at least 2-d, floating point; f32 or f64 for "nuc".
 * - returns: `A`'s shape without the two dimensions.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another name; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch.linalg.matrix_norm")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_matrix_norm_by_name(
    const flam_tensor *A, const flam_linalg_matrix_norm_by_name_options *options);

/** Options of `flam_linalg_norm`. */
typedef struct flam_linalg_norm_options {
  size_t struct_size; /**< sizeof(flam_linalg_norm_options) */
  /** of a vector where `dim` names one dimension or `A` has one, else of a matrix; default: the
   *  root of the sum of all squares */
  const double *ord FLAM_DEFAULT(NULL);
  /** one dimension or two; default: all of a vector or matrix */
  const int64_t *dim FLAM_DEFAULT(NULL);
  size_t n_dim;
  /** whether reduced dimensions stay with size 1; default false */
  flam_bool keepdim FLAM_DEFAULT(0);
  /** of the computation and the result; default: `A`'s */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
} flam_linalg_norm_options;

/** Norm of a vector or a matrix.
 *
 * - `A`: any shape, floating point.
 * - returns: `A`'s shape without the dimensions.
 * - errors: `FLAM_ERROR_SHAPE` where `ord` is given without `dim` and `A` has more than two
 *   dimensions; `FLAM_ERROR_INVALID_ARGUMENT` for another `ord`; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch.linalg.norm")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_norm(
    const flam_tensor *A, const flam_linalg_norm_options *options);

/** Norm of a matrix by name, "fro" or "nuc", wherever it stands in a tensor.
 *
 * - `A`: 2-d where `dim` is not given, floating point.
 * - `ord`: which norm.
 * - `dim`: two dimensions; default: all of a matrix.
 * - `dtype`: of the computation and the result; default: `A`'s.
 * - returns: `A`'s shape without the dimensions.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another name; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch.linalg.norm")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_norm_by_name(
    const flam_tensor *A, const char *ord, const flam_reduce_options *options);

/** Norm by name: "fro" the root of the sum of squares over any dimensions, "nuc" the sum of a
 * matrix's singular values.
 *
 * - `input`: any shape, floating point; for "nuc" 2-d where `dim` is not given, f32 or f64.
 * - `p`: which norm.
 * - `dim`: the dimensions; default: all.
 * - `dtype`: of the computation and the result; default: `input`'s.
 * - returns: `input`'s shape without the dimensions.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another name; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_TORCH("torch.norm Tensor.norm")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_norm_by_name(
    const flam_tensor *input, const char *p, const flam_reduce_options *options);

/** How much a solution depends on errors of the matrix: its norm times that of its inverse.
 *
 * - `A`: [..., n, n], or [..., m, n] for the default, 2 and -2; f32 or f64.
 * - `p`: order of the norm: 1, -1, 2, -2, inf or -inf; default 2.
 * - returns: [...]; inf where a matrix is singular.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another order;
 *   `FLAM_ERROR_DTYPE`; `FLAM_ERROR_LINALG`.
 */
FLAM_TORCH("torch.linalg.cond")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_linalg_cond(
    const flam_tensor *A, FLAM_NULLABLE const double *p FLAM_DEFAULT(NULL));

/** How much a solution depends on errors of the matrix, by a norm with a name.
 *
 * - `A`: [..., n, n], f32 or f64.
 * - `p`: "fro" or "nuc".
 * - returns: [...]; inf where a matrix is singular.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another name.
 */
FLAM_TORCH("torch.linalg.cond")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS FLAM_OUT flam_tensor *flam_linalg_cond_by_name(
    const flam_tensor *A, const char *p);

/** A lower and an upper triangle in one matrix, and the row pivots: `A = P L U`.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `pivot`: whether rows change places; default true. Without, nothing is supported.
 * - `out_LU`: shape of `A`: U, and below its diagonal L, whose own diagonal is 1.
 * - `out_pivots`: [..., k] int32: with which row, from 1, each row changed places; k the lesser of
 *   m and n.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_LINALG` where U has a 0 on its
 *   diagonal; `FLAM_ERROR_UNSUPPORTED` without `pivot`.
 * - source: of the gradient: Walter, Lehmann and Lamour, 2012.
 */
FLAM_TORCH("torch.linalg.lu_factor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_lu_factor(
    const flam_tensor *A, FLAM_KEYWORD flam_bool pivot FLAM_DEFAULT(1), flam_tensor **out_LU,
    flam_tensor **out_pivots);

/** Options of `flam_linalg_lu_factor_ex`. */
typedef struct flam_linalg_lu_factor_ex_options {
  size_t struct_size; /**< sizeof(flam_linalg_lu_factor_ex_options) */
  /** whether rows change places; default true. Without, nothing is supported. */
  flam_bool pivot FLAM_DEFAULT(1);
  /** whether a 0 on U's diagonal is an error; default false */
  flam_bool check_errors FLAM_DEFAULT(0);
} flam_linalg_lu_factor_ex_options;

/** The factors of `flam_linalg_lu_factor`, with a number per matrix that says whether U is
 * singular.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `out_LU`: shape of `A`.
 * - `out_pivots`: [..., k] int32.
 * - `out_info`: [...] int32: 0, or the first diagonal element of U that is 0, from 1.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_linalg_lu_factor`.
 * - source: of the gradient: Walter, Lehmann and Lamour, 2012.
 */
FLAM_TORCH("torch.linalg.lu_factor_ex")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_lu_factor_ex(
    const flam_tensor *A, flam_tensor **out_LU, flam_tensor **out_pivots, flam_tensor **out_info,
    const flam_linalg_lu_factor_ex_options *options FLAM_KEYWORD);

/** A permutation, a lower and an upper triangle whose product is the matrix.
 *
 * - `A`: [..., m, n], f32 or f64.
 * - `pivot`: whether rows change places; default true. Without, nothing is supported.
 * - `out_P`: [..., m, m].
 * - `out_L`: [..., m, k], 1 on its diagonal; k the lesser of m and n.
 * - `out_U`: [..., k, n].
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_UNSUPPORTED` without `pivot`.
 * - source: of the gradient: Walter, Lehmann and Lamour, 2012.
 */
FLAM_TORCH("torch.linalg.lu")
FLAM_API FLAM_BLOCKS flam_status flam_linalg_lu(
    const flam_tensor *A, FLAM_KEYWORD flam_bool pivot FLAM_DEFAULT(1), flam_tensor **out_P,
    flam_tensor **out_L, flam_tensor **out_U);

/** Options of `flam_linalg_lu_solve`. */
typedef struct flam_linalg_lu_solve_options {
  size_t struct_size; /**< sizeof(flam_linalg_lu_solve_options) */
  flam_bool left FLAM_DEFAULT(1); /**< whether `A X = B` is solved, else `X A = B`; default true */
  flam_bool adjoint FLAM_DEFAULT(0); /**< whether `A^T` takes the place of `A`; default false */
} flam_linalg_lu_solve_options;

/** Solution of a system of equations whose matrix `flam_linalg_lu_factor` has factored.
 *
 * - `LU`: [..., n, n], f32 or f64.
 * - `pivots`: [..., n] int32.
 * - `B`: [..., n, k], dtype of `LU`; leading sizes broadcast. Where `left` is false: [..., k, n].
 * - returns: the broadcast shape of `B`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch.linalg.lu_solve")
FLAM_AUTOCAST("f32")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_lu_solve(
    const flam_tensor *LU, const flam_tensor *pivots, const flam_tensor *B,
    const flam_linalg_lu_solve_options *options FLAM_KEYWORD);

/** Sum of products of two vectors along a dimension.
 *
 * - `x`: size n along `dim`.
 * - `y`: broadcasts with `x`.
 * - `dim`: the dimension of the vectors; default -1.
 * - returns: the broadcast shape without `dim`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`; `FLAM_ERROR_DTYPE` where the dtypes differ.
 */
FLAM_TORCH("torch.linalg.vecdot")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_linalg_vecdot(
    const flam_tensor *x, const flam_tensor *y, FLAM_KEYWORD int64_t dim FLAM_DEFAULT(-1));

/** The exponential of matrices.
 *
 * - `input`: [..., n, n], floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where the matrices are not square; `FLAM_ERROR_DTYPE`.
 * - source: scaling, a polynomial of degree 18 and squaring: Moler and Van Loan, 2003.
 */
FLAM_TORCH("torch.linalg.matrix_exp torch.matrix_exp Tensor.matrix_exp")
FLAM_API FLAM_BLOCKS flam_tensor *flam_linalg_matrix_exp(const flam_tensor *input);

/** The first columns of a product of reflections, I - tau v v^T each.
 *
 * - `input`: [..., m, n], f32 or f64: column i holds v_i below its diagonal, where v_i is 1.
 * - `tau`: [..., k] with k not above n, nor n above m; dtype of `input`.
 * - returns: shape of `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch.linalg.householder_product torch.orgqr Tensor.orgqr")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_OUT flam_tensor *flam_linalg_householder_product(
    const flam_tensor *input, const flam_tensor *tau);

/** Options of `flam_ormqr`. */
typedef struct flam_ormqr_options {
  size_t struct_size; /**< sizeof(flam_ormqr_options) */
  flam_bool left FLAM_DEFAULT(1); /**< whether the reflections stand on the left; default true */
  flam_bool transpose FLAM_DEFAULT(0); /**< whether their product is transposed; default false */
} flam_ormqr_options;

/** A matrix times the product of reflections that `flam_geqrf` found.
 *
 * - `input`: [..., n, k], f32 or f64: the reflections, as `flam_linalg_householder_product` has
 *   them.
 * - `tau`: [..., k]; dtype of `input`.
 * - `other`: the matrix.
 * - returns: shape of `other`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_ormqr(
    const flam_tensor *input, const flam_tensor *tau, const flam_tensor *other,
    const flam_ormqr_options *options);

/** The QR decomposition as reflections, LAPACK's form of it.
 *
 * - `input`: [..., m, n], f32 or f64.
 * - `out_a`: shape of `input`: R on and above the diagonal, the reflections below.
 * - `out_tau`: [..., min(m, n)]: their factors.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_UNSUPPORTED` where a gradient is
 *   asked for.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_BLOCKS flam_status
flam_geqrf(const flam_tensor *input, flam_tensor **out_a, flam_tensor **out_tau);

/** Options of `flam_lu_unpack`. */
typedef struct flam_lu_unpack_options {
  size_t struct_size; /**< sizeof(flam_lu_unpack_options) */
  flam_bool unpack_data FLAM_DEFAULT(1); /**< whether the triangles are wanted; default true */
  flam_bool unpack_pivots FLAM_DEFAULT(1); /**< whether the permutation is wanted; default true */
} flam_lu_unpack_options;

/** The factors that `flam_linalg_lu_factor` packs into one matrix: a permutation, a lower and an
 * upper triangle.
 *
 * - `LU_data`: [..., m, n], f32 or f64.
 * - `LU_pivots`: [..., min(m, n)] int32, from 1.
 * - `out_P`: [..., m, m], empty where it is not wanted.
 * - `out_L`: [..., m, min(m, n)], empty where it is not wanted.
 * - `out_U`: [..., min(m, n), n], empty where it is not wanted.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for pivots out of
 *   range.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_status flam_lu_unpack(
    const flam_tensor *LU_data, const flam_tensor *LU_pivots, flam_tensor **out_P,
    flam_tensor **out_L, flam_tensor **out_U, const flam_lu_unpack_options *options);

#ifdef __cplusplus
}
#endif
#endif
