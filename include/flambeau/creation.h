/* New tensors, copies and conversions.
 * namespace: ops
 *
 * `dtype` defaults to the default dtype (f32 unless set), `device` to the default device (cpu
 * unless set).
 */
#ifndef FLAMBEAU_CREATION_H
#define FLAMBEAU_CREATION_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A bare number, as an operand: it promotes by its category only.
 *
 * - `value`: the number.
 * - returns: a 0-d f64 tensor on the cpu that counts as a floating-point number.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_tensor *flam_scalar_f64(double value);

/** A bare integer, as an operand: it promotes by its category only.
 *
 * - `value`: the number.
 * - returns: a 0-d i64 tensor on the cpu that counts as an integer.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_tensor *flam_scalar_i64(int64_t value);

/** A bare truth value, as an operand.
 *
 * - `value`: the truth value.
 * - returns: a 0-d bool tensor on the cpu that counts as a bool.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_tensor *flam_scalar_bool(flam_bool value);

/** A tensor whose elements are not set.
 *
 * - `size`: the shape.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_empty(
    FLAM_VARIADIC const int64_t *size, size_t n_size,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** A tensor of zeros.
 *
 * - `size`: the shape.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_zeros(
    FLAM_VARIADIC const int64_t *size, size_t n_size,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** A tensor of ones.
 *
 * - `size`: the shape.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_ones(
    FLAM_VARIADIC const int64_t *size, size_t n_size,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** A tensor filled with one value.
 *
 * - `size`: the shape.
 * - `fill_value`: a number or 0-d tensor.
 * - `dtype`: of the result; default: `fill_value`'s kind (default dtype, i64 or bool).
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_full(
    const int64_t *size, size_t n_size, const flam_tensor *fill_value,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** Numbers from `start` up to, without, `end`.
 *
 * - `start`: the first number.
 * - `end`: the bound, which is not reached.
 * - `step`: the distance; not 0.
 * - `dtype`: of the result; default: i64 where all three are integers, else the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: [ceil((end - start) / step)].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `step` is 0 or points away from `end`.
 */
FLAM_API FLAM_SINCE(0, 1) flam_tensor *flam_arange(const flam_tensor *start, const flam_tensor *end,
                                                   const flam_tensor *step,
                                                   flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE),
                                                   flam_device device FLAM_DEFAULT(0),
                                                   flam_bool requires_grad FLAM_DEFAULT(0));

/** Sets every element to one value, in place.
 *
 * - `input`: the tensor to fill.
 * - `value`: a number or 0-d tensor.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `value` is not 0-d; `FLAM_ERROR_AUTOGRAD` for a leaf that
 *   requires grad.
 */
FLAM_API FLAM_SINCE(0, 1)
    FLAM_TORCH("torch Tensor")
    FLAM_BORROWED(input) flam_tensor *flam_fill_(flam_tensor *input, const flam_tensor *value);

/** Sets every element to zero, in place.
 *
 * - `input`: the tensor to clear.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_BORROWED(input)
    flam_tensor *flam_zero_(flam_tensor *input);

/** Copies `src` into `input`, converting dtype and crossing devices as needed.
 *
 * - `input`: the destination.
 * - `src`: a tensor whose shape broadcasts to `input`'s; any dtype and device.
 * - `non_blocking`: whether a copy from or to pinned host memory may still run on return; default
 *   false.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS FLAM_TORCH("Tensor") FLAM_BORROWED(input)
    flam_tensor *flam_copy_(flam_tensor *input, const flam_tensor *src, flam_bool non_blocking
        FLAM_DEFAULT(0));

/** The tensor on another device or in another dtype; itself where nothing changes.
 *
 * - `input`: any tensor.
 * - `device`: of the result; default: `input`'s.
 * - `dtype`: of the result; default: `input`'s.
 * - `non_blocking`: whether a copy from or to pinned host memory may still run on return; default
 *   false.
 * - `copy`: whether to copy even where nothing changes; default false.
 * - returns: shape of `input`; gradients flow back to `input`'s device and dtype.
 * - errors: `FLAM_ERROR_NO_GPU` where the device does not exist; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_BLOCKS flam_tensor *flam_to(
    const flam_tensor *input, flam_device device FLAM_DEFAULT(0),
    flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_bool non_blocking FLAM_DEFAULT(0),
    flam_bool copy FLAM_DEFAULT(0));

/** Gives a tensor another shape in place; memory grows where needed and new elements are not set.
 *
 * - `input`: a tensor that does not require grad.
 * - `size`: the new shape.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` where `input` requires grad; `FLAM_ERROR_SHAPE` for a negative
 *   size.
 */
