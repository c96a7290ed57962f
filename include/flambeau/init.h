/* Initialisers: fill a parameter in place, outside autograd, as torch.nn.init does.
 * namespace: capi
 */
#ifndef FLAMBEAU_INIT_H
#define FLAMBEAU_INIT_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which of a weight's two sizes keeps the variance: that of the forward or of the backward pass.
 */
typedef int32_t flam_fan;
enum { FLAM_FAN_UNSPECIFIED = 0, FLAM_FAN_IN = 1, FLAM_FAN_OUT = 2 };

/** Fills a parameter with one value.
 *
 * - `tensor`: the parameter, floating point; filled in place.
 * - `value`: the value.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_constant(flam_tensor *tensor, double value);

/** Fills a parameter with uniform numbers.
 *
 * - `tensor`: the parameter, floating point; filled in place.
 * - `a`: least value; default 0.
 * - `b`: bound; default 1.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_uniform(
    flam_tensor *tensor, double a FLAM_DEFAULT(0), double b FLAM_DEFAULT(1),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Fills a parameter with normal numbers.
 *
 * - `tensor`: the parameter, floating point; filled in place.
 * - `mean`: default 0.
 * - `std`: default 1.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where it is not floating point; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_normal(
    flam_tensor *tensor, double mean FLAM_DEFAULT(0), double std FLAM_DEFAULT(1),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Xavier initialisation: uniform within `gain * sqrt(6 / (fan_in + fan_out))`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - `gain`: a factor; default 1.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
 * - source: Glorot and Bengio, 2010, AISTATS.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_xavier_uniform(
    flam_tensor *tensor, double gain FLAM_DEFAULT(1),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Xavier initialisation: normal with standard deviation `gain * sqrt(2 / (fan_in + fan_out))`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - `gain`: a factor; default 1.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
 * - source: Glorot and Bengio, 2010, AISTATS.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_xavier_normal(
    flam_tensor *tensor, double gain FLAM_DEFAULT(1),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Kaiming initialisation: uniform within `gain * sqrt(3 / fan)`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - `gain`: sqrt(2) for ReLU; default 1.4142135623730951.
 * - `mode`: which fan; default `FLAM_FAN_IN`.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_kaiming_uniform(
    flam_tensor *tensor, double gain FLAM_DEFAULT(1.4142135623730951),
    flam_fan mode FLAM_DEFAULT(FLAM_FAN_IN),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

/** Kaiming initialisation: normal with standard deviation `gain / sqrt(fan)`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - `gain`: sqrt(2) for ReLU; default 1.4142135623730951.
 * - `mode`: which fan; default `FLAM_FAN_IN`.
 * - `generator`: where the numbers come from; default: the default generator of its device.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API FLAM_SINCE(0, 1) flam_status flam_init_kaiming_normal(
    flam_tensor *tensor, double gain FLAM_DEFAULT(1.4142135623730951),
    flam_fan mode FLAM_DEFAULT(FLAM_FAN_IN),
    FLAM_NULLABLE flam_generator *generator FLAM_DEFAULT(NULL));

#ifdef __cplusplus
}
#endif
#endif
