/* What runs along a dimension beside sums and products: extremes, differences, integrals.
 * namespace: ops
 */
#ifndef FLAMBEAU_RUNNING_H
#define FLAMBEAU_RUNNING_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Greatest elements so far along a dimension and where they are. NaN wins; of equals, the last.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to run along.
 * - `out_values`: shape and dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_cummax(
    const flam_tensor *input, int64_t dim, flam_tensor **out_values, flam_tensor **out_indices);

/** Least elements so far along a dimension and where they are. NaN wins; of equals, the last.
 *
 * - `input`: any shape and dtype.
 * - `dim`: the dimension to run along.
 * - `out_values`: shape and dtype of `input`.
 * - `out_indices`: their positions along `dim`, int64.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_cummin(
    const flam_tensor *input, int64_t dim, flam_tensor **out_values, flam_tensor **out_indices);

/** Logarithms of running sums of exponentials, computed without overflow.
 *
 * - `input`: any shape; floating point.
 * - `dim`: the dimension to run along.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_logcumsumexp(const flam_tensor *input, int64_t dim);

/** Options of `flam_diff`. */
typedef struct flam_diff_options {
  size_t struct_size; /**< sizeof(flam_diff_options) */
  int64_t n FLAM_DEFAULT(1); /**< how often to take differences; default 1 */
  int64_t dim FLAM_DEFAULT(-1); /**< the dimension; default -1 */
} flam_diff_options;

/** Differences of neighbours along a dimension; of bool, whether they differ.
 *
 * - `input`: at least 1-d; any dtype.
 * - `prepend`: `input`'s shape but along `dim`: put before it; default: nothing.
 * - `append`: `input`'s shape but along `dim`: put behind it; default: nothing.
 * - returns: `n` less along `dim`, at least 0.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INDEX`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative
 *   `n`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_diff(
    const flam_tensor *input,
    FLAM_NULLABLE const flam_tensor *prepend FLAM_AFTER(dim) FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *append FLAM_AFTER(dim) FLAM_DEFAULT(NULL),
    const flam_diff_options *options);

/** Options of `flam_trapezoid` and `flam_cumulative_trapezoid`. */
typedef struct flam_trapezoid_options {
  size_t struct_size; /**< sizeof(flam_trapezoid_options) */
  /** distance of the points where `x` is none; default 1 */
  double dx FLAM_KEYWORD FLAM_DEFAULT(1);
  int64_t dim FLAM_DEFAULT(-1); /**< the dimension to integrate along; default -1 */
} flam_trapezoid_options;

/** Integral by the trapezoidal rule.
 *
 * - `y`: heights, at least 1-d.
 * - `x`: where they are; as many as `y` has along `dim`, or a shape that broadcasts to `y`'s;
 *   default: at equal distances, `dx`.
 * - returns: `y`'s shape without `dim`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for `dx` beside `x`; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch torch.trapz")
FLAM_API flam_tensor *flam_trapezoid(
    const flam_tensor *y, FLAM_NULLABLE const flam_tensor *x FLAM_DEFAULT(NULL),
    const flam_trapezoid_options *options);

/** Running integral by the trapezoidal rule.
 *
 * - `y`: heights, at least 1-d.
 * - `x`: where they are; as many as `y` has along `dim`, or a shape that broadcasts to `y`'s;
 *   default: at equal distances, `dx`.
 * - returns: 1 less along `dim`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for `dx` beside `x`; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_cumulative_trapezoid(
    const flam_tensor *y, FLAM_NULLABLE const flam_tensor *x FLAM_DEFAULT(NULL),
    const flam_trapezoid_options *options);

/** Options of `flam_gradient`. */
typedef struct flam_gradient_options {
  size_t struct_size; /**< sizeof(flam_gradient_options) */
  /** distance of neighbours: one for all dimensions, or one for each of `dim`; default 1 */
  const double *spacing FLAM_KEYWORD FLAM_DEFAULT(NULL);
  size_t n_spacing;
  /** dimensions to take slopes along, each once; default: all */
  const int64_t *dim FLAM_EMPTY FLAM_DEFAULT(NULL);
  size_t n_dim;
  int64_t edge_order FLAM_DEFAULT(1); /**< of the differences at both ends, 1 or 2; default 1 */
} flam_gradient_options;

/** Slopes of a function along dimensions, from samples at equal distances: differences of both
 * neighbours, at the ends one-sided ones of `edge_order`.
 *
 * - `input`: samples, at least `edge_order` + 1 along each of the dimensions; any dtype but u8 and
 *   bool.
 * - returns: a tensor for each dimension, in the order of `dim`; shape of `input`; its dtype,
 *   integers give the default one.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range; `FLAM_ERROR_SHAPE` for too few
 *   samples; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a dimension that is named twice,
 *   another number of distances, or another `edge_order`.
 * - source: Fornberg, 1988, doi 10.1090/S0025-5718-1988-0935077-0.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor_list *flam_gradient(
    const flam_tensor *input, const flam_gradient_options *options);

/** Options of `flam_gradient_at`. */
typedef struct flam_gradient_at_options {
  size_t struct_size; /**< sizeof(flam_gradient_at_options) */
  /** dimensions to take slopes along, each once; default: all */
  const int64_t *dim FLAM_EMPTY FLAM_DEFAULT(NULL);
  size_t n_dim;
  int64_t edge_order FLAM_DEFAULT(1); /**< of the differences at both ends, 1 or 2; default 1 */
} flam_gradient_at_options;

/** `flam_gradient` of samples at places that are given: the differences are of second order inside
 * whatever the distances.
 *
 * - `input`: samples, at least `edge_order` + 1 along each of the dimensions; any dtype but u8 and
 *   bool.
 * - `spacing`: where the samples are along each dimension, in the order of `dim`: 1-d, as many as
 *   `input` has there.
 * - returns: a tensor for each dimension, in the order of `dim`; shape of `input`; the promoted
 *   dtype, integers give the default one.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range; `FLAM_ERROR_SHAPE`;
 *   `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INVALID_ARGUMENT` for a dimension
 *   that is named twice, another number of lists of places, or another `edge_order`.
 * - source: Fornberg, 1988, doi 10.1090/S0025-5718-1988-0935077-0.
 */
FLAM_TORCH("torch.gradient")
FLAM_API flam_tensor_list *flam_gradient_at(
    const flam_tensor *input, FLAM_KEYWORD flam_tensor *const *spacing, size_t n_spacing,
    const flam_gradient_at_options *options);

#ifdef __cplusplus
}
#endif
#endif
