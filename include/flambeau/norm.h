/* Normalisations.
 * namespace: ops
 */
#ifndef FLAMBEAU_NORM_H
#define FLAMBEAU_NORM_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Batch normalisation, `(x - mean) / sqrt(var + eps) * weight + bias` per channel.
 *
 * - `input`: [n, c, ...], floating point.
 * - `running_mean`: [c], updated in training; none where only the batch counts; default none.
 * - `running_var`: [c], updated in training with the unbiased variance; default none.
 * - `weight`: [c]; default none, for 1.
 * - `bias`: [c]; default none, for 0.
 * - `training`: whether the batch's own mean and variance are used and the running ones updated;
 *   default false.
 * - `momentum`: share of the batch in the running statistics; default 0.1.
 * - `eps`: added to the variance; default 1e-5.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where a statistic's size is not c or training has one value per
 *   channel; `FLAM_ERROR_INVALID_ARGUMENT` without running statistics outside training.
 * - source: Ioffe and Szegedy, 2015, arXiv 1502.03167.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F") flam_tensor *flam_batch_norm(
    const flam_tensor *input, FLAM_NULLABLE flam_tensor *running_mean FLAM_DEFAULT(NULL),
    FLAM_NULLABLE flam_tensor *running_var FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), flam_bool training FLAM_DEFAULT(0),
    double momentum FLAM_DEFAULT(0.1), double eps FLAM_DEFAULT(1e-5));

/** Layer normalisation over the last dimensions, `(x - mean) / sqrt(var + eps) * weight + bias`.
 *
 * - `input`: [..., shape of `normalized_shape`], floating point.
 * - `normalized_shape`: the sizes of the dimensions to normalise over.
 * - `weight`: [normalized_shape]; default none, for 1.
 * - `bias`: [normalized_shape]; default none, for 0.
 * - `eps`: added to the variance; default 1e-5.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` where the last dimensions differ from `normalized_shape`.
 * - source: Ba, Kiros and Hinton, 2016, arXiv 1607.06450.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F") FLAM_AUTOCAST("cuda=f32") flam_tensor *flam_layer_norm(
    const flam_tensor *input, const int64_t *normalized_shape, size_t n_normalized_shape,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *bias FLAM_DEFAULT(NULL), double eps FLAM_DEFAULT(1e-5));

#ifdef __cplusplus
}
#endif
#endif
