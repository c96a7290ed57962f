/* Elementwise functions of one operand.
 * namespace: ops
 *
 * Floating results are within 2 units in the last place of the exact value; half types are computed
 * in f32 and rounded once.
 */
#ifndef FLAMBEAU_POINTWISE_H
#define FLAMBEAU_POINTWISE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Absolute value elementwise; its slope at 0 is 0.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape and dtype of `input`; of complex numbers their parts' dtype.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor torch.absolute Tensor.absolute")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_abs(const flam_tensor *input);

/** Negation elementwise; unsigned integers wrap around.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor torch.negative Tensor.negative")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_neg(const flam_tensor *input);

/** The tensor itself, as unary plus.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_positive(const flam_tensor *input);

/** -1, 0 or 1 by the sign of each element; 0 of NaN, as in torch. Its gradient is 0.
 *
 * - `input`: any shape; any dtype but complex ones, of which `flam_sgn` is.
 * - returns: shape and dtype of `input`.
 * - errors: none beyond those of every operation.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_sign(const flam_tensor *input);

/** `e^x` elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_exp(const flam_tensor *input);

/** `2^x` elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.special.exp2")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_exp2(const flam_tensor *input);

/** `e^x - 1` elementwise, exact for small `x`.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.special.expm1")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_expm1(const flam_tensor *input);

/** Natural logarithm elementwise; -inf at 0, NaN below.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_log(const flam_tensor *input);

/** Logarithm to base 2 elementwise; -inf at 0, NaN below.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_log2(const flam_tensor *input);

/** Logarithm to base 10 elementwise; -inf at 0, NaN below.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_log10(const flam_tensor *input);

/** `log(1 + x)` elementwise, exact for small `x`.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.special.log1p")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_log1p(const flam_tensor *input);

/** Square root elementwise; NaN below 0.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sqrt(const flam_tensor *input);

/** `1 / sqrt(x)` elementwise; inf at 0, NaN below.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_rsqrt(const flam_tensor *input);

/** `x * x` elementwise.
 *
 * - `input`: any shape and dtype.
 * - returns: shape and dtype of `input`; int64 for bool.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a bool tensor.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_square(const flam_tensor *input);

/** `1 / x` elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_reciprocal(const flam_tensor *input);

/** Sine elementwise, of radians.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sin(const flam_tensor *input);

/** Cosine elementwise, of radians.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_cos(const flam_tensor *input);

/** Tangent elementwise, of radians.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_tan(const flam_tensor *input);

/** Arc sine elementwise, in radians. NaN outside [-1, 1].
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.arcsin Tensor.arcsin")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_asin(const flam_tensor *input);

/** Arc cosine elementwise, in radians. NaN outside [-1, 1].
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.arccos Tensor.arccos")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_acos(const flam_tensor *input);

/** Arc tangent elementwise, in radians. In (-pi/2, pi/2).
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.arctan Tensor.arctan")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_atan(const flam_tensor *input);

/** Hyperbolic sine elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sinh(const flam_tensor *input);

/** Hyperbolic cosine elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_AUTOCAST("cuda=f32")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_cosh(const flam_tensor *input);

/** Inverse hyperbolic sine, elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.arcsinh Tensor.arcsinh")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_asinh(const flam_tensor *input);

/** Inverse hyperbolic cosine; NaN below 1, elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.arccosh Tensor.arccosh")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_acosh(const flam_tensor *input);

/** Inverse hyperbolic tangent; NaN outside [-1, 1], elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.arctanh Tensor.arctanh")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_atanh(const flam_tensor *input);

/** Hyperbolic tangent elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor F")
FLAM_LAYER("Tanh()")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_tanh(const flam_tensor *input);

/** Logistic function, `1 / (1 + e^-x)` elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor F torch.special.expit")
FLAM_LAYER("Sigmoid()")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sigmoid(const flam_tensor *input);

/** Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`, elementwise.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.special.erf")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_erf(const flam_tensor *input);

/** Complementary error function, `1 - erf(x)` elementwise, exact for large `x`.
 *
 * - `input`: any shape and dtype; bool and integers are computed in the default dtype.
 * - returns: shape of `input`; its dtype, or the default dtype for bool and integers.
 * - errors: `FLAM_ERROR_DTYPE` from the in-place form of a tensor that is not floating point.
 */
FLAM_TORCH("torch Tensor torch.special.erfc")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_erfc(const flam_tensor *input);

/** Greatest integer not above each element; integers stay as they are. Its gradient is 0.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_floor(const flam_tensor *input);

/** Least integer not below each element; integers stay as they are. Its gradient is 0.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_ceil(const flam_tensor *input);

/** Integer part of each element; integers stay as they are. Its gradient is 0.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor torch.fix Tensor.fix")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_trunc(const flam_tensor *input);

/** Nearest value with a number of decimals, halves to even. Its gradient is 0.
 *
 * - `input`: any shape; any dtype but bool; floating point where `decimals` is not 0.
 * - `decimals`: decimals to keep; negative ones round before the point; default 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool, or integral with `decimals`.
 */
FLAM_TORCH("torch Tensor torch.special.round")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_round(
    const flam_tensor *input, FLAM_KEYWORD int64_t decimals FLAM_DEFAULT(0));

/** `x - trunc(x)` elementwise.
 *
 * - `input`: any shape; floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_frac(const flam_tensor *input);

/** Whether each element is NaN.
 *
 * - `input`: any shape and dtype.
 * - returns: bool, shape of `input`.
 * - errors: none beyond those of every operation.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_isnan(const flam_tensor *input);

/** Whether each element is infinite.
 *
 * - `input`: any shape and dtype.
 * - returns: bool, shape of `input`.
 * - errors: none beyond those of every operation.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_isinf(const flam_tensor *input);

/** Whether each element is neither infinite nor NaN.
 *
 * - `input`: any shape and dtype.
 * - returns: bool, shape of `input`.
 * - errors: none beyond those of every operation.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_isfinite(const flam_tensor *input);

/** Whether each element is 0.
 *
 * - `input`: any shape and dtype.
 * - returns: bool, shape of `input`.
 * - errors: none beyond those of every operation.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_logical_not(const flam_tensor *input);

/** Bits of each element inverted; of bool the negation.
 *
 * - `input`: any shape; bool or integral.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_bitwise_not(const flam_tensor *input);

#ifdef __cplusplus
}
#endif
#endif
