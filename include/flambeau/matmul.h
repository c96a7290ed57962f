/* Matrix products.
 * namespace: ops
 */
#ifndef FLAMBEAU_MATMUL_H
#define FLAMBEAU_MATMUL_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Matrix product with torch's rules for vectors, matrices and batches.
 *
 * - `input`: [k], [n, k] or [..., n, k].
 * - `other`: [k], [k, m] or [..., k, m]; batch dimensions broadcast with `input`'s.
 * - returns: [..., n, m] without the dimensions that a vector operand lacks.
 * - errors: `FLAM_ERROR_SHAPE` where the inner sizes differ or an operand is 0-d;
 *   `FLAM_ERROR_DTYPE` where the dtypes differ; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_matmul(
    const flam_tensor *input, const flam_tensor *other);

/** Affine map `input @ weight.T + bias`.
 *
 * - `input`: [..., k], floating point.
 * - `weight`: [m, k] or [k].
 * - `bias`: [m] or none.
 * - returns: [..., m].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_linear(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL));

/** Product of two matrices.
 *
 * - `input`: [n, k].
 * - `mat2`: [k, m], dtype of `input`.
 * - returns: [n, m].
 * - errors: `FLAM_ERROR_SHAPE` where an operand is not 2-d or the inner sizes differ;
 *   `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.spmm")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_mm(const flam_tensor *input, const flam_tensor *mat2);

/** Products of matrices, batch by batch; batches do not broadcast.
 *
 * - `input`: [b, n, k].
 * - `mat2`: [b, k, m], dtype of `input`.
 * - returns: [b, n, m].
 * - errors: `FLAM_ERROR_SHAPE` where an operand is not 3-d or sizes differ; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_bmm(const flam_tensor *input, const flam_tensor *mat2);

/** Product of a matrix and a vector.
 *
 * - `input`: [n, k].
 * - `vec`: [k], dtype of `input`.
 * - returns: [n].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=lower")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_mv(const flam_tensor *input, const flam_tensor *vec);

/** Sum of the products of two vectors' elements.
 *
 * - `input`: [k].
 * - `tensor`: [k], dtype of `input`.
 * - returns: 0-d.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_dot(const flam_tensor *input, const flam_tensor *tensor);

/** Outer product of two vectors.
 *
 * - `input`: [n].
 * - `vec2`: [m].
 * - returns: [n, m], the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where an operand is not 1-d; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.ger Tensor.ger")
FLAM_API FLAM_OUT flam_tensor *flam_outer(const flam_tensor *input, const flam_tensor *vec2);

/** Factors of a product that is added to a tensor. */
typedef struct flam_addmm_options {
  size_t struct_size; /**< sizeof(flam_addmm_options) */
  double beta FLAM_DEFAULT(1); /**< factor of `input`; default 1 */
  double alpha FLAM_DEFAULT(1); /**< factor of the product; default 1 */
} flam_addmm_options;

/** `beta * input + alpha * (mat1 @ mat2)`.
 *
 * - `input`: broadcasts to [n, m]; not read where `beta` is 0.
 * - `mat1`: [n, k], dtype of `input`.
 * - `mat2`: [k, m], dtype of `input`.
 * - returns: [n, m].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_addmm(
    const flam_tensor *input, const flam_tensor *mat1, const flam_tensor *mat2,
    const flam_addmm_options *options FLAM_KEYWORD);

/** `beta * input + alpha * (batch1 @ batch2)`, batch by batch.
 *
 * - `input`: broadcasts to [b, n, m]; not read where `beta` is 0.
 * - `batch1`: [b, n, k], dtype of `input`.
 * - `batch2`: [b, k, m], dtype of `input`.
 * - returns: [b, n, m].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("lower")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_baddbmm(
    const flam_tensor *input, const flam_tensor *batch1, const flam_tensor *batch2,
    const flam_addmm_options *options FLAM_KEYWORD);

/** `sum over i, j of input1[i] weight[o, i, j] input2[j] + bias[o]`.
 *
 * - `input1`: [..., i], floating point.
 * - `input2`: [..., j], the same leading sizes.
 * - `weight`: [o, i, j].
 * - `bias`: [o]; default none.
 * - returns: [..., o].
 * - errors: `FLAM_ERROR_SHAPE` naming what differs; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("cuda=widest")
FLAM_TORCH("F torch")
FLAM_API flam_tensor *flam_bilinear(
    const flam_tensor *input1, const flam_tensor *input2, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL));

#ifdef __cplusplus
}
#endif
#endif
