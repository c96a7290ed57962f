/* Elementwise operations of two operands, with broadcasting and type promotion.
 * namespace: ops
 *
 * `flam_add_f64(x, 0.5)`, `flam_mul_i64_(x, 2)` and their like take a number as the other operand:
 * it takes part in promotion by its category only, as a Python number does in PyTorch, and so does
 * `flam_scalar_f64` and its like wherever a tensor is taken. A 0-d cpu tensor may meet operands of
 * another device. Beside f16 and bf16, sums, products and quotients take the number in f32.
 */
#ifndef FLAMBEAU_BINARY_H
#define FLAMBEAU_BINARY_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a quotient is rounded; unspecified: not at all. */
typedef int32_t flam_rounding;
enum { FLAM_ROUNDING_UNSPECIFIED = 0, FLAM_ROUNDING_TRUNC = 1, FLAM_ROUNDING_FLOOR = 2 };

/** Sum, `input + other` elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_add(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Sum with a factor, `input + alpha * other` elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - `alpha`: factor of `other`; default 1. Must be integral where the result is integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DTYPE` for `alpha`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_EXTENDS(flam_add)
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_add_scaled(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other,
    FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

/** Difference, `input - other` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE` for bool, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.subtract Tensor.subtract")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sub(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Difference with a factor, `input - alpha * other` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - `alpha`: factor of `other`; default 1. Must be integral where the result is integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE` for bool and for `alpha`,
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_EXTENDS(flam_sub)
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sub_scaled(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other,
    FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

/** Product, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.multiply Tensor.multiply")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_mul(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Reversed difference, `other - input` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_rsub(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Reversed difference with a factor, `other - alpha * input` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - `alpha`: factor of `input`; default 1. Must be integral where the result is integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_EXTENDS(flam_rsub)
FLAM_API flam_tensor *flam_rsub_scaled(
    const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other,
    FLAM_KEYWORD double alpha FLAM_DEFAULT(1));

/** Quotient, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape; the promoted dtype, or the default dtype where that is not
 *   floating point.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.divide Tensor.divide torch.true_divide Tensor.true_divide")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_div(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Quotient that may be rounded, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - `rounding_mode`: towards zero (`FLAM_ROUNDING_TRUNC`) or downwards (`FLAM_ROUNDING_FLOOR`);
 *   default: the exact quotient.
 * - returns: the broadcast shape; the promoted dtype, where that is integral and `rounding_mode` is
 *   not given the default dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an integer divided by 0 on the cpu, `FLAM_ERROR_DTYPE` for
 *   bool with a rounding mode.
 */
FLAM_EXTENDS(flam_div)
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_div_rounded(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other,
    FLAM_KEYWORD flam_rounding rounding_mode FLAM_DEFAULT(FLAM_ROUNDING_UNSPECIFIED));

/** Quotient rounded downwards, elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an integer divided by 0 on the cpu, `FLAM_ERROR_DTYPE` where
 *   both are bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_floor_divide(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** `input - other * floor(input / other)` elementwise: the remainder with the sign of `other`, as
 * Python's `%`.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an integer modulo 0 on the cpu, `FLAM_ERROR_DTYPE` where both
 *   are bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_remainder(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** `input - other * trunc(input / other)` elementwise: the remainder with the sign of `input`, as
 * C's `fmod`.
 *
 * - `input`: any shape; any dtype but bool.
 * - `other`: shape that broadcasts with `input`'s; any dtype but bool.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an integer modulo 0 on the cpu, `FLAM_ERROR_DTYPE` where both
 *   are bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_fmod(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** `input` to the power of `exponent`, elementwise. Integers to negative powers are 0 unless the
 * base is 1 or -1.
 *
 * - `input`: any shape and dtype.
 * - `exponent`: shape that broadcasts with `input`'s; any dtype; of complex numbers a whole number
 *   or half of 1 or -1.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an integral tensor to a negative integral number,
 *   `FLAM_ERROR_DTYPE` where both are bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_pow(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *exponent);

/** `other` to the power of `input`, elementwise: `flam_pow` in the reverse order, which also takes
 * a number as the base.
 *
 * - `input`: any shape and dtype: the exponent.
 * - `other`: shape that broadcasts with `input`'s; any dtype: the base.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: those of `flam_pow`.
 */
FLAM_API flam_tensor *flam_rpow(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) const flam_tensor *other);

/** Greater of two elements; NaN where either is NaN. Where they are equal each gets half of the
 * gradient.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.max Tensor.max")
FLAM_API FLAM_OUT flam_tensor *flam_maximum(const flam_tensor *input, const flam_tensor *other);

/** Lesser of two elements; NaN where either is NaN. Where they are equal each gets half of the
 * gradient.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.min Tensor.min")
FLAM_API FLAM_OUT flam_tensor *flam_minimum(const flam_tensor *input, const flam_tensor *other);

/** Greater of two elements; a NaN is ignored unless both are.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_fmax(const flam_tensor *input, const flam_tensor *other);

/** Lesser of two elements; a NaN is ignored unless both are.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_fmin(const flam_tensor *input, const flam_tensor *other);

/** Angle of the vector (`other`, `input`) in radians, elementwise, in [-pi, pi].
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape; the promoted dtype, or the default dtype where that is not
 *   floating point.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.arctan2 Tensor.arctan2")
FLAM_AUTOCAST("cuda=widest")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_atan2(
    const flam_tensor *input, const flam_tensor *other);

/** Whether both elements are not 0.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_logical_and(
    const flam_tensor *input, const flam_tensor *other);

/** Whether at least one element is not 0.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_logical_or(
    const flam_tensor *input, const flam_tensor *other);

/** Whether exactly one element is not 0.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_logical_xor(
    const flam_tensor *input, const flam_tensor *other);

/** Bitwise and of two elements; of bool the logical one.
 *
 * - `input`: any shape; bool or integral.
 * - `other`: shape that broadcasts with `input`'s; bool or integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_bitwise_and(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Bitwise or of two elements; of bool the logical one.
 *
 * - `input`: any shape; bool or integral.
 * - `other`: shape that broadcasts with `input`'s; bool or integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_bitwise_or(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Bitwise exclusive or of two elements; of bool the logical one.
 *
 * - `input`: any shape; bool or integral.
 * - `other`: shape that broadcasts with `input`'s; bool or integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_bitwise_xor(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(i64) FLAM_OR_NUMBER const flam_tensor *other);

/** `input` shifted left by `other` bits; 0 where that is negative or as wide as the dtype.
 *
 * - `input`: any shape; integral.
 * - `other`: shape that broadcasts with `input`'s; integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for bool and floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_bitwise_left_shift(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(i64) FLAM_OR_NUMBER const flam_tensor *other);

/** `input` shifted right by `other` bits, keeping the sign; -1 or 0 where that is negative or as
 * wide as the dtype.
 *
 * - `input`: any shape; integral.
 * - `other`: shape that broadcasts with `input`'s; integral.
 * - returns: the broadcast shape, the promoted dtype.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` for bool and floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_bitwise_right_shift(
    FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NUMBER(i64) FLAM_OR_NUMBER const flam_tensor *other);

#ifdef __cplusplus
}
#endif
#endif
