/* Windows of signal processing: weights that fade towards both ends of a stretch of samples.
 * namespace: ops
 *
 * All are computed in f64 and rounded once. A window of fewer than two samples is of ones.
 */
#ifndef FLAMBEAU_WINDOW_H
#define FLAMBEAU_WINDOW_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_hann_window`, `flam_blackman_window` and `flam_bartlett_window`. */
typedef struct flam_window_options {
  size_t struct_size; /**< sizeof(flam_window_options) */
  /** whether it is one longer without its end, for spectra, rather than symmetric, for filters;
   *  default true */
  flam_bool periodic FLAM_DEFAULT(1);
  /** of the result, floating point; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
} flam_window_options;

/** Hann's window, one turn of a raised cosine: `0.5 - 0.5 cos(2 pi k / n)`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative length; `FLAM_ERROR_DTYPE` where the dtype
 *   is not floating point; `FLAM_ERROR_SHAPE` for a length that 64 bits do not hold.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_hann_window(int64_t window_length, const flam_window_options *options);

/** Blackman's window, `0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_blackman_window(
    int64_t window_length, const flam_window_options *options);

/** Bartlett's window, a triangle: `1 - |2 k / n - 1|`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_bartlett_window(
    int64_t window_length, const flam_window_options *options);

/** Options of `flam_hamming_window`. */
typedef struct flam_hamming_window_options {
  size_t struct_size; /**< sizeof(flam_hamming_window_options) */
  /** whether it is one longer without its end, rather than symmetric; default true */
  flam_bool periodic FLAM_DEFAULT(1);
  double alpha FLAM_DEFAULT(0.54); /**< the mean; default 0.54 */
  double beta FLAM_DEFAULT(0.46); /**< of the cosine; default 0.46 */
  /** of the result, floating point; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_hamming_window_options;

/** Hamming's window, `alpha - beta cos(2 pi k / n)`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_hamming_window(
    int64_t window_length, const flam_hamming_window_options *options);

/** Options of `flam_kaiser_window`. */
typedef struct flam_kaiser_window_options {
  size_t struct_size; /**< sizeof(flam_kaiser_window_options) */
  /** whether it is one longer without its end, rather than symmetric; default true */
  flam_bool periodic FLAM_DEFAULT(1);
  double beta FLAM_DEFAULT(12); /**< how fast it falls; default 12 */
  /** of the result, floating point; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_kaiser_window_options;

/** Kaiser's window, `i0(beta sqrt(1 - x^2)) / i0(beta)` with x from -1 to 1 over the window.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`.
 * - source: Kaiser and Schafer, 1980, IEEE Trans. ASSP 28.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_kaiser_window(
    int64_t window_length, const flam_kaiser_window_options *options);

/** The cosine window, half a turn of a sine: `sin(pi (k + 0.5) / n)`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_API flam_tensor *flam_cosine_window(int64_t window_length, const flam_window_options *options);

/** A sum of cosines of 0, 1, 2... turns with alternating signs: `a[0] - a[1] cos(2 pi k / n) + a[2]
 * cos(4 pi k / n) - ...`.
 *
 * - `window_length`: samples, not negative.
 * - `coefficients`: the factors, at least one.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`; `FLAM_ERROR_INVALID_ARGUMENT` without coefficients.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_API flam_tensor *flam_general_cosine_window(
    int64_t window_length, const double *coefficients, size_t n_coefficients,
    const flam_window_options *options);

/** Options of `flam_exponential_window`. */
typedef struct flam_exponential_window_options {
  size_t struct_size; /**< sizeof(flam_exponential_window_options) */
  /** whether it is one longer without its end, rather than symmetric; default true */
  flam_bool periodic FLAM_DEFAULT(1);
  /** of the result, floating point; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  /** the sample where it is 1; default: the middle, which a symmetric window must have */
  const double *center FLAM_DEFAULT(NULL);
  double tau FLAM_DEFAULT(1); /**< samples in which it falls to 1 / e, above 0; default 1 */
} flam_exponential_window_options;

/** An exponential, or Poisson, window: `exp(-|k - center| / tau)`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`; `FLAM_ERROR_INVALID_ARGUMENT` where `tau` is not above 0,
 *   and for a `center` of a symmetric window.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_API flam_tensor *flam_exponential_window(
    int64_t window_length, const flam_exponential_window_options *options);

/** Options of `flam_gaussian_window`. */
typedef struct flam_gaussian_window_options {
  size_t struct_size; /**< sizeof(flam_gaussian_window_options) */
  /** whether it is one longer without its end, rather than symmetric; default true */
  flam_bool periodic FLAM_DEFAULT(1);
  /** of the result, floating point; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  double std FLAM_DEFAULT(1); /**< standard deviation in samples, above 0; default 1 */
} flam_gaussian_window_options;

/** The density of the normal distribution around the middle, 1 there:
 * `exp(-((k - n / 2) / std)^2 / 2)`.
 *
 * - `window_length`: samples, not negative.
 * - returns: [window_length].
 * - errors: those of `flam_hann_window`; `FLAM_ERROR_INVALID_ARGUMENT` where `std` is not above 0.
 * - source: Harris, 1978, Proc. IEEE 66.
 */
FLAM_API flam_tensor *flam_gaussian_window(
    int64_t window_length, const flam_gaussian_window_options *options);

#ifdef __cplusplus
}
#endif
#endif
