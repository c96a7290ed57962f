/* What numbers are made of: common divisors, neighbours, mantissas and exponents.
 * namespace: ops
 */
#ifndef FLAMBEAU_NUMERIC_H
#define FLAMBEAU_NUMERIC_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Greatest common divisor, elementwise; of 0 and 0 it is 0.
 *
 * - `input`: integral.
 * - `other`: integral; broadcasts with `input`.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` where the promoted
 *   dtype is not integral.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_gcd(
    const flam_tensor *input, const flam_tensor *other);

/** Least common multiple, elementwise; with 0 it is 0.
 *
 * - `input`: integral.
 * - `other`: integral; broadcasts with `input`.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` where the promoted
 *   dtype is not integral.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_lcm(
    const flam_tensor *input, const flam_tensor *other);

/** The next number that the dtype has after `input` on the way to `other`.
 *
 * - `input`: floating point.
 * - `other`: broadcasts with `input`.
 * - returns: the broadcast shape, the promoted dtype; its gradient is that of `input` where the two
 *   differ.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for other dtypes.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_nextafter(
    const flam_tensor *input, const flam_tensor *other);

/** Numbers as mantissas from one half up to 1 times powers of two; what is not finite and 0
 * have the exponent 0.
 *
 * - `input`: floating point.
 * - `out_mantissa`: shape and dtype of `input`.
 * - `out_exponent`: shape of `input`, i32.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status
flam_frexp(const flam_tensor *input, flam_tensor **out_mantissa, flam_tensor **out_exponent);

#ifdef __cplusplus
}
#endif
#endif
