/* Normalisations.
 * namespace: ops
 */
#ifndef FLAMBEAU_NORM_H
#define FLAMBEAU_NORM_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_batch_norm`. */
typedef struct flam_batch_norm_options {
  size_t struct_size; /**< sizeof(flam_batch_norm_options) */
  /** whether the batch's own mean and variance are used and the running ones updated; default
   *  false */
  flam_bool training FLAM_DEFAULT(0);
  /** share of the batch in the running statistics; default 0.1 */
  double momentum FLAM_DEFAULT(0.1);
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
} flam_batch_norm_options;

/** Batch normalisation, `(x - mean) / sqrt(var + eps) * weight + bias` per channel.
 *
 * - `input`: [n, c, ...], floating point.
 * - `running_mean`: [c], updated in training; none where only the batch counts; default none.
 * - `running_var`: [c], updated in training with the unbiased variance; default none.
 * - `weight`: [c]; default none, for 1.
 * - `bias`: [c]; default none, for 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where a statistic's size is not c or training has one value per
 *   channel; `FLAM_ERROR_INVALID_ARGUMENT` without running statistics outside training;
 *   `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Ioffe and Szegedy, 2015, arXiv 1502.03167.
 */
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_batch_norm(
    const flam_tensor *input, FLAM_NULLABLE flam_tensor *running_mean FLAM_DEFAULT(NULL),
    FLAM_NULLABLE flam_tensor *running_var FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    const flam_batch_norm_options *options);

/** Options of `flam_batch_norm_tracked`. */
typedef struct flam_batch_norm_tracked_options {
  size_t struct_size; /**< sizeof(flam_batch_norm_tracked_options) */
  /** share of the batch in the running statistics; default 0.1 */
  double momentum FLAM_DEFAULT(0.1);
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
} flam_batch_norm_tracked_options;

/** Batch normalisation in training which counts its batches, as a layer does.
 *
 * What `flam_batch_norm` gives in training, and `num_batches_tracked` is one more; on a GPU that
 * takes no launch of its own.
 *
 * - `input`: [n, c, ...], floating point.
 * - `num_batches_tracked`: [], int64, one more afterwards.
 * - `running_mean`: [c], updated; default none.
 * - `running_var`: [c], updated with the unbiased variance; default none.
 * - `weight`: [c]; default none, for 1.
 * - `bias`: [c]; default none, for 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where a statistic's size is not c or there is one value per channel;
 *   `FLAM_ERROR_DTYPE` where `input` is not floating point or the count is no one int64;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where `eps` is not positive.
 * - source: Ioffe and Szegedy, 2015, arXiv 1502.03167.
 */
FLAM_API flam_tensor *flam_batch_norm_tracked(
    const flam_tensor *input, flam_tensor *num_batches_tracked,
    FLAM_NULLABLE flam_tensor *running_mean FLAM_DEFAULT(NULL),
    FLAM_NULLABLE flam_tensor *running_var FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    const flam_batch_norm_tracked_options *options);

/** Layer normalisation over the last dimensions, `(x - mean) / sqrt(var + eps) * weight + bias`.
 *
 * - `input`: [..., shape of `normalized_shape`], floating point.
 * - `normalized_shape`: the sizes of the dimensions to normalise over.
 * - `weight`: [normalized_shape]; default none, for 1.
 * - `bias`: [normalized_shape]; default none, for 0.
 * - `eps`: added to the variance; default 1e-5.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where the last dimensions differ from `normalized_shape`;
 *   `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Ba, Kiros and Hinton, 2016, arXiv 1607.06450.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("cuda=f32")
FLAM_API flam_tensor *flam_layer_norm(
    const flam_tensor *input, const int64_t *normalized_shape, size_t n_normalized_shape,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), double eps FLAM_DEFAULT(1e-5));

/** Normalises over groups of channels, `(x - mean) / sqrt(var + eps) * weight + bias`.
 *
 * - `input`: [n, c, ...], floating point.
 * - `num_groups`: divides c.
 * - `weight`: [c]; default none, for 1.
 * - `bias`: [c]; default none, for 0.
 * - `eps`: added to the variance; default 1e-5.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where a parameter is not [c] or `num_groups` does not divide c;
 *   `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Wu and He, 2018, arXiv 1803.08494.
 */
FLAM_AUTOCAST("cuda=f32")
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_group_norm(
    const flam_tensor *input, int64_t num_groups,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), double eps FLAM_DEFAULT(1e-5));

