/* Elementwise operations of two operands, with broadcasting and type promotion.
 * namespace: ops
 *
 * An operand may be a wrapped number (`flam_scalar_f64` and friends): it takes part in promotion by its
 * category only, as a Python number does in PyTorch. A 0-d cpu tensor may meet operands of another device.
 */
#ifndef FLAMBEAU_BINARY_H
#define FLAMBEAU_BINARY_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sum, `input + alpha * other` elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - `alpha`: factor of `other`; default 1. Must be integral where the result is integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT flam_tensor *flam_add(
    const flam_tensor *input, const flam_tensor *other, FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

/** Difference, `input - alpha * other` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - `alpha`: factor of `other`; default 1.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE` for bool, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT flam_tensor *flam_sub(
    const flam_tensor *input, const flam_tensor *other, FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

/** Product, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor torch.multiply Tensor.multiply") FLAM_INPLACE
    FLAM_OUT flam_tensor *flam_mul(const flam_tensor *input, const flam_tensor *other);

#ifdef __cplusplus
}
#endif
#endif
