/* Initialisers: fill a parameter in place, outside autograd, as torch.nn.init does.
 * namespace: capi
 */
#ifndef FLAMBEAU_INIT_H
#define FLAMBEAU_INIT_H

#include "flambeau/common.h"
#include "flambeau/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which of a weight's two sizes keeps the variance: that of the forward or of the backward pass.
 */
typedef int32_t flam_fan;
enum { FLAM_FAN_UNSPECIFIED = 0, FLAM_FAN_IN = 1, FLAM_FAN_OUT = 2 };

/** What follows a weight, for the scale that it should keep; convolutions and sigmoids count as
 * linear. */
typedef int32_t flam_nonlinearity;
enum {
  FLAM_NONLINEARITY_UNSPECIFIED = 0,
  FLAM_NONLINEARITY_LINEAR = 1,
  FLAM_NONLINEARITY_TANH = 2,
  FLAM_NONLINEARITY_RELU = 3,
  FLAM_NONLINEARITY_LEAKY_RELU = 4,
  FLAM_NONLINEARITY_SELU = 5
};

/** How many elements feed one element of a layer's result, and how many of them one of its input
 * feeds: sizes 1 and 0 of its weight, times the elements of a kernel's window.
 *
 * - `tensor`: the weight, of at least two dimensions.
 * - `out_fan_in`: the first.
 * - `out_fan_out`: the second.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions.
 */
FLAM_API flam_status
flam_init_fans(const flam_tensor *tensor, int64_t *out_fan_in, int64_t *out_fan_out);

/** The factor that keeps the scale of activations across a non-linearity: 1, 5/3 for tanh, sqrt(2)
 * for ReLU, `sqrt(2 / (1 + slope^2))` for leaky ReLU, 3/4 for SELU.
 *
 * - `nonlinearity`: which one.
 * - `param`: the slope of leaky ReLU below 0; default 0.01.
 * - `out_gain`: the factor.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for an unknown one.
 */
FLAM_API flam_status flam_init_gain(
    flam_nonlinearity nonlinearity, FLAM_NULLABLE const double *param FLAM_DEFAULT(NULL),
    double *out_gain);

/** Fills a parameter with one value.
 *
 * - `tensor`: the parameter, floating point; filled in place.
 * - `value`: the value.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status flam_init_constant(flam_tensor *tensor, double value);

/** Options of `flam_init_uniform`. */
typedef struct flam_init_uniform_options {
  size_t struct_size; /**< sizeof(flam_init_uniform_options) */
  double a FLAM_DEFAULT(0); /**< least value; default 0 */
  double b FLAM_DEFAULT(1); /**< bound; default 1 */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_DEFAULT(NULL);
} flam_init_uniform_options;

/** Fills a parameter with uniform numbers.
 *
 * - `tensor`: the parameter, floating point; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status
flam_init_uniform(flam_tensor *tensor, const flam_init_uniform_options *options);

/** Fills a parameter with normal numbers.
 *
 * - `tensor`: the parameter, floating point; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status flam_init_normal(flam_tensor *tensor, const flam_normal_options *options);

/** Options of `flam_init_trunc_normal`. */
typedef struct flam_init_trunc_normal_options {
  size_t struct_size; /**< sizeof(flam_init_trunc_normal_options) */
  double mean FLAM_DEFAULT(0); /**< of the whole distribution; default 0 */
  double std FLAM_DEFAULT(1); /**< of the whole distribution, positive; default 1 */
  double a FLAM_DEFAULT(-2); /**< least value; default -2 */
  double b FLAM_DEFAULT(2); /**< greatest value; default 2 */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_DEFAULT(NULL);
} flam_init_trunc_normal_options;

/** Fills a parameter with numbers of the normal distribution that is cut to [a, b], in one pass:
 * its quantiles at uniform numbers.
 *
 * - `tensor`: the parameter, floating point; filled in place. `a` and `b` may be infinite, or lie
 *   any number of `std` from `mean`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT` for an
 *   empty range, a `std` that is not positive, or a `mean`, `std` or distance in `std` that is not
 *   finite.
 */
FLAM_API flam_status
flam_init_trunc_normal(flam_tensor *tensor, const flam_init_trunc_normal_options *options);

/** As linear layers and convolutions begin: weight and bias uniform within `1 / sqrt(fan_in)`.
 *
 * - `weight`: the weight, floating point, of at least two dimensions; filled in place.
 * - `bias`: the bias, filled in place; default none.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where one is not
 *   floating point.
 * - source: LeCun et al., 1998, Efficient BackProp.
 */
