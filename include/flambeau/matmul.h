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
 * - errors: `FLAM_ERROR_SHAPE` where the inner sizes differ or an operand is 0-d; `FLAM_ERROR_DTYPE` where
 *   the dtypes differ; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_OUT flam_tensor *flam_matmul(
    const flam_tensor *input, const flam_tensor *other);

/** Affine map `input @ weight.T + bias`.
 *
 * - `input`: [..., k], floating point.
 * - `weight`: [m, k] or [k].
 * - `bias`: [m] or none.
 * - returns: [..., m].
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F") flam_tensor *flam_linear(
    const flam_tensor *input, const flam_tensor *weight,
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL));

#ifdef __cplusplus
}
#endif
#endif
