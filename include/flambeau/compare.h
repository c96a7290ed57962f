/* Comparisons of two operands, with broadcasting and type promotion; results are bool.
 * namespace: ops
 */
#ifndef FLAMBEAU_COMPARE_H
#define FLAMBEAU_COMPARE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether `input` is equal to `other`, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype. Both are compared in the promoted
 *   dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_eq(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Whether `input` is not equal to `other`, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype. Both are compared in the promoted
 *   dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.not_equal Tensor.not_equal")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_ne(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Whether `input` is less than `other`, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype. Both are compared in the promoted
 *   dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.less Tensor.less")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_lt(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Whether `input` is less than or equal to `other`, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype. Both are compared in the promoted
 *   dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.less_equal Tensor.less_equal")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_le(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Whether `input` is greater than `other`, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype. Both are compared in the promoted
 *   dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.greater Tensor.greater")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_gt(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Whether `input` is greater than or equal to `other`, elementwise.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; any dtype. Both are compared in the promoted
 *   dtype.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor torch.greater_equal Tensor.greater_equal")
FLAM_API FLAM_INPLACE FLAM_OUT flam_tensor *flam_ge(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *other);

/** Options of `flam_isclose` and `flam_allclose`. */
typedef struct flam_close_options {
  size_t struct_size; /**< sizeof(flam_close_options) */
  double rtol FLAM_DEFAULT(1e-5); /**< relative tolerance, at least 0; default 1e-5 */
  double atol FLAM_DEFAULT(1e-8); /**< absolute tolerance, at least 0; default 1e-8 */
  flam_bool equal_nan FLAM_DEFAULT(0); /**< whether two NaN count as close; default false */
  int32_t reserved; /**< 0 */
} flam_close_options;

/** Whether `|input - other| <= atol + rtol * |other|`, elementwise; equal infinities are close.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; dtype of `input`.
 * - returns: the broadcast shape, bool.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` where the dtypes differ; `FLAM_ERROR_INVALID_ARGUMENT` for a negative
 *   tolerance.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_isclose(
    const flam_tensor *input, const flam_tensor *other, const flam_close_options *options);

/** Whether all elements are close in the sense of `flam_isclose`.
 *
 * - `input`: any shape and dtype.
 * - `other`: shape that broadcasts with `input`'s; dtype of `input`.
 * - `out_close`: the answer.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where the shapes do not broadcast; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_DTYPE` where the dtypes differ; `FLAM_ERROR_INVALID_ARGUMENT` for a negative
 *   tolerance.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS flam_status flam_allclose(
    const flam_tensor *input, const flam_tensor *other, flam_bool *out_close,
    const flam_close_options *options);

/** Whether two tensors have the same shape and elements; NaN equals nothing.
 *
 * - `input`: any shape and dtype.
 * - `other`: any shape and dtype.
 * - `out_equal`: the answer; false where shapes differ.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS flam_status
flam_equal(const flam_tensor *input, const flam_tensor *other, flam_bool *out_equal);

#ifdef __cplusplus
}
#endif
#endif