FLAM_API flam_status flam_init_affine(
    flam_tensor *weight, FLAM_NULLABLE flam_tensor *bias FLAM_DEFAULT(NULL),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Options of `flam_init_xavier_uniform` and `flam_init_xavier_normal`. */
typedef struct flam_init_xavier_options {
  size_t struct_size; /**< sizeof(flam_init_xavier_options) */
  double gain FLAM_DEFAULT(1); /**< a factor; default 1 */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_DEFAULT(NULL);
} flam_init_xavier_options;

/** Xavier initialisation: uniform within `gain * sqrt(6 / (fan_in + fan_out))`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point; `FLAM_ERROR_INVALID_ARGUMENT` for a negative gain.
 * - source: Glorot and Bengio, 2010, AISTATS.
 */
FLAM_API flam_status
flam_init_xavier_uniform(flam_tensor *tensor, const flam_init_xavier_options *options);

/** Xavier initialisation: normal with standard deviation `gain * sqrt(2 / (fan_in + fan_out))`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point; `FLAM_ERROR_INVALID_ARGUMENT` for a negative gain.
 * - source: Glorot and Bengio, 2010, AISTATS.
 */
FLAM_API flam_status
flam_init_xavier_normal(flam_tensor *tensor, const flam_init_xavier_options *options);

/** Options of `flam_init_kaiming_uniform` and `flam_init_kaiming_normal`. */
typedef struct flam_init_kaiming_options {
  size_t struct_size; /**< sizeof(flam_init_kaiming_options) */
  double gain FLAM_DEFAULT(1.4142135623730951); /**< sqrt(2) for ReLU; default 1.4142135623730951 */
  flam_fan mode FLAM_DEFAULT(FLAM_FAN_IN); /**< which fan; default `FLAM_FAN_IN` */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_DEFAULT(NULL);
} flam_init_kaiming_options;

/** Kaiming initialisation: uniform within `gain * sqrt(3 / fan)`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point; `FLAM_ERROR_INVALID_ARGUMENT` for a negative gain.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API flam_status
flam_init_kaiming_uniform(flam_tensor *tensor, const flam_init_kaiming_options *options);

/** Kaiming initialisation: normal with standard deviation `gain / sqrt(fan)`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point; `FLAM_ERROR_INVALID_ARGUMENT` for a negative gain.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API flam_status
flam_init_kaiming_normal(flam_tensor *tensor, const flam_init_kaiming_options *options);

/** Fills a matrix with the identity: 1 on the diagonal, 0 elsewhere.
 *
 * - `tensor`: the weight, of two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions.
 */
FLAM_API flam_status flam_init_eye(flam_tensor *tensor);

/** Fills a convolution's weight so that it keeps as many channels as it can.
 *
 * - `tensor`: the weight, of three to five dimensions; filled in place.
 * - `groups`: of channels, each of which keeps its own; divides the first size; default 1.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status flam_init_dirac(flam_tensor *tensor, int64_t groups FLAM_DEFAULT(1));

/** Options of `flam_init_orthogonal`. */
typedef struct flam_init_orthogonal_options {
  size_t struct_size; /**< sizeof(flam_init_orthogonal_options) */
  double gain FLAM_DEFAULT(1); /**< a factor; default 1 */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_DEFAULT(NULL);
} flam_init_orthogonal_options;

/** Rows or columns, whichever are fewer, orthogonal and of length `gain`, uniformly distributed;
 * everything past the first dimension counts as one.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
 * - source: Saxe et al., 2013, arXiv 1312.6120.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_init_orthogonal(flam_tensor *tensor, const flam_init_orthogonal_options *options);

/** Options of `flam_init_sparse`. */
typedef struct flam_init_sparse_options {
  size_t struct_size; /**< sizeof(flam_init_sparse_options) */
  double std FLAM_DEFAULT(0.01); /**< of what is not 0; default 0.01 */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_DEFAULT(NULL);
} flam_init_sparse_options;

/** Normal numbers, and a share of every column 0, at places drawn from the cpu's default generator.
 *
 * - `tensor`: the weight, floating point, of two dimensions; filled in place.
 * - `sparsity`: the share; above 1 all, below 0 all but that share.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for another number of dimensions; `FLAM_ERROR_INVALID_ARGUMENT` for
 *   a `sparsity` that is not finite; `FLAM_ERROR_DTYPE`.
 * - source: Martens, 2010, ICML.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_init_sparse(flam_tensor *tensor, double sparsity, const flam_init_sparse_options *options);

#ifdef __cplusplus
}
#endif
#endif
