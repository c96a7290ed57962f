/* Activations: elementwise non-linearities and the softmax pair.
 * namespace: ops
 */
#ifndef FLAMBEAU_ACTIVATION_H
#define FLAMBEAU_ACTIVATION_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which formula `flam_gelu` uses. */
typedef int32_t flam_gelu_form;
enum { FLAM_GELU_UNSPECIFIED = 0, FLAM_GELU_NONE = 1, FLAM_GELU_TANH = 2 };

/** Rectified linear unit, `max(x, 0)` elementwise; its slope at 0 is 0, and NaN stays NaN.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("torch Tensor F")
FLAM_LAYER("ReLU()")
FLAM_API FLAM_INPLACE flam_tensor *flam_relu(const flam_tensor *input);

/** `x` above 0, else `negative_slope * x`, elementwise.
 *
 * - `input`: any shape; floating point.
 * - `negative_slope`: factor below 0; default 0.01.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F")
FLAM_LAYER("LeakyReLU([negative_slope=])")
FLAM_API FLAM_INPLACE flam_tensor *flam_leaky_relu(
    const flam_tensor *input, double negative_slope FLAM_DEFAULT(0.01));

/** Exponential linear unit: `x` above 0, else `alpha * (e^x - 1)`, elementwise.
 *
 * - `input`: any shape; floating point.
 * - `alpha`: value that the negative side tends to; default 1.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Clevert et al., 2015, arXiv 1511.07289.
 */
FLAM_TORCH("F")
FLAM_LAYER("ELU([alpha=])")
FLAM_API FLAM_INPLACE flam_tensor *flam_elu(const flam_tensor *input, double alpha FLAM_DEFAULT(1));

/** Scaled exponential linear unit: `elu` with the two constants that keep mean 0 and variance 1.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Klambauer et al., 2017, arXiv 1706.02515.
 */
FLAM_TORCH("torch F")
FLAM_LAYER("SELU()")
FLAM_API FLAM_INPLACE flam_tensor *flam_selu(const flam_tensor *input);

/** Continuously differentiable exponential linear unit: `max(x, 0) + min(0, alpha * (e^(x / alpha)
 * - 1))`.
 *
 * - `input`: any shape; floating point.
 * - `alpha`: scale of the negative side, not 0; default 1.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`
 *   where `alpha` is 0.
 * - source: Barron, 2017, arXiv 1704.07483.
 */
FLAM_TORCH("torch F")
FLAM_LAYER("CELU([alpha=])")
FLAM_API FLAM_INPLACE flam_tensor *flam_celu(
    const flam_tensor *input, double alpha FLAM_DEFAULT(1));

/** Gaussian error linear unit, `x * Phi(x)` elementwise, Phi the standard normal distribution.
 *
 * - `input`: any shape; floating point.
 * - `approximate`: `FLAM_GELU_TANH` replaces Phi by `0.5 (1 + tanh(sqrt(2/pi) (x + 0.044715
 *   x^3)))`; default exact.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Hendrycks and Gimpel, 2016, arXiv 1606.08415.
 */
FLAM_TORCH("F")
FLAM_LAYER("GELU([approximate=])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_gelu(
    const flam_tensor *input, flam_gelu_form approximate FLAM_DEFAULT(FLAM_GELU_NONE));

/** Sigmoid-weighted linear unit, `x * sigmoid(x)` elementwise.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Elfwing et al., 2017, arXiv 1702.03118.
 */
FLAM_TORCH("F")
FLAM_LAYER("SiLU()")
FLAM_API FLAM_INPLACE flam_tensor *flam_silu(const flam_tensor *input);

/** `x * tanh(softplus(x))` elementwise.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Misra, 2019, arXiv 1908.08681.
 */
FLAM_TORCH("F")
FLAM_LAYER("Mish()")
FLAM_API FLAM_INPLACE flam_tensor *flam_mish(const flam_tensor *input);

/** Options of `flam_softplus`. */
typedef struct flam_softplus_options {
  size_t struct_size; /**< sizeof(flam_softplus_options) */
  double beta FLAM_DEFAULT(1); /**< sharpness, not 0; default 1 */
  double threshold FLAM_DEFAULT(20); /**< where the linear part begins; default 20 */
} flam_softplus_options;

