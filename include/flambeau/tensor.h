/* Tensors as handles: ownership, geometry, memory, what autograd knows of them, and text.
 * namespace: capi
 *
 * A handle is one count of a shared tensor. Getters never fail and never wait, unless they return a
 * status; a NULL handle reads as zero. Pointers that a getter returns live as long as the tensor
 * keeps its shape.
 */
#ifndef FLAMBEAU_TENSOR_H
#define FLAMBEAU_TENSOR_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Several tensors as one result; entries may be missing. */
typedef struct flam_tensor_list flam_tensor_list;

/** How `flam_tensor_format` writes numbers. */
typedef struct flam_format_options {
  size_t struct_size; /**< sizeof(flam_format_options) */
  int64_t precision FLAM_DEFAULT(4); /**< digits after the point; default 4 */
  int64_t threshold FLAM_DEFAULT(1000); /**< more elements than this are summarised; default 1000 */
  /** how many a summary shows at each end of a dimension; default 3 */
  int64_t edgeitems FLAM_DEFAULT(3);
  int64_t linewidth FLAM_DEFAULT(80); /**< characters per line; default 80 */
  /** scientific notation: 0 never, 1 always, -1 where numbers need it; default -1 */
  int32_t sci_mode FLAM_DEFAULT(-1);
  /** spaces that the caller writes before the first line; default 0 */
  int32_t indent FLAM_DEFAULT(0);
} flam_format_options;

/* ---- ownership ------------------------------------------------------------------------------ */

/** Gives back a count; the last one frees the tensor. Never fails, on any thread.
 *
 * - `tensor`: the handle, or `NULL`.
 */
FLAM_API void flam_tensor_release(FLAM_NULLABLE flam_tensor *tensor);

/** A list of tensors: what grows while a program runs, or goes where a list is taken.
 *
 * - `tensors`: what it holds, with a count of its own each; `(NULL, 0)` for an empty list.
 * - returns: the list.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor_list *flam_tensor_list_new(flam_tensor *const *tensors, size_t n_tensors);

/** Appends a tensor to a list.
 *
 * - `list`: the list.
 * - `tensor`: the tensor; the list adds a count of its own.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status flam_tensor_list_append(flam_tensor_list *list, const flam_tensor *tensor);

/** A list as the array that functions of several tensors take, beside `flam_tensor_list_size`.
 *
 * - `list`: the list.
 * - returns: its handles, borrowed, valid until the list changes; entries may be `NULL`.
 */
FLAM_BORROWED(list)
FLAM_API flam_tensor *const *flam_tensor_list_data(const flam_tensor_list *list);

/** How many tensors a list has.
 *
 * - `list`: the list.
 * - returns: the count, missing entries included.
 */
FLAM_API size_t flam_tensor_list_size(const flam_tensor_list *list);

/** One tensor of a list.
 *
 * - `list`: the list.
 * - `index`: position, from 0.
 * - returns: the tensor, or `NULL` without an error where the entry is missing.
 * - errors: `FLAM_ERROR_INDEX` where `index` is not below the list's size.
 */
FLAM_API FLAM_NULLABLE flam_tensor *flam_tensor_list_get(
    const flam_tensor_list *list, size_t index);

/** Gives back a list and its counts of the tensors in it. Never fails.
 *
 * - `list`: the list, or `NULL`.
 */
FLAM_API void flam_tensor_list_release(FLAM_NULLABLE flam_tensor_list *list);

/* ---- geometry ------------------------------------------------------------------------------- */

/** Element type.
 *
 * - `tensor`: any tensor.
 * - returns: one of `FLAM_F32` and so on.
 */
FLAM_API flam_dtype flam_tensor_dtype(const flam_tensor *tensor);

/** Where the memory is.
 *
 * - `tensor`: any tensor.
 * - returns: the device, with its index.
 */
FLAM_API flam_device flam_tensor_device(const flam_tensor *tensor);

/** How many dimensions there are.
 *
 * - `tensor`: any tensor.
 * - returns: the number, 0 for a scalar.
 */
FLAM_API int64_t flam_tensor_dim(const flam_tensor *tensor);

/** Size of one dimension.
 *
 * - `tensor`: any tensor.
 * - `dim`: the dimension, negative from the end.
 * - returns: the size; -1 where there is no such dimension.
 */
FLAM_API int64_t flam_tensor_size(const flam_tensor *tensor, int64_t dim);

/** The shape.
 *
 * - `tensor`: any tensor.
 * - returns: `flam_tensor_dim` sizes.
 */
FLAM_BORROWED(tensor)
FLAM_API const int64_t *flam_tensor_sizes(const flam_tensor *tensor);

