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
FLAM_API flam_tensor *flam_scalar_f64(double value);

/** A bare integer, as an operand: it promotes by its category only.
 *
 * - `value`: the number.
 * - returns: a 0-d i64 tensor on the cpu that counts as an integer.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor *flam_scalar_i64(int64_t value);

/** A bare truth value, as an operand.
 *
 * - `value`: the truth value.
 * - returns: a 0-d bool tensor on the cpu that counts as a bool.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor *flam_scalar_bool(flam_bool value);

/** A bare complex number, as an operand: it promotes by its category only.
 *
 * - `real`: the real part.
 * - `imag`: the imaginary part.
 * - returns: a 0-d c128 tensor on the cpu that counts as a complex number.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor *flam_scalar_c128(double real, double imag);

/** What a new tensor is made of, where nothing else says it. */
typedef struct flam_creation_options {
  size_t struct_size; /**< sizeof(flam_creation_options) */
  flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE); /**< of the result; default: `input`'s */
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_creation_options;

/** A tensor whose elements are not set.
 *
 * - `size`: the shape.
 * - `dtype`: of the result; default: the default dtype.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_empty(
    const int64_t *size FLAM_VARIADIC, size_t n_size,
    const flam_creation_options *options FLAM_KEYWORD);

/** A tensor of zeros.
 *
 * - `size`: the shape.
 * - `dtype`: of the result; default: the default dtype.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_zeros(
    const int64_t *size FLAM_VARIADIC, size_t n_size,
    const flam_creation_options *options FLAM_KEYWORD);

/** A tensor of ones.
 *
 * - `size`: the shape.
 * - `dtype`: of the result; default: the default dtype.
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_ones(
    const int64_t *size FLAM_VARIADIC, size_t n_size,
    const flam_creation_options *options FLAM_KEYWORD);

/** A tensor filled with one value.
 *
 * - `size`: the shape.
 * - `fill_value`: a number or 0-d tensor.
 * - `dtype`: of the result; default: `fill_value`'s kind (default dtype, i64 or bool).
 * - returns: a contiguous tensor.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where the dtype has no value for a number.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_full(
    const int64_t *size, size_t n_size,
    FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *fill_value,
    const flam_creation_options *options FLAM_KEYWORD);

/** Numbers from `start` up to, without, `end`.
 *
 * - `start`: the first number.
 * - `end`: the bound, which is not reached.
 * - `step`: the distance; not 0.
 * - `dtype`: of the result; default: i64 where all three are integers, else the default dtype.
 * - returns: [ceil((end - start) / step)].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `step` is 0 or points away from `end`;
 *   `FLAM_ERROR_SHAPE` where a bound has dimensions; `FLAM_ERROR_DTYPE`.
 */
FLAM_API flam_tensor *flam_arange(
    FLAM_NUMBER(f64 i64) const flam_tensor *start, FLAM_NUMBER(f64 i64) const flam_tensor *end,
    FLAM_NUMBER(f64 i64) const flam_tensor *step, const flam_creation_options *options);

/** Sets every element to one value, in place.
 *
 * - `input`: the tensor to fill.
 * - `value`: a number or 0-d tensor.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_SHAPE` where `value` is not 0-d; `FLAM_ERROR_INVALID_ARGUMENT` where the
 *   dtype has no value for a number; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_TORCH("torch Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_fill_(
    flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *value);

/** Sets every element to zero, in place.
 *
 * - `input`: the tensor to clear.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_TORCH("torch Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_zero_(flam_tensor *input);

/** Copies `src` into `input`, converting dtype and crossing devices as needed.
 *
 * - `input`: the destination.
 * - `src`: a tensor whose shape broadcasts to `input`'s; any dtype and device.
 * - `non_blocking`: whether a copy from or to pinned host memory may still run on return; default
 *   false.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_AUTOGRAD` for a leaf that requires grad.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API FLAM_BLOCKS flam_tensor *flam_copy_(
    flam_tensor *input, FLAM_OR_NUMBER const flam_tensor *src,
    flam_bool non_blocking FLAM_DEFAULT(0));

/** Options of `flam_to`. */
typedef struct flam_to_options {
  size_t struct_size; /**< sizeof(flam_to_options) */
  /** whether a copy from or to pinned host memory may still run on return; default false */
  flam_bool non_blocking FLAM_DEFAULT(0);
  flam_bool copy FLAM_DEFAULT(0); /**< whether to copy even where nothing changes; default false */
} flam_to_options;

/** The tensor on another device or in another dtype; itself where nothing changes.
 *
 * - `input`: any tensor.
 * - `device`: of the result; default: `input`'s.
 * - `dtype`: of the result; default: `input`'s.
 * - returns: shape of `input`; gradients flow back to `input`'s device and dtype.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device, `FLAM_ERROR_NO_GPU` where
 *   there is no GPU.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_to(
    const flam_tensor *input, flam_dtype dtype FLAM_DEFAULT(FLAM_DTYPE_NONE) FLAM_AFTER(device),
    flam_device device FLAM_DEFAULT(0), const flam_to_options *options);

/** Gives a tensor another shape in place; memory grows where needed and new elements are not set.
 *
 * - `input`: a tensor that does not require grad.
 * - `size`: the new shape.
 * - returns: `input`.
 * - errors: `FLAM_ERROR_AUTOGRAD` where `input` requires grad; `FLAM_ERROR_SHAPE` for a negative
 *   size.
 */