/** `log(1 + e^(beta x)) / beta` elementwise; `x` itself where `beta x` exceeds `threshold`.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("cuda=f32")
FLAM_LAYER("Softplus([beta=], [threshold=])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_softplus(
    const flam_tensor *input, const flam_softplus_options *options);

/** `min(max(x, 0), 6)` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("F")
FLAM_LAYER("ReLU6()")
FLAM_API FLAM_INPLACE flam_tensor *flam_relu6(const flam_tensor *input);

/** Options of `flam_hardtanh`. */
typedef struct flam_hardtanh_options {
  size_t struct_size; /**< sizeof(flam_hardtanh_options) */
  double min_val FLAM_DEFAULT(-1); /**< lower bound; default -1 */
  double max_val FLAM_DEFAULT(1); /**< upper bound; default 1 */
} flam_hardtanh_options;

/** `x` limited to a range, elementwise; its slope outside and at the bounds is 0.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool; `FLAM_ERROR_INVALID_ARGUMENT` where `min_val`
 *   exceeds `max_val`, or an integral dtype has no value between them.
 */
FLAM_TORCH("F")
FLAM_LAYER("Hardtanh([min_val=], [max_val=])")
FLAM_API FLAM_INPLACE flam_tensor *flam_hardtanh(
    const flam_tensor *input, const flam_hardtanh_options *options);

/** `min(max(x / 6 + 1/2, 0), 1)` elementwise.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F")
FLAM_LAYER("Hardsigmoid()")
FLAM_API FLAM_INPLACE flam_tensor *flam_hardsigmoid(const flam_tensor *input);

/** `x * min(max(x + 3, 0), 6) / 6` elementwise.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Howard et al., 2019, arXiv 1905.02244.
 */
FLAM_TORCH("F")
FLAM_LAYER("Hardswish()")
FLAM_API FLAM_INPLACE flam_tensor *flam_hardswish(const flam_tensor *input);

/** `log(sigmoid(x))` elementwise, without overflow.
 *
 * - `input`: any shape; floating point.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("F")
FLAM_LAYER("LogSigmoid()")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_logsigmoid(const flam_tensor *input);

/** `x` above a threshold, else a constant, elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - `threshold`: elements not above it are replaced.
 * - `value`: what they are replaced by.
 * - returns: shape, dtype and device of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool; `FLAM_ERROR_INVALID_ARGUMENT` for a number
 *   that the dtype does not have.
 */
FLAM_TORCH("torch F")
FLAM_LAYER("Threshold([threshold=], [value=])")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_threshold(
    const flam_tensor *input, double threshold, double value);

/** `x / (1 + |x|)` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape of `input`; its dtype, or the default dtype for integers.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("F")
FLAM_LAYER("Softsign()")
FLAM_API flam_tensor *flam_softsign(const flam_tensor *input);

/** `x - tanh(x)` elementwise.
 *
 * - `input`: any shape; any dtype but bool.
 * - returns: shape of `input`; its dtype, or the default dtype for integers.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is bool.
 */
FLAM_TORCH("F")
FLAM_LAYER("Tanhshrink()")
FLAM_API flam_tensor *flam_tanhshrink(const flam_tensor *input);

/** Exponentials of the elements, divided by their sum along a dimension.
 *
 * - `input`: any shape; floating point, or any dtype with `dtype` given.
 * - `dim`: the dimension along which the results sum to 1.
 * - `dtype`: converts `input` first; default: its own.
 * - returns: shape of `input`; `dtype` or that of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_DTYPE` where the result is not
 *   floating point.
 */