/** Options of `flam_instance_norm`. */
typedef struct flam_instance_norm_options {
  size_t struct_size; /**< sizeof(flam_instance_norm_options) */
  /** whether the instance's own mean and variance are used and the running ones updated; default
   *  true (1) */
  flam_bool use_input_stats FLAM_DEFAULT(1);
  /** share of the instances in the running statistics; default 0.1 */
  double momentum FLAM_DEFAULT(0.1);
  double eps FLAM_DEFAULT(1e-5); /**< added to the variance; default 1e-5 */
} flam_instance_norm_options;

/** Normalises each channel of each instance over its positions.
 *
 * - `input`: [n, c, ...], floating point.
 * - `running_mean`: [c], updated with the instances' mean; default none.
 * - `running_var`: [c], updated with the instances' unbiased variance; default none.
 * - `weight`: [c]; default none, for 1.
 * - `bias`: [c]; default none, for 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where a parameter is not [c] or there is one position;
 *   `FLAM_ERROR_INVALID_ARGUMENT` without running statistics where they are to be used;
 *   `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Ulyanov, Vedaldi and Lempitsky, 2016, arXiv 1607.08022.
 */
FLAM_AUTOCAST("cuda=rest")
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_instance_norm(
    const flam_tensor *input, FLAM_NULLABLE flam_tensor *running_mean FLAM_DEFAULT(NULL),
    FLAM_NULLABLE flam_tensor *running_var FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL),
    const flam_instance_norm_options *options);

/** Root mean square normalisation over the last dimensions, `x / sqrt(mean(x^2) + eps) * weight`.
 *
 * - `input`: [..., shape of `normalized_shape`], floating point.
 * - `normalized_shape`: the sizes of the dimensions to normalise over.
 * - `weight`: [normalized_shape]; default none, for 1.
 * - `eps`: added to the mean; default: machine epsilon of the computing
 *   dtype.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where the last dimensions differ from `normalized_shape`;
 *   `FLAM_ERROR_DTYPE` where `input` is not floating point.
 * - source: Zhang and Sennrich, 2019, arXiv 1910.07467.
 */
FLAM_AUTOCAST("cuda=f32")
FLAM_TORCH("F torch")
FLAM_API flam_tensor *flam_rms_norm(
    const flam_tensor *input, const int64_t *normalized_shape, size_t n_normalized_shape,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const double *eps FLAM_DEFAULT(NULL));

/** Options of `flam_local_response_norm`. */
typedef struct flam_local_response_norm_options {
  size_t struct_size; /**< sizeof(flam_local_response_norm_options) */
  double alpha FLAM_DEFAULT(1e-4); /**< factor of the mean; default 1e-4 */
  double beta FLAM_DEFAULT(0.75); /**< the power; default 0.75 */
  double k FLAM_DEFAULT(1); /**< added to the mean; default 1 */
} flam_local_response_norm_options;

/** Divides each element by a power of the mean of squares of its neighbouring channels, `x / (k +
 * alpha mean(x^2))^beta`.
 *
 * - `input`: [n, c, ...] with at least three dimensions, floating point.
 * - `size`: how many channels count.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` below three dimensions; `FLAM_ERROR_INVALID_ARGUMENT`.
 * - source: Krizhevsky, Sutskever and Hinton, 2012, NeurIPS.
 */
FLAM_TORCH("F")
FLAM_LAYER("LocalResponseNorm([size], [alpha=], [beta=], [k=])")
FLAM_API flam_tensor *flam_local_response_norm(
    const flam_tensor *input, int64_t size, const flam_local_response_norm_options *options);

/** Options of `flam_normalize`. */
typedef struct flam_normalize_options {
  size_t struct_size; /**< sizeof(flam_normalize_options) */
  double p FLAM_DEFAULT(2); /**< exponent of the norm; default 2 */
  const int64_t *dim FLAM_DEFAULT(1); /**< the dimensions of the norm; default 1 */
  size_t n_dim;
  double eps FLAM_DEFAULT(1e-12); /**< least divisor; default 1e-12 */
} flam_normalize_options;

/** Divides by the norm along a dimension, `x / max(norm, eps)`.
 *
 * - `input`: any shape; floating point.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("F")
FLAM_API FLAM_OUT flam_tensor *flam_normalize(
    const flam_tensor *input, const flam_normalize_options *options);

#ifdef __cplusplus
}
#endif
#endif