/** Distances between neighbours along each dimension, in elements.
 *
 * - `tensor`: any tensor.
 * - returns: `flam_tensor_dim` strides.
 */
FLAM_BORROWED(tensor)
FLAM_API const int64_t *flam_tensor_strides(const flam_tensor *tensor);

/** Position of the first element in the storage, in elements.
 *
 * - `tensor`: any tensor.
 * - returns: the offset.
 */
FLAM_API int64_t flam_tensor_storage_offset(const flam_tensor *tensor);

/** How many elements there are.
 *
 * - `tensor`: any tensor.
 * - returns: the product of the sizes; 1 for a scalar.
 */
FLAM_API int64_t flam_tensor_numel(const flam_tensor *tensor);

/** Bytes of one element.
 *
 * - `tensor`: any tensor.
 * - returns: 1, 2, 4 or 8.
 */
FLAM_API int64_t flam_tensor_element_size(const flam_tensor *tensor);

/** Bytes of all elements.
 *
 * - `tensor`: any tensor.
 * - returns: elements times their size.
 */
FLAM_API int64_t flam_tensor_nbytes(const flam_tensor *tensor);

/** How often a tensor is referred to: by handles, and by what the library keeps, such as recorded
 * operations that need it and views of it.
 *
 * - `tensor`: any tensor.
 * - returns: the number; 1 where it ends with the caller's handle.
 */
FLAM_API int64_t flam_tensor_use_count(const flam_tensor *tensor);

/** Whether the elements lie in C order without gaps.
 *
 * - `tensor`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_is_contiguous(const flam_tensor *tensor);

/** Whether this is a bare number (`flam_scalar_f64` and friends), which promotes by its category
 * only.
 *
 * - `tensor`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_is_wrapped_number(const flam_tensor *tensor);

/* ---- memory --------------------------------------------------------------------------------- */

/** Address of the first element, on the tensor's device. Nothing is waited for.
 *
 * - `tensor`: any tensor.
 * - returns: the address; `NULL` where there are no bytes.
 */
FLAM_BORROWED(tensor)
FLAM_API void *flam_tensor_data_ptr(const flam_tensor *tensor);

/** Keeps the memory of a tensor, and of all that share it, where it is, for others who point to it:
 * `flam_resize_` fails from now on where it would have to move it.
 *
 * - `tensor`: any tensor.
 */
FLAM_API void flam_tensor_fix_memory(flam_tensor *tensor);

/** Address of the first element, for the host to read or write. Waits for copies into or out of it.
 *
 * - `tensor`: a tensor on the cpu.
 * - `out_data`: the address, valid as long as the tensor keeps its memory.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH` where the tensor is not on the cpu.
 */
FLAM_API FLAM_BLOCKS flam_status flam_tensor_host_data(const flam_tensor *tensor, void **out_data);

/** Counts a write that happened outside the library, so that backward notices overwritten values.
 *
 * - `tensor`: the tensor whose memory was written.
 */
FLAM_API void flam_tensor_mark_written(flam_tensor *tensor);

/** How often the memory was written in place.
 *
 * - `tensor`: any tensor.
 * - returns: the version; views share it.
 */
FLAM_API int64_t flam_tensor_version(const flam_tensor *tensor);

/** Whether the memory is page-locked, so that copies to a device need not wait.
 *
 * - `tensor`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_is_pinned(const flam_tensor *tensor);

/** A copy in page-locked host memory; the tensor itself where it is there already.
 *
 * - `tensor`: a tensor on the cpu.
 * - returns: a contiguous tensor without history.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH` where the tensor is not on the cpu;
 *   `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_tensor_pin_memory(const flam_tensor *tensor);

/** Whether two tensors lie in one storage.
 *
 * - `tensor`: any tensor.
 * - `other`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_shares_storage(const flam_tensor *tensor, const flam_tensor *other);

/** Address of the storage's first byte, on its device.
 *
 * - `tensor`: any tensor.
 * - returns: the address; on meta one that only tells storages apart; `NULL` of no bytes.
 */
FLAM_BORROWED(tensor)
FLAM_API void *flam_tensor_storage_data(const flam_tensor *tensor);

/** Bytes of the whole storage.
 *
 * - `tensor`: any tensor.
 * - returns: at least what the tensor's elements reach.
 */
FLAM_API int64_t flam_tensor_storage_nbytes(const flam_tensor *tensor);

/** Says that another stream uses the memory too: it is not reused before that stream's work is
 * done.
 *
 * - `tensor`: a tensor on a device.
 * - `stream`: the other stream.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH` where they are on different devices.
 */
