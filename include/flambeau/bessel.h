/* Bessel functions, and Airy's.
 * namespace: ops
 */
#ifndef FLAMBEAU_BESSEL_H
#define FLAMBEAU_BESSEL_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Modified Bessel function of the first kind of order 0.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.10 and 9.7.1.
 */
FLAM_TORCH("torch Tensor torch.special.i0 torch.special.modified_bessel_i0")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_i0(const flam_tensor *input);

/** `exp(-|x|) i0(x)` elementwise, which does not overflow.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.10 and 9.7.1.
 */
FLAM_TORCH("torch.special.i0e")
FLAM_API FLAM_OUT flam_tensor *flam_i0e(const flam_tensor *input);

/** Modified Bessel function of the first kind of order 1.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.10 and 9.7.1.
 */
FLAM_TORCH("torch.special.i1 torch.special.modified_bessel_i1")
FLAM_API FLAM_OUT flam_tensor *flam_i1(const flam_tensor *input);

/** `exp(-|x|) i1(x)` elementwise, which does not overflow.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.10 and 9.7.1.
 */
FLAM_TORCH("torch.special.i1e")
FLAM_API FLAM_OUT flam_tensor *flam_i1e(const flam_tensor *input);

/** Modified Bessel function of the second kind of order 0; infinite at 0, NaN below.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.24.
 */
FLAM_TORCH("torch.special.modified_bessel_k0")
FLAM_API FLAM_OUT flam_tensor *flam_modified_bessel_k0(const flam_tensor *input);

/** Modified Bessel function of the second kind of order 1; infinite at 0, NaN below.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.24.
 */
FLAM_TORCH("torch.special.modified_bessel_k1")
FLAM_API FLAM_OUT flam_tensor *flam_modified_bessel_k1(const flam_tensor *input);

/** `exp(x) modified_bessel_k0(x)` elementwise, which does not vanish.
 *
 * - `x`: any shape and dtype.
 * - returns: shape of `x`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.24.
 */
FLAM_TORCH("torch.special.scaled_modified_bessel_k0")
FLAM_API FLAM_OUT flam_tensor *flam_scaled_modified_bessel_k0(const flam_tensor *x);

/** `exp(x) modified_bessel_k1(x)` elementwise, which does not vanish.
 *
 * - `x`: any shape and dtype.
 * - returns: shape of `x`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Abramowitz and Stegun, 1964, 9.6.24.
 */
FLAM_TORCH("torch.special.scaled_modified_bessel_k1")
FLAM_API FLAM_OUT flam_tensor *flam_scaled_modified_bessel_k1(const flam_tensor *x);

/** Bessel function of the first kind of order 0.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.bessel_j0")
FLAM_API FLAM_OUT flam_tensor *flam_bessel_j0(const flam_tensor *input);

/** Bessel function of the first kind of order 1.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.bessel_j1")
FLAM_API FLAM_OUT flam_tensor *flam_bessel_j1(const flam_tensor *input);

/** Bessel function of the second kind of order 0; -infinite at 0, NaN below.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.bessel_y0")
FLAM_API FLAM_OUT flam_tensor *flam_bessel_y0(const flam_tensor *input);

/** Bessel function of the second kind of order 1; -infinite at 0, NaN below.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.bessel_y1")
FLAM_API FLAM_OUT flam_tensor *flam_bessel_y1(const flam_tensor *input);

/** `sin(x) / x` elementwise, 1 at 0: the spherical Bessel function of order 0.
 *
 * - `x`: any shape and dtype.
 * - returns: shape of `x`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 */
FLAM_TORCH("torch.special.spherical_bessel_j0")
FLAM_API FLAM_OUT flam_tensor *flam_spherical_bessel_j0(const flam_tensor *x);

/** The Airy function Ai: the solution of `y'' = x y` that goes to 0 on the right.
 *
 * - `x`: any shape and dtype.
 * - returns: shape of `x`; its dtype, the default dtype for bool and integers.
 * - errors: none but those of a failed operand.
 * - source: Gil, Segura and Temme, 2002, Algorithm 822; its integral along the path of descent.
 */
FLAM_TORCH("torch.special.airy_ai")
FLAM_API FLAM_OUT flam_tensor *flam_airy_ai(const flam_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
