/* Random numbers. All come from Philox4x32-10, keyed by a generator's seed and offset, so that they
 * depend neither on the number of threads nor on the device's schedule.
 * namespace: ops
 */
#ifndef FLAMBEAU_RANDOM_H
#define FLAMBEAU_RANDOM_H

#include "flambeau/common.h"
#include "flambeau/creation.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of new tensors that are drawn. */
typedef struct flam_random_options {
  size_t struct_size; /**< sizeof(flam_random_options) */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_DEFAULT(NULL);
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE); /**< of the result; default: the default dtype */
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_random_options;

/** Uniform numbers from 0, inclusive, to 1, exclusive.
 *
 * - `size`: the shape.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE` where the dtype is not
 *   floating point.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_rand(
    const int64_t *size FLAM_VARIADIC, size_t n_size,
    const flam_random_options *options FLAM_KEYWORD);

/** Normal numbers with mean 0 and standard deviation 1.
 *
 * - `size`: the shape.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE` where the dtype is not
 *   floating point.
 * - source: Box and Muller, 1958, doi 10.1214/aoms/1177706645.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_randn(
    const int64_t *size FLAM_VARIADIC, size_t n_size,
    const flam_random_options *options FLAM_KEYWORD);

/** Options of `flam_randint` and `flam_randperm`. */
typedef struct flam_randint_options {
  size_t struct_size; /**< sizeof(flam_randint_options) */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_DEFAULT(NULL);
  flam_dtype dtype FLAM_DEFAULT(FLAM_I64); /**< of the result; default: i64 */
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_randint_options;

/** Uniform integers from `low`, inclusive, to `high`, exclusive.
 *
 * - `low`: least value.
 * - `high`: bound; greater than `low`.
 * - `size`: the shape.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `high` is not greater than `low`;
 *   `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_tensor *flam_randint(
    int64_t low, int64_t high, const int64_t *size, size_t n_size,
    const flam_randint_options *options FLAM_KEYWORD);

/** A random permutation of the integers from 0 to `n` - 1.
 *
 * - `n`: how many.
 * - returns: [n].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative `n`, or one that the dtype does not hold
 *   each number below of; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_randperm(int64_t n, const flam_randint_options *options FLAM_KEYWORD);

/** Uniform numbers from 0 to 1 in the shape of a tensor.
 *
 * - `input`: gives shape, dtype and device.
 * - `device`: of the result; default: `input`'s.
 * - returns: a dense tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_DTYPE` where the dtype is not floating point.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_rand_like(
    const flam_tensor *input, const flam_creation_options *options FLAM_KEYWORD);

/** Normal numbers in the shape of a tensor.
 *
 * - `input`: gives shape, dtype and device.
 * - `device`: of the result; default: `input`'s.
 * - returns: a dense tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_DTYPE` where the dtype is not floating point.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_randn_like(
    const flam_tensor *input, const flam_creation_options *options FLAM_KEYWORD);

/** Options of `flam_uniform_`. */
typedef struct flam_uniform_options {
  size_t struct_size; /**< sizeof(flam_uniform_options) */
  double from FLAM_DEFAULT(0); /**< least value; default 0 */
  double to FLAM_DEFAULT(1); /**< bound; default 1 */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_uniform_options;

/** Fills a tensor with uniform numbers from `from` to `to`, in place.
 *
 * - `input`: the tensor to fill.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_uniform_(flam_tensor *input, const flam_uniform_options *options);

/** Options of `flam_init_normal` and `flam_normal_`. */
typedef struct flam_normal_options {
  size_t struct_size; /**< sizeof(flam_normal_options) */
  double mean FLAM_DEFAULT(0); /**< expected value; default 0 */
  double std FLAM_DEFAULT(1); /**< standard deviation; default 1 */
  /** where the numbers come from; default: the default generator of its device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_normal_options;

/** Fills a tensor with normal numbers, in place.
 *
 * - `input`: the tensor to fill.
 * - `std`: standard deviation, not negative; default 1.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_normal_(flam_tensor *input, const flam_normal_options *options);

/** Options of `flam_exponential_`. */
typedef struct flam_exponential_options {
  size_t struct_size; /**< sizeof(flam_exponential_options) */
  double lambd FLAM_DEFAULT(1); /**< the rate, positive; default 1 */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_exponential_options;

/** Fills a tensor with exponentially distributed numbers, in place.
 *
 * - `input`: the tensor to fill.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_exponential_(
    flam_tensor *input, const flam_exponential_options *options);

/** Fills a tensor with uniform integers from `from`, inclusive, to `to`, exclusive, in place.
 *
 * - `input`: the tensor to fill.
 * - `from`: least value.
 * - `to`: bound; greater than `from`.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_random_(
    flam_tensor *input, int64_t from, int64_t to,
    FLAM_KEYWORD FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Options of `flam_bernoulli_`. */
typedef struct flam_bernoulli_options {
  size_t struct_size; /**< sizeof(flam_bernoulli_options) */
  double p FLAM_DEFAULT(0.5); /**< from 0 to 1; default 0.5 */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_bernoulli_options;

/** Fills a tensor with 1 with probability `p`, else 0, in place.
 *
 * - `input`: the tensor to fill.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_bernoulli_(flam_tensor *input, const flam_bernoulli_options *options);

/** Options of `flam_cauchy_`. */
typedef struct flam_cauchy_options {
  size_t struct_size; /**< sizeof(flam_cauchy_options) */
  double median FLAM_DEFAULT(0); /**< of the distribution; default 0 */
  double sigma FLAM_DEFAULT(1); /**< half its width at half of its height, above 0; default 1 */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_cauchy_options;

/** Fills with Cauchy variables, in place.
 *
 * - `input`: the tensor to fill; floating point.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_cauchy_(flam_tensor *input, const flam_cauchy_options *options);

/** Options of `flam_log_normal_`. */
typedef struct flam_log_normal_options {
  size_t struct_size; /**< sizeof(flam_log_normal_options) */
  double mean FLAM_DEFAULT(1); /**< of the logarithms; default 1 */
  double std FLAM_DEFAULT(2); /**< standard deviation of the logarithms, above 0; default 2 */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_log_normal_options;

/** Fills with variables whose logarithms are normal, in place.
 *
 * - `input`: the tensor to fill; floating point.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_log_normal_(flam_tensor *input, const flam_log_normal_options *options);

/** Fills with the number of trials up to and with the first success, in place.
 *
 * - `input`: the tensor to fill; any dtype but bool.
 * - `p`: the probability of a success, between 0 and 1.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_geometric_(
    flam_tensor *input, double p,
    FLAM_KEYWORD FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Draws 1 with the probability that each element says, else 0.
 *
 * - `input`: probabilities, from 0 to 1; floating point.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: shape and dtype of `input`; its slopes are 0.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_bernoulli(
    const flam_tensor *input,
    FLAM_KEYWORD FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Normal numbers with a mean and standard deviation for each element.
 *
 * - `mean`: any shape, or a number.
 * - `std`: shape that broadcasts with `mean`'s, or a number; not negative.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: the broadcast shape; its slopes are 0.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_tensor *flam_normal(
    const flam_tensor *mean, const flam_tensor *std,
    FLAM_KEYWORD FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Options of `flam_multinomial`. */
typedef struct flam_multinomial_options {
  size_t struct_size; /**< sizeof(flam_multinomial_options) */
  flam_bool replacement FLAM_DEFAULT(0); /**< whether an index may be drawn again; default false */
  /** where the numbers come from; default: the default generator of the device */
  flam_generator *generator FLAM_KEYWORD FLAM_DEFAULT(NULL);
} flam_multinomial_options;

/** Draws indices with probabilities proportional to weights.
 *
 * - `input`: weights, not negative: [n] or [rows, n]; floating point.
 * - `num_samples`: how many indices per row.
 * - returns: int64, [num_samples] or [rows, num_samples].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where more are wanted than there are without replacement,
 *   and on the cpu where a weight is negative or not finite or all are 0; `FLAM_ERROR_SHAPE` for
 *   another number of dimensions; `FLAM_ERROR_DTYPE` where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_multinomial(
    const flam_tensor *input, int64_t num_samples, const flam_multinomial_options *options);

/** Gamma variables of rate 1, one per element.
 *
 * - `input`: their shapes (concentrations), above 0: any size, floating point; gradients are those
 *   of the draws at fixed probability, and have no gradient themselves.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point; `FLAM_ERROR_DEVICE_MISMATCH`
 *   for another device's generator.
 * - source: Marsaglia and Tsang, 2000, ACM Trans. Math. Softw. 26; of the gradient: Figurnov,
 *   Mohamed and Mnih, 2018, arXiv 1805.08498.
 */
FLAM_TORCH("torch._standard_gamma")
FLAM_API flam_tensor *flam_standard_gamma(
    const flam_tensor *input, FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Shares of gamma variables in their sum: vectors of a Dirichlet distribution.
 *
 * Drawn by logarithms, so that a share next to 0 is as exact as one next to 1; after rounding
 * within [tiny, 1 - eps / 2] of the dtype.
 *
 * - `input`: concentrations, above 0: [..., k], floating point; gradients are those of the draws at
 *   fixed probability, and have no gradient themselves.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: shape and dtype of `input`; sums of 1 along the last dimension.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point; `FLAM_ERROR_SHAPE` where it has
 *   no dimension; `FLAM_ERROR_DEVICE_MISMATCH` for another device's generator.
 * - source: those of `flam_standard_gamma`; Devroye, 1986, XI.4.
 */
FLAM_TORCH("torch._sample_dirichlet")
FLAM_API flam_tensor *flam_sample_dirichlet(
    const flam_tensor *input, FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Counts of events, one per element.
 *
 * - `input`: mean counts, not negative: any size, floating point; gradients are 0.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: shape and dtype of `input`; NaN where the mean is negative.
 * - errors: `FLAM_ERROR_DTYPE` where `input` is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`
 *   on the cpu for a negative mean; `FLAM_ERROR_DEVICE_MISMATCH` for another device's generator.
 * - source: Knuth, 1969, Seminumerical Algorithms, 3.4.1; above 10 Hoermann, 1993, Insurance:
 *   Mathematics and Economics 12.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_poisson(
    const flam_tensor *input, FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Counts of successes in independent trials, one per element.
 *
 * - `count`: numbers of trials, not negative and whole: any size, floating point; gradients are 0.
 * - `prob`: probabilities of success, from 0 to 1: dtype of `count`, broadcasts with it.
 * - `generator`: where the numbers come from; default: the default generator of the device.
 * - returns: the broadcast shape, dtype of `count`; NaN where an operand is out of its range.
 * - errors: `FLAM_ERROR_DTYPE` where an operand is not floating point or the dtypes differ;
 *   `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_SHAPE` where the sizes do not broadcast.
 * - source: sums of waiting times (Devroye, 1986, X.4.3); where 10 successes are expected Hoermann,
 *   1993, J. Stat. Comput. Simul. 46.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_binomial(
    const flam_tensor *count, const flam_tensor *prob,
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Options of dropouts. */
typedef struct flam_dropout_options {
  size_t struct_size; /**< sizeof(flam_dropout_options) */
  double p FLAM_DEFAULT(0.5); /**< probability, from 0 to 1; default 0.5 */
  flam_bool training FLAM_DEFAULT(1); /**< whether anything is dropped at all; default true */
  int32_t reserved; /**< 0 */
} flam_dropout_options;

/** Zeroes elements with probability `p` in training and scales the others by 1 / (1 - p).
 *
 * - `input`: any shape, floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p`; `FLAM_ERROR_DTYPE`.
 * - source: Srivastava et al., 2014, JMLR 15.
 */
FLAM_TORCH("torch F")
FLAM_LAYER("Dropout([p=], inplace=False)")
FLAM_API FLAM_INPLACE flam_tensor *flam_dropout(
    const flam_tensor *input, const flam_dropout_options *options);

/** Zeroes whole channels with probability `p` in training and scales the others by 1 / (1 - p).
 *
 * - `input`: [n, c, ...], floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE`.
 * - source: Tompson et al., 2014, arXiv 1411.4280.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_INPLACE flam_tensor *flam_feature_dropout(
    const flam_tensor *input, const flam_dropout_options *options);

/** Dropout that keeps mean and variance of a normal input: dropped elements take the least value of
 * SELU.
 *
 * - `input`: any shape; floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p`; `FLAM_ERROR_DTYPE`.
 * - source: Klambauer et al., 2017, arXiv 1706.02515.
 */
FLAM_TORCH("torch F")
FLAM_LAYER("AlphaDropout([p=], inplace=False)")
FLAM_API FLAM_INPLACE flam_tensor *flam_alpha_dropout(
    const flam_tensor *input, const flam_dropout_options *options);

/** Alpha dropout of whole channels.
 *
 * - `input`: [n, c, ...], floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another `p`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch F")
FLAM_LAYER("FeatureAlphaDropout([p=], inplace=False)")
FLAM_API FLAM_INPLACE flam_tensor *flam_feature_alpha_dropout(
    const flam_tensor *input, const flam_dropout_options *options);

#ifdef __cplusplus
}
#endif
#endif
