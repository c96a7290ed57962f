/* Complex numbers: made of two reals, seen as two reals, and what only they have.
 * namespace: ops
 *
 * A number is two reals side by side, the real part first: `FLAM_C64` of floats, `FLAM_C128` of
 * doubles. Its gradient is that of the real part plus i times that of the imaginary part, so that a
 * step against it goes downhill. Arithmetic, copies, views and sums take complex operands; an
 * operation that does not says so, and `flam_view_as_real` is what it takes instead.
 */
#ifndef FLAMBEAU_COMPLEX_H
#define FLAMBEAU_COMPLEX_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Numbers of given parts, `real + i imag` elementwise.
 *
 * - `real`: the real parts; any shape; f32 or f64.
 * - `imag`: the imaginary parts; shape that broadcasts with `real`'s; dtype of `real`.
 * - returns: the broadcast shape; c64 of f32, c128 of f64.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DTYPE`,
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_complex(const flam_tensor *real, const flam_tensor *imag);

/** Numbers of given length and direction, `abs (cos angle + i sin angle)` elementwise.
 *
 * - `abs`: the lengths; any shape; f32 or f64.
 * - `angle`: the angles in radians; shape that broadcasts with `abs`'; dtype of `abs`.
 * - returns: the broadcast shape; c64 of f32, c128 of f64.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DTYPE`,
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_polar(const flam_tensor *abs, const flam_tensor *angle);

/** A view of complex numbers as pairs of reals.
 *
 * - `input`: any shape; complex.
 * - returns: a view with a last dimension of 2 more; f32 of c64, f64 of c128.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not complex.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_VIEW flam_tensor *flam_view_as_real(const flam_tensor *input);

/** A view of pairs of reals as complex numbers.
 *
 * - `input`: a last dimension of 2 with stride 1, all other strides and the storage offset even;
 *   f32 or f64.
 * - returns: a view without that dimension; c64 of f32, c128 of f64.
 * - errors: `FLAM_ERROR_SHAPE` for such a shape or such strides, `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_AUTOCAST("cpu=f32")
FLAM_API FLAM_VIEW flam_tensor *flam_view_as_complex(const flam_tensor *input);

/** A view of the real parts.
 *
 * - `input`: any shape and dtype.
 * - returns: a view of the real parts; `input` itself where it is real.
 * - errors: none but memory.
 */
FLAM_API FLAM_VIEW flam_tensor *flam_real(const flam_tensor *input);

/** A view of the imaginary parts.
 *
 * - `input`: any shape; complex.
 * - returns: a view of the imaginary parts.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not complex.
 */
FLAM_API FLAM_VIEW flam_tensor *flam_imag(const flam_tensor *input);

/** Conjugates, the imaginary part negated.
 *
 * - `input`: any shape and dtype.
 * - returns: shape and dtype of `input`; `input` itself where it is real.
 * - errors: none but memory.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_conj_physical(const flam_tensor *input);

/** The angle to the positive real axis, in radians: of reals 0, pi where they are negative.
 *
 * - `input`: any shape and dtype.
 * - returns: shape of `input`; floating point, of the parts' dtype.
 * - errors: none but memory.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_angle(const flam_tensor *input);

/** The direction, `x / |x|` and 0 at 0; of reals their sign.
 *
 * - `input`: any shape and dtype.
 * - returns: shape and dtype of `input`.
 * - errors: none but memory.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_sgn(const flam_tensor *input);

#ifdef __cplusplus
}
#endif

#endif
