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
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor F") FLAM_INPLACE flam_tensor *flam_relu(
    const flam_tensor *input);

#ifdef __cplusplus
}
#endif
#endif
