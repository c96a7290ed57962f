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
 *   floating point.
 * - source: Glorot and Bengio, 2010, AISTATS.
 */
FLAM_API flam_status
flam_init_xavier_uniform(flam_tensor *tensor, const flam_init_xavier_options *options);

/** Xavier initialisation: normal with standard deviation `gain * sqrt(2 / (fan_in + fan_out))`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
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
 *   floating point.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API flam_status
flam_init_kaiming_uniform(flam_tensor *tensor, const flam_init_kaiming_options *options);

/** Kaiming initialisation: normal with standard deviation `gain / sqrt(fan)`.
 *
 * - `tensor`: the weight, floating point, of at least two dimensions; filled in place.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions; `FLAM_ERROR_DTYPE` where it is not
 *   floating point.
 * - source: He et al., 2015, arXiv 1502.01852.
 */
FLAM_API flam_status
flam_init_kaiming_normal(flam_tensor *tensor, const flam_init_kaiming_options *options);

#ifdef __cplusplus
}
#endif
#endif
