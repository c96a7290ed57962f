/* Special functions, and elementwise ones that look at single numbers: signs, NaN, infinities.
 * namespace: ops
 */
#ifndef FLAMBEAU_SPECIAL_H
#define FLAMBEAU_SPECIAL_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Inverse of the error function; infinite at -1 and 1, NaN outside.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor torch.special.erfinv")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_erfinv(const flam_tensor *input);

/** Logarithm of the absolute value of the gamma function.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor torch.special.gammaln")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_lgamma(const flam_tensor *input);

/** Logarithmic derivative of the gamma function.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 6.3.5, 6.3.7 and 6.3.18.
 */
FLAM_TORCH("torch Tensor torch.special.digamma torch.special.psi")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_digamma(const flam_tensor *input);

/** Derivatives of the digamma function.
 *
 * - `n`: which derivative, not negative; 0 is digamma itself.
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative `n`.
 * - source: Abramowitz and Stegun, 1964, 6.4.10 and 23.2.9.
 */
FLAM_TORCH("torch torch.special.polygamma")
FLAM_API FLAM_OUT flam_tensor *flam_polygamma(int64_t n, const flam_tensor *input);

/** Logarithm of the odds, `log(x / (1 - x))` elementwise.
 *
 * - `input`: any shape and dtype.
 * - `eps`: `input` is kept between `eps` and `1 - eps`; default: it is not, and is NaN outside [0,
 *   1].
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor torch.special.logit")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_logit(
    const flam_tensor *input, FLAM_NULLABLE const double *eps FLAM_DEFAULT(NULL));

/** `sin(pi x) / (pi x)` elementwise, 1 at 0.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor torch.special.sinc")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sinc(const flam_tensor *input);

/** Degrees as radians.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_deg2rad(const flam_tensor *input);

/** Radians as degrees.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_rad2deg(const flam_tensor *input);

/** Whether the sign is negative, of -0 too.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`, bool.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_signbit(const flam_tensor *input);

/** Where the elements are infinity.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`, bool.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_isposinf(const flam_tensor *input);

/** Where the elements are -infinity.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`, bool.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_isneginf(const flam_tensor *input);

/** Options of `flam_nan_to_num`. */
typedef struct flam_nan_to_num_options {
  size_t struct_size; /**< sizeof(flam_nan_to_num_options) */
  const double *nan FLAM_DEFAULT(NULL); /**< what stands for NaN; default 0 */
  /** what stands for infinity; default: the greatest number of the dtype */
  const double *posinf FLAM_DEFAULT(NULL);
  /** what stands for -infinity; default: the least number of the dtype */
  const double *neginf FLAM_DEFAULT(NULL);
} flam_nan_to_num_options;

/** Elements with numbers in the place of NaN and infinities.
 *
 * - `input`: any shape and dtype.
 * - returns: shape and dtype of `input`.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_nan_to_num(
    const flam_tensor *input, const flam_nan_to_num_options *options);

/** The step function: 0 below 0, 1 above 0, `values` at 0.
 *
 * - `input`: any dtype.
 * - `values`: broadcasts with `input`; its dtype.
 * - returns: the broadcast shape, dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where the dtypes differ; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_heaviside(
    const flam_tensor *input, const flam_tensor *values);

/** Magnitudes of one tensor with the signs of another.
 *
 * - `input`: any dtype.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_copysign(
    const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other);

/** `sqrt(x^2 + y^2)` elementwise, without overflow on the way.
 *
 * - `input`: any dtype.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_hypot(
    const flam_tensor *input, const flam_tensor *other);

/** `log(exp(x) + exp(y))` elementwise, without overflow.
 *
 * - `input`: any dtype.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_logaddexp(const flam_tensor *input, const flam_tensor *other);

/** `log2(2^x + 2^y)` elementwise, without overflow.
 *
 * - `input`: any dtype.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_logaddexp2(const flam_tensor *input, const flam_tensor *other);

/** `x log(y)` elementwise, 0 where `x` is 0 and `y` is a number.
 *
 * - `input`: any dtype.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.special.xlogy")
FLAM_AUTOCAST("cuda=rest")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_xlogy(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other);

/** `x 2^y` elementwise.
 *
 * - `input`: any dtype.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=rest")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_ldexp(
    const flam_tensor *input, const flam_tensor *other);

/** Powers, computed in float64.
 *
 * - `input`: a number or any tensor.
 * - `exponent`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape, f64.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_float_power(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *exponent);

#ifdef __cplusplus
}
#endif
#endif