FLAM_TORCH("torch Tensor F torch.special.softmax")
FLAM_AUTOCAST("cuda=f32")
FLAM_LAYER("Softmax([dim=])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_softmax(
    const flam_tensor *input, int64_t dim,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Logarithm of the softmax along a dimension, computed without overflow.
 *
 * - `input`: any shape; floating point, or any dtype with `dtype` given.
 * - `dim`: the dimension along which the results sum to 1.
 * - `dtype`: converts `input` first; default: its own.
 * - returns: shape of `input`; `dtype` or that of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_DTYPE` where the result is not
 *   floating point.
 */
FLAM_TORCH("torch Tensor F torch.special.log_softmax")
FLAM_AUTOCAST("cuda=f32")
FLAM_LAYER("LogSoftmax([dim=])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_log_softmax(
    const flam_tensor *input, int64_t dim,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE));

/** Gated linear unit, `a * sigmoid(b)` of the halves a and b.
 *
 * - `input`: any shape; floating point.
 * - `dim`: the dimension to halve; default -1.
 * - returns: half of `input` along `dim`.
 * - errors: `FLAM_ERROR_SHAPE` where the size is odd; `FLAM_ERROR_INDEX`.
 * - source: Dauphin et al., 2016, arXiv 1612.08083.
 */
FLAM_TORCH("F")
FLAM_LAYER("GLU([dim=])")
FLAM_API flam_tensor *flam_glu(const flam_tensor *input, int64_t dim FLAM_DEFAULT(-1));

/** `x` where it is positive, else `weight * x`, with a learned weight.
 *
 * - `input`: [n, c, ...], floating point.
 * - `weight`: [c] or one element.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `weight` is neither.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_AUTOCAST("lower")
FLAM_TORCH("torch Tensor F")
FLAM_API flam_tensor *flam_prelu(const flam_tensor *input, const flam_tensor *weight);

/** Options of `flam_rrelu`. */
typedef struct flam_rrelu_options {
  size_t struct_size; /**< sizeof(flam_rrelu_options) */
  double lower FLAM_DEFAULT(0.125); /**< least slope; default 1/8 */
  double upper FLAM_DEFAULT(0.3333333333333333); /**< greatest slope; default 1/3 */
  flam_bool training FLAM_DEFAULT(0); /**< whether slopes are drawn; default false */
  int32_t reserved; /**< 0 */
} flam_rrelu_options;

/** `x` where it is positive, else `a * x`, a drawn from [lower, upper] for each element in training
 * and their middle otherwise.
 *
 * - `input`: any shape; floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 * - source: Xu et al., 2015, arXiv 1505.00853.
 */
FLAM_TORCH("torch F")
FLAM_API FLAM_INPLACE flam_tensor *flam_rrelu(
    const flam_tensor *input, const flam_rrelu_options *options);

/** `x` where `|x|` is above `lambd`, else 0.
 *
 * - `input`: any shape; floating point.
 * - `lambd`: the threshold; default 0.5.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor F")
FLAM_LAYER("Hardshrink([lambd])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_hardshrink(
    const flam_tensor *input, double lambd FLAM_DEFAULT(0.5));

/** `x - lambd` above `lambd`, `x + lambd` below `-lambd`, else 0.
 *
 * - `input`: any shape; floating point.
 * - `lambd`: the threshold, not negative; default 0.5.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point. `FLAM_ERROR_INVALID_ARGUMENT`
 *   for a negative `lambd`.
 */
FLAM_TORCH("F")
FLAM_LAYER("Softshrink([lambd])")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_softshrink(
    const flam_tensor *input, double lambd FLAM_DEFAULT(0.5));

/** Options of `flam_gumbel_softmax`. */
typedef struct flam_gumbel_softmax_options {
  size_t struct_size; /**< sizeof(flam_gumbel_softmax_options) */
  double tau FLAM_DEFAULT(1); /**< temperature, the smaller the nearer to one-hot; default 1 */
  /** whether the result is one-hot, with the gradient of the soft one; default false */
  flam_bool hard FLAM_DEFAULT(0);
  double eps FLAM_DEFAULT(1e-10); /**< has no effect; default 1e-10 */
  int64_t dim FLAM_DEFAULT(-1); /**< the dimension of the classes; default -1 */
} flam_gumbel_softmax_options;

/** Softmax of logits with Gumbel noise: a sample of one of the classes that can be differentiated.
 *
 * - `input`: any shape; floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX`; `FLAM_ERROR_DTYPE`.
 * - source: Jang, Gu and Poole, 2016, arXiv 1611.01144.
 */
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_gumbel_softmax(
    const flam_tensor *input, const flam_gumbel_softmax_options *options);

#ifdef __cplusplus
}
#endif
#endif
