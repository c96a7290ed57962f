/* Elementwise operations of three operands: choosing, limiting, interpolating.
 * namespace: ops
 *
 * A number is passed as a wrapped number (`flam_scalar_f64` and friends), which never widens a
 * tensor within its category.
 */
#ifndef FLAMBEAU_TERNARY_H
#define FLAMBEAU_TERNARY_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Elements of `input` where `condition` holds, else of `other`.
 *
 * - `condition`: any shape; bool.
 * - `input`: shape that broadcasts with the others'; any dtype.
 * - `other`: shape that broadcasts with the others'; any dtype.
 * - returns: the broadcast shape, the promoted dtype of `input` and `other`.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DTYPE` where
 *   `condition` is not bool; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_where(
    const flam_tensor *condition, FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Elements limited to a range; where `min` exceeds `max` the result is `max`. NaN stays NaN.
 *
 * - `input`: any shape and dtype.
 * - `min`: lower bound that broadcasts with `input`, or none; default none.
 * - `max`: upper bound that broadcasts with `input`, or none; default none.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` without any bound, or with numbers between which an
 *   integral dtype has no value; `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.clip Tensor.clip")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_clamp(
    const flam_tensor *input,
    FLAM_NULLABLE FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *min FLAM_DEFAULT(NULL),
    FLAM_NULLABLE FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *max FLAM_DEFAULT(NULL));

/** Elements not below a bound. NaN stays NaN.
 *
 * - `input`: any shape and dtype.
 * - `min`: bound that broadcasts with `input`.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number beyond all of an integral dtype;
 *   `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_clamp_min(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *min);

/** Elements not above a bound. NaN stays NaN.
 *
 * - `input`: any shape and dtype.
 * - `max`: bound that broadcasts with `input`.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a number beyond all of an integral dtype;
 *   `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_clamp_max(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *max);

/** `input` with `value` wherever `mask` holds.
 *
 * - `input`: any shape and dtype.
 * - `mask`: shape that broadcasts with `input`'s; bool.
 * - `value`: number or 0-d tensor, converted to `input`'s dtype.
 * - returns: the broadcast shape, dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `mask` is not bool; `FLAM_ERROR_SHAPE` where `value` has
 *   dimensions or the shapes do not broadcast; `FLAM_ERROR_INVALID_ARGUMENT` where the dtype has no
 *   value for a number; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE flam_tensor *flam_masked_fill(
    const flam_tensor *input, const flam_tensor *mask,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *value);

/** Linear interpolation, `input + weight * (end - input)` elementwise.
 *
 * - `input`: value at weight 0; floating point.
 * - `end`: value at weight 1; shape that broadcasts, dtype of `input`.
 * - `weight`: number or tensor that broadcasts.
 * - returns: the broadcast shape, dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where dtypes differ or are not floating point; `FLAM_ERROR_SHAPE`,
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_lerp(
    const flam_tensor *input, const flam_tensor *end,
    FLAM_NUMBER(f64) FLAM_OR_NUMBER const flam_tensor *weight);

/** `input + value * tensor1 * tensor2` elementwise.
 *
 * - `input`: any shape and dtype.
 * - `tensor1`: shape that broadcasts with the others'.
 * - `tensor2`: shape that broadcasts with the others'.
 * - `value`: factor; default 1. Must be integral where the result is integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for a fractional
 *   `value` of integers.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_addcmul(
    const flam_tensor *input, const flam_tensor *tensor1, const flam_tensor *tensor2,
    FLAM_KEYWORD double value FLAM_DEFAULT(1));

/** `input + value * tensor1 / tensor2` elementwise.
 *
 * - `input`: any shape and dtype.
 * - `tensor1`: shape that broadcasts with the others'.
 * - `tensor2`: shape that broadcasts with the others'.
 * - `value`: factor; default 1. Must be integral where the result is integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for a fractional
 *   `value` of integers or all operands are integral.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_addcdiv(
    const flam_tensor *input, const flam_tensor *tensor1, const flam_tensor *tensor2,
    FLAM_KEYWORD double value FLAM_DEFAULT(1));

#ifdef __cplusplus
}
#endif
#endif