FLAM_API FLAM_SINCE(0, 1)
    FLAM_TORCH("Tensor") FLAM_BORROWED(input) flam_tensor *flam_resize_(flam_tensor *input,
                                                   FLAM_VARIADIC const int64_t *size,
                                                   size_t n_size);

/** A tensor with given strides whose elements are not set.
 *
 * - `size`: the shape.
 * - `stride`: distances in elements, one per dimension, not negative.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a tensor of that geometry.
 * - errors: `FLAM_ERROR_SHAPE` for negative numbers or lists of different length; out of memory.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_empty_strided(
    const int64_t *size, size_t n_size, const int64_t *stride, size_t n_stride,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** A tensor like another, whose elements are not set.
 *
 * - `input`: gives shape and dense layout.
 * - `dtype`: of the result; default: `input`'s.
 * - `device`: of the result; default: `input`'s.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_empty_like(
    const flam_tensor *input, FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE),
    flam_device device FLAM_DEFAULT(0), flam_bool requires_grad FLAM_DEFAULT(0));

/** Zeros in the shape of another tensor.
 *
 * - `input`: gives shape and dense layout.
 * - `dtype`: of the result; default: `input`'s.
 * - `device`: of the result; default: `input`'s.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_zeros_like(
    const flam_tensor *input, FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE),
    flam_device device FLAM_DEFAULT(0), flam_bool requires_grad FLAM_DEFAULT(0));

/** Ones in the shape of another tensor.
 *
 * - `input`: gives shape and dense layout.
 * - `dtype`: of the result; default: `input`'s.
 * - `device`: of the result; default: `input`'s.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_ones_like(
    const flam_tensor *input, FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE),
    flam_device device FLAM_DEFAULT(0), flam_bool requires_grad FLAM_DEFAULT(0));

/** One value in the shape of another tensor.
 *
 * - `input`: gives shape and dense layout.
 * - `fill_value`: a number or 0-d tensor.
 * - `dtype`: of the result; default: `input`'s.
 * - `device`: of the result; default: `input`'s.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_SHAPE` where `fill_value` is not 0-d; `FLAM_ERROR_OUT_OF_DEVICE_MEMORY`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_full_like(
    const flam_tensor *input, const flam_tensor *fill_value,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** Numbers at equal distances, both ends included.
 *
 * - `start`: the first number.
 * - `end`: the last number.
 * - `steps`: how many.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: [steps].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `steps` is negative.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_linspace(
    double start, double end, int64_t steps,
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** Powers of a base at equal distances of the exponent, both ends included.
 *
 * - `start`: the first exponent.
 * - `end`: the last exponent.
 * - `steps`: how many.
 * - `base`: the base; default 10.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: [steps].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `steps` is negative.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_logspace(
    double start, double end, int64_t steps, double base FLAM_DEFAULT(10),
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** Ones on the diagonal, zeros elsewhere.
 *
 * - `n`: rows.
 * - `m`: columns; default: `n`.
 * - `dtype`: of the result; default: the default dtype.
 * - `device`: of the result; default: the default device.
 * - `requires_grad`: whether autograd records operations on it; default false.
 * - returns: [n, m].
 * - errors: `FLAM_ERROR_SHAPE` for negative numbers.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch") flam_tensor *flam_eye(
    int64_t n, FLAM_NULLABLE const int64_t *m FLAM_DEFAULT(NULL),
    FLAM_KEYWORD flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE), flam_device device FLAM_DEFAULT(0),
    flam_bool requires_grad FLAM_DEFAULT(0));

/** The lower triangle of matrices; zeros above.
 *
 * - `input`: [..., n, m], any dtype.
 * - `diagonal`: the last diagonal that stays: above the main one where positive; default 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT flam_tensor *flam_tril(
    const flam_tensor *input, int64_t diagonal FLAM_DEFAULT(0));

/** The upper triangle of matrices; zeros below.
 *
 * - `input`: [..., n, m], any dtype.
 * - `diagonal`: the first diagonal that stays: above the main one where positive; default 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("torch Tensor") FLAM_INPLACE FLAM_OUT flam_tensor *flam_triu(
    const flam_tensor *input, int64_t diagonal FLAM_DEFAULT(0));

#ifdef __cplusplus
}
#endif
#endif
