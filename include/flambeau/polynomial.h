/* Orthogonal polynomials by their recurrences.
 * namespace: ops
 */
#ifndef FLAMBEAU_POLYNOMIAL_H
#define FLAMBEAU_POLYNOMIAL_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Chebyshev polynomials of the first kind, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.chebyshev_polynomial_t")
FLAM_API FLAM_OUT flam_tensor *flam_chebyshev_polynomial_t(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the second kind, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.chebyshev_polynomial_u")
FLAM_API FLAM_OUT flam_tensor *flam_chebyshev_polynomial_u(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the third kind, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.chebyshev_polynomial_v")
FLAM_API FLAM_OUT flam_tensor *flam_chebyshev_polynomial_v(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the fourth kind, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.chebyshev_polynomial_w")
FLAM_API FLAM_OUT flam_tensor *flam_chebyshev_polynomial_w(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the first kind of `2 x - 1`, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.shifted_chebyshev_polynomial_t")
FLAM_API FLAM_OUT flam_tensor *flam_shifted_chebyshev_polynomial_t(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the second kind of `2 x - 1`, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.shifted_chebyshev_polynomial_u")
FLAM_API FLAM_OUT flam_tensor *flam_shifted_chebyshev_polynomial_u(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the third kind of `2 x - 1`, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.shifted_chebyshev_polynomial_v")
FLAM_API FLAM_OUT flam_tensor *flam_shifted_chebyshev_polynomial_v(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Chebyshev polynomials of the fourth kind of `2 x - 1`, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.shifted_chebyshev_polynomial_w")
FLAM_API FLAM_OUT flam_tensor *flam_shifted_chebyshev_polynomial_w(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Hermite polynomials of physics, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.hermite_polynomial_h")
FLAM_API FLAM_OUT flam_tensor *flam_hermite_polynomial_h(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Hermite polynomials of probability theory, of degree `n`; 0 for a negative one.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.hermite_polynomial_he")
FLAM_API FLAM_OUT flam_tensor *flam_hermite_polynomial_he(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Laguerre polynomials, of degree `n`; 0 for a negative one, NaN for one above 1048576.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.laguerre_polynomial_l")
FLAM_API FLAM_OUT flam_tensor *flam_laguerre_polynomial_l(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

/** Legendre polynomials, of degree `n`; 0 for a negative one, NaN for one above 1048576.
 *
 * - `x`: a number or any tensor.
 * - `n`: the degrees: a number or a tensor that broadcasts with `x`.
 * - returns: the broadcast shape; floating point; carries no gradient.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE` for half types;
 *   `FLAM_ERROR_UNSUPPORTED` where a gradient is asked for.
 * - source: Abramowitz and Stegun, 1964, 22.7.
 */
FLAM_TORCH("torch.special.legendre_polynomial_p")
FLAM_API FLAM_OUT flam_tensor *flam_legendre_polynomial_p(
    FLAM_OR_NUMBER const flam_tensor *x, FLAM_OR_NUMBER const flam_tensor *n);

#ifdef __cplusplus
}
#endif
#endif