FLAM_API flam_status flam_tensor_record_stream(flam_tensor *tensor, const flam_stream *stream);

/** Options of `flam_tensor_from_data`. */
typedef struct flam_tensor_from_data_options {
  size_t struct_size; /**< sizeof(flam_tensor_from_data_options) */
  flam_device device FLAM_DEFAULT(0); /**< of the result; default: the default device */
  /** whether autograd records operations on it; default false */
  flam_bool requires_grad FLAM_DEFAULT(0);
} flam_tensor_from_data_options;

/** A tensor with a copy of host memory.
 *
 * - `data`: elements in C order; may be `NULL` where there are none.
 * - `size`: the shape.
 * - `dtype`: what `data` holds.
 * - returns: a contiguous tensor; `data` may go away at once.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size; `FLAM_ERROR_DTYPE` for an unknown dtype or one
 *   that cannot require grad; out of memory; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_tensor_from_data(
    FLAM_NULLABLE const void *data, const int64_t *size, size_t n_size, flam_dtype dtype,
    const flam_tensor_from_data_options *options);

/** Options of `flam_tensor_from_blob`. */
typedef struct flam_tensor_from_blob_options {
  size_t struct_size; /**< sizeof(flam_tensor_from_blob_options) */
  const int64_t *stride FLAM_EMPTY FLAM_DEFAULT(NULL); /**< strides in elements; default: C order */
  size_t n_stride;
  flam_device device FLAM_DEFAULT(0); /**< where `data` is; default: the cpu */
  int32_t reserved; /**< 0 */
} flam_tensor_from_blob_options;

/** A tensor over memory of the caller, which stays where it is.
 *
 * - `data`: the first element, on `device`.
 * - `size`: the shape.
 * - `dtype`: what `data` holds.
 * - `drop`: called exactly once with `user`, on any thread, when nothing uses the memory any more
 *   or when this call fails; may be `NULL`.
 * - `user`: handed to `drop`.
 * - returns: a tensor whose writes the caller sees.
 * - errors: `FLAM_ERROR_SHAPE` for a negative size or stride; `FLAM_ERROR_DTYPE` for an unknown
 *   dtype; `FLAM_ERROR_INVALID_ARGUMENT` where `data` is absent and the shape has elements.
 */
FLAM_API flam_tensor *flam_tensor_from_blob(
    FLAM_NULLABLE void *data, const int64_t *size, size_t n_size,
    flam_dtype dtype FLAM_AFTER(stride),
    FLAM_NULLABLE void (*drop)(void *) FLAM_AFTER(device) FLAM_DEFAULT(NULL),
    FLAM_NULLABLE void *user FLAM_AFTER(device) FLAM_DEFAULT(NULL),
    const flam_tensor_from_blob_options *options);

/** Copies a tensor's elements out, in C order, from any device.
 *
 * - `tensor`: any tensor.
 * - `buffer`: host memory to fill.
 * - `nbytes`: bytes of `buffer`; must be `flam_tensor_nbytes`.
 * - returns: `FLAM_OK`, with `buffer` filled.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where `nbytes` differs; device errors.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_tensor_to_host(const flam_tensor *tensor, FLAM_NULLABLE void *buffer, size_t nbytes);

/** The only element, as a floating-point number.
 *
 * - `tensor`: one element, any dtype but complex, any device.
 * - `out_value`: the number.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where there is not exactly one element; `FLAM_ERROR_UNSUPPORTED` for
 *   a complex one.
 */
FLAM_API FLAM_BLOCKS flam_status flam_tensor_item_f64(const flam_tensor *tensor, double *out_value);

/** The only element, as a complex number.
 *
 * - `tensor`: one element, any dtype and device.
 * - `out_real`: the real part.
 * - `out_imag`: the imaginary part; 0 of a real element.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where there is not exactly one element.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_tensor_item_c128(const flam_tensor *tensor, double *out_real, double *out_imag);

/** The only element, as an integer; a fraction is cut off.
 *
 * - `tensor`: one element, any dtype and device.
 * - `out_value`: the number.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE` where there is not exactly one element;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where it is NaN, infinite or beyond 64 bits.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_tensor_item_i64(const flam_tensor *tensor, int64_t *out_value);

/** Makes a tensor stand for the memory, shape, dtype and device of another; its gradient and hooks
 * stay.
 *
 * - `tensor`: the tensor to change; a leaf.
 * - `src`: what it then shares memory with.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where `tensor` requires grad and `src` is not floating point;
 *   `FLAM_ERROR_AUTOGRAD` where `tensor` is not a leaf.
 */
