/* Functions of probability theory: the normal distribution's, incomplete gamma functions, entropy.
 * namespace: ops
 */
#ifndef FLAMBEAU_PROBABILITY_H
#define FLAMBEAU_PROBABILITY_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Distribution function of the standard normal distribution: how much of it lies below.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.ndtr")
FLAM_API FLAM_OUT flam_tensor *flam_ndtr(const flam_tensor *input);

/** Inverse of `flam_ndtr`: the standard normal quantile; NaN outside [0, 1].
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.ndtri")
FLAM_API FLAM_OUT flam_tensor *flam_ndtri(const flam_tensor *input);

/** Logarithm of `flam_ndtr`, also where that is too small to be told from 0.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.log_ndtr")
FLAM_API FLAM_OUT flam_tensor *flam_log_ndtr(const flam_tensor *input);

/** `exp(x^2) erfc(x)` elementwise, which does not vanish.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.erfcx")
FLAM_API FLAM_OUT flam_tensor *flam_erfcx(const flam_tensor *input);

/** `-x log(x)` elementwise, 0 at 0, -infinity below.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.entr")
FLAM_API FLAM_OUT flam_tensor *flam_entr(const flam_tensor *input);

/** `x log(1 + y)` elementwise, 0 where `x` is 0 and `y` is a number.
 *
 * - `input`: a number or any tensor.
 * - `other`: a number or a tensor that broadcasts with `input`.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch.special.xlog1py")
FLAM_AUTOCAST("cuda=rest")
FLAM_API FLAM_OUT flam_tensor *flam_xlog1py(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other);

/** Hurwitz's zeta function, the sum of `(other + k)^-input` over all k from 0.
 *
 * - `input`: the exponent, above 1; a number or any tensor.
 * - `other`: a number or a tensor that broadcasts with `input`; carries the gradient.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Abramowitz and Stegun, 1964, 23.2.9.
 */
FLAM_TORCH("torch.special.zeta")
FLAM_API FLAM_OUT flam_tensor *flam_zeta(
    FLAM_OR_NUMBER const flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *other);

/** Regularized lower incomplete gamma function: how much of a gamma distribution lies below.
 *
 * - `input`: the concentration, not negative.
 * - `other`: not negative; broadcasts with `input`; carries the gradient.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Abramowitz and Stegun, 1964, 6.5.29 and 6.5.31.
 */
FLAM_TORCH("torch Tensor torch.special.gammainc")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_igamma(
    const flam_tensor *input, const flam_tensor *other);

/** Regularized upper incomplete gamma function: how much of a gamma distribution lies above.
 *
 * - `input`: the concentration, not negative.
 * - `other`: not negative; broadcasts with `input`; carries the gradient.
 * - returns: the broadcast shape; floating point.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Abramowitz and Stegun, 1964, 6.5.29 and 6.5.31.
 */
FLAM_TORCH("torch Tensor torch.special.gammaincc")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_igammac(
    const flam_tensor *input, const flam_tensor *other);

/** Logarithm of the multivariate gamma function of dimension `p`.
 *
 * - `input`: any shape; any dtype but bool.
 * - `p`: the dimension, at least 1.
 * - returns: shape of `input`; its dtype, the default dtype for integers.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `p` is less than 1; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch Tensor torch.special.multigammaln")
FLAM_AUTOCAST("cuda=rest")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_mvlgamma(const flam_tensor *input, int64_t p);

#ifdef __cplusplus
}
#endif
#endif