FLAM_TORCH("Tensor")
FLAM_BORROWED(input)
FLAM_API flam_tensor *flam_resize_(
    flam_tensor *input, FLAM_VARIADIC const int64_t *size, size_t n_size);

/** A tensor with given strides whose elements are not set.
 *
 * - `size`: the shape.
 * - `stride`: distances in elements, one per dimension, not negative.
 * - `dtype`: of the result; default: the default dtype.
 * - returns: a tensor of that geometry.
 * - errors: `FLAM_ERROR_SHAPE` for negative numbers or lists of different length; out of memory.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_empty_strided(
    const int64_t *size, size_t n_size, const int64_t *stride, size_t n_stride,
    const flam_creation_options *options FLAM_KEYWORD);

/** A tensor like another, whose elements are not set.
 *
 * - `input`: gives shape and dense layout.
 * - `device`: of the result; default: `input`'s.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_DTYPE` where `requires_grad` is set and the dtype is a whole one or bool.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_empty_like(
    const flam_tensor *input, const flam_creation_options *options FLAM_KEYWORD);

/** Zeros in the shape of another tensor.
 *
 * - `input`: gives shape and dense layout.
 * - `device`: of the result; default: `input`'s.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_DTYPE` where `requires_grad` is set and the dtype is a whole one or bool.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_zeros_like(
    const flam_tensor *input, const flam_creation_options *options FLAM_KEYWORD);

/** Ones in the shape of another tensor.
 *
 * - `input`: gives shape and dense layout.
 * - `device`: of the result; default: `input`'s.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_DTYPE` where `requires_grad` is set and the dtype is a whole one or bool.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_ones_like(
    const flam_tensor *input, const flam_creation_options *options FLAM_KEYWORD);

/** One value in the shape of another tensor.
 *
 * - `input`: gives shape and dense layout.
 * - `fill_value`: a number or 0-d tensor.
 * - `device`: of the result; default: `input`'s.
 * - returns: a tensor of `input`'s shape.
 * - errors: `FLAM_ERROR_SHAPE` where `fill_value` is not 0-d; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where the dtype has no value for a number.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_full_like(
    const flam_tensor *input, FLAM_NUMBER(f64 i64) FLAM_OR_NUMBER const flam_tensor *fill_value,
    const flam_creation_options *options FLAM_KEYWORD);

/** Numbers at equal distances, both ends included.
 *
 * - `start`: the first number.
 * - `end`: the last number.
 * - `steps`: how many.
 * - `dtype`: of the result; default: the default dtype.
 * - returns: [steps].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `steps` is negative; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_linspace(
    double start, double end, int64_t steps, const flam_creation_options *options FLAM_KEYWORD);

/** Options of `flam_logspace`. */
typedef struct flam_logspace_options {
  size_t struct_size; /**< sizeof(flam_logspace_options) */
  double base FLAM_DEFAULT(10); /**< the base; default 10 */
  /** of the result; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_logspace_options;

/** Powers of a base at equal distances of the exponent, both ends included.
 *
 * - `start`: the first exponent.
 * - `end`: the last exponent.
 * - `steps`: how many.
 * - returns: [steps].
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `steps` is negative.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_logspace(
    double start, double end, int64_t steps, const flam_logspace_options *options);

/** Options of `flam_eye`. */
typedef struct flam_eye_options {
  size_t struct_size; /**< sizeof(flam_eye_options) */
  const int64_t *m FLAM_DEFAULT(NULL); /**< columns; default: `n` */
  /** of the result; default: the default dtype */
  flam_dtype dtype FLAM_KEYWORD FLAM_DEFAULT(FLAM_DTYPE_NONE);
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_eye_options;

/** Ones on the diagonal, zeros elsewhere.
 *
 * - `n`: rows.
 * - returns: [n, m].
 * - errors: `FLAM_ERROR_SHAPE` for negative numbers.
 */
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_eye(int64_t n, const flam_eye_options *options);

/** The lower triangle of matrices; zeros above.
 *
 * - `input`: [..., n, m], any dtype.
 * - `diagonal`: the last diagonal that stays: above the main one where positive; default 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_tril(
    const flam_tensor *input, int64_t diagonal FLAM_DEFAULT(0));

/** The upper triangle of matrices; zeros below.
 *
 * - `input`: [..., n, m], any dtype.
 * - `diagonal`: the first diagonal that stays: above the main one where positive; default 0.
 * - returns: shape and dtype of `input`.
 * - errors: `FLAM_ERROR_SHAPE` for fewer than two dimensions.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_INPLACE FLAM_OUT_EXACT flam_tensor *flam_triu(
    const flam_tensor *input, int64_t diagonal FLAM_DEFAULT(0));

#ifdef __cplusplus
}
#endif
#endif