FLAM_API flam_status flam_tensor_set_data(flam_tensor *tensor, const flam_tensor *src);

/** The same memory without history, as `flam_detach`, and with a count of writes of its own: what
 * is written through it or its views is not noticed by a backward that has saved `tensor`.
 *
 * - `tensor`: any tensor.
 * - returns: a tensor that shares `tensor`'s memory and does not require grad; its version is 0.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor *flam_tensor_detach_data(const flam_tensor *tensor);

/* ---- what autograd knows -------------------------------------------------------------------- */

/** Whether operations on it are recorded.
 *
 * - `tensor`: any tensor.
 * - returns: true for a leaf that requires grad and for what was computed from one.
 */
FLAM_API flam_bool flam_tensor_requires_grad(const flam_tensor *tensor);

/** Says whether operations on a leaf are recorded.
 *
 * - `tensor`: a leaf of floating-point dtype.
 * - `requires_grad`: true or false.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where the dtype is not floating point; `FLAM_ERROR_AUTOGRAD` for
 *   false on what was computed by a recorded operation (use `flam_detach`).
 */
FLAM_API flam_status flam_tensor_set_requires_grad(flam_tensor *tensor, flam_bool requires_grad);

/** Whether it was not computed by a recorded operation.
 *
 * - `tensor`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_is_leaf(const flam_tensor *tensor);

/** The accumulated gradient.
 *
 * - `tensor`: any tensor.
 * - returns: the gradient, or `NULL` without an error where there is none.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_NULLABLE flam_tensor *flam_tensor_grad(const flam_tensor *tensor);

/** Replaces the accumulated gradient.
 *
 * - `tensor`: any tensor.
 * - `grad`: shape, dtype and device of `tensor`; `NULL` removes the gradient.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH` where they differ.
 */
FLAM_API flam_status
flam_tensor_set_grad(flam_tensor *tensor, FLAM_NULLABLE const flam_tensor *grad);

/** Whether it is a view that autograd follows.
 *
 * - `tensor`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_is_view(const flam_tensor *tensor);

/** The tensor that a view was first taken from.
 *
 * - `tensor`: any tensor.
 * - returns: the base, or `NULL` without an error where `tensor` is not a view.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_NULLABLE flam_tensor *flam_tensor_base(const flam_tensor *tensor);

/** Whether it was made in inference mode.
 *
 * - `tensor`: any tensor.
 * - returns: true or false.
 */
FLAM_API flam_bool flam_tensor_is_inference(const flam_tensor *tensor);

/** Name of the gradient that a backward pass runs for it, such as `AddBackward0`.
 *
 * - `tensor`: any tensor.
 * - returns: the name, or `NULL` for a leaf.
 */
FLAM_BORROWED(tensor)
FLAM_API const char *flam_tensor_grad_fn_name(const flam_tensor *tensor);

/* ---- text ----------------------------------------------------------------------------------- */

/** A tensor as text, written as PyTorch prints one. Only the elements shown are fetched from a
 * device.
 *
 * - `tensor`: any tensor.
 * - `out_text`: UTF-8 such as `tensor([1., 2.], requires_grad=True)`; valid until this thread
 *   formats again.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a negative option; device errors.
 */
FLAM_API FLAM_BLOCKS flam_status flam_tensor_format(
    const flam_tensor *tensor, const char **out_text, const flam_format_options *options);

/* ---- defaults of creation ------------------------------------------------------------------- */

/** Sets the dtype that creation functions and floating-point numbers take where none is named.
 *
 * - `dtype`: a floating-point dtype.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE` where `dtype` is not floating point.
 */
FLAM_API flam_status flam_set_default_dtype(flam_dtype dtype);

/** The dtype that creation functions take where none is named.
 *
 * - returns: `FLAM_F32` unless set.
 */
FLAM_API flam_dtype flam_get_default_dtype(void);

/** Sets the device that creation functions take where none is named.
 *
 * - `device`: the device; without an index it follows the current device of its type.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device, `FLAM_ERROR_NO_GPU` where
 *   there is no GPU.
 */
FLAM_API flam_status flam_set_default_device(flam_device device);

/** The device that creation functions take where none is named.
 *
 * - returns: the cpu unless set.
 */
FLAM_API flam_device flam_get_default_device(void);

/* A list where a function takes an array of tensors and its length, as in
 * flam_adam_new(FLAM_LIST(params), NULL). `list` is a variable: it is read twice. */
#define FLAM_LIST(list) flam_tensor_list_data(list), flam_tensor_list_size(list)

#ifdef __cplusplus
}
#endif
#endif
