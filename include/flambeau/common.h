/* The dialect: types, enumerations and the empty macros that every flambeau header is written in.
 *
 * Valid C99 and C++98 and later. A prototype plus its annotations says all that a binding needs,
 * so C shims, Python, Rust and the reference are generated from these headers and from nothing
 * else. Numbers of enumerators are never reused; 0 is "unspecified" everywhere.
 */
#ifndef FLAMBEAU_COMMON_H
#define FLAMBEAU_COMMON_H

#include <stddef.h>
#include <stdint.h>

#define FLAM_VERSION_MAJOR 0
#define FLAM_VERSION_MINOR 2
#define FLAM_VERSION_PATCH 0
#define FLAM_FALSE 0 /* what flam_bool is */
#define FLAM_TRUE 1

#if defined(FLAM_GENERATE) /* the generator's pass only: annotations become visible to libclang */
#define FLAM_META(text) __attribute__((annotate(text)))
#else
#define FLAM_META(text)
#endif

/* On a parameter. */
#define FLAM_NULLABLE FLAM_META("nullable") /* NULL is a value, not a failed operand */
#define FLAM_NULLABLE_ENTRIES FLAM_META("nullable_entries") /* on a list: entries may be NULL */
#define FLAM_EMPTY FLAM_META("empty") /* on an option's list: without entries it is a value */
#define FLAM_DEFAULT(v) FLAM_META("default=" #v) /* bindings may omit the argument */
#define FLAM_VARIADIC FLAM_META("variadic") /* a list that Python also takes as *args */
#define FLAM_KEYWORD FLAM_META("keyword") /* keyword-only in Python, from here on */
#define FLAM_AFTER(option) FLAM_META("after=" #option) /* bindings take it behind that option */
/* on an operand: bindings make it of what programs say, so that errors leave it out */
#define FLAM_ENCODED FLAM_META("encoded")
#define FLAM_CONSUMES FLAM_META("consumes") /* the library takes it over, also on failure */
#define FLAM_NUMBER(kinds) FLAM_META("number=" #kinds) /* derives flam_<op>_f64 and _i64 of it */
#define FLAM_OR_NUMBER FLAM_META("or_number") /* on a tensor: bindings take a plain number, too */

/* On a function. */
#define FLAM_SINCE(x, y) FLAM_META("since=" #x "." #y) /* first version, where not 1.0 */
#define FLAM_BLOCKS FLAM_META("blocks") /* may wait for a device, thread or callback */
#define FLAM_BORROWED(owner) FLAM_META("borrowed=" #owner) /* the result lives as long as owner */
#define FLAM_VALUE FLAM_META("value") /* a status that is the answer: the call never fails */
#define FLAM_TORCH(names) FLAM_META("torch=" names) /* torch's spellings, separated by spaces */
#define FLAM_INPLACE FLAM_META("inplace") /* derives flam_<op>_, which writes into its operand */
#define FLAM_OUT FLAM_META("out") /* derives flam_<op>_out, which writes into `out` */
#define FLAM_OUT_EXACT FLAM_META("out=exact") /* the same; `out` has the dtype of the result */
/* the same operation as `plain`, one function in Python, with options that `plain` lacks */
#define FLAM_EXTENDS(plain) FLAM_META("extends=" #plain)
#define FLAM_VIEW FLAM_META("view") /* the result may be a view of the first tensor, or list */
/* derives flam_nn_<op>, a module that holds the options; `text` is how it prints: the class and, in
 * brackets, options: [name], [name=], or [name or another], a list that may be absent */
#define FLAM_LAYER(text) FLAM_META("layer=" text)
/* What autocast does to the floating operands: lower, f32, widest or banned, or rest, for nothing
 * even in the ops that it is made of; alike on all devices or as in "cpu=lower cuda=f32", where a
 * kind of device that is not named keeps them. */
#define FLAM_AUTOCAST(rule) FLAM_META("autocast=" rule)

#if defined(_WIN32)
#define FLAM_API
#else
#define FLAM_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** 0 is false, anything else true. */
typedef int32_t flam_bool;

/** What a call came to; `FLAM_OK` or the code of this thread's pending error. */
typedef int32_t flam_status;
enum {
  FLAM_OK = 0,
  FLAM_ERROR_INVALID_ARGUMENT = 1,
  FLAM_ERROR_SHAPE = 2,
  FLAM_ERROR_DTYPE = 3,
  FLAM_ERROR_DEVICE_MISMATCH = 4,
  FLAM_ERROR_INDEX = 5,
  FLAM_ERROR_OUT_OF_DEVICE_MEMORY = 6,
  FLAM_ERROR_OUT_OF_HOST_MEMORY = 7,
  FLAM_ERROR_NO_GPU = 8,
  FLAM_ERROR_DRIVER_TOO_OLD = 9,
  FLAM_ERROR_NO_KERNEL_IMAGE = 10,
  FLAM_ERROR_LIBRARY_MISSING = 11,
  FLAM_ERROR_LIBRARY_VERSION = 12,
  FLAM_ERROR_ABI_VERSION = 13,
  FLAM_ERROR_DEVICE_LOST = 14,
  FLAM_ERROR_COLLECTIVE_TIMEOUT = 15,
  FLAM_ERROR_NON_FINITE = 16,
  FLAM_ERROR_GRAPH_CAPTURE = 17,
  FLAM_ERROR_IO = 18,
  FLAM_ERROR_CALLBACK = 19,
  FLAM_ERROR_UNSUPPORTED = 20,
  FLAM_ERROR_INTERNAL = 21,
  FLAM_ERROR_AUTOGRAD = 22, /* no graph, freed graph, or a saved tensor was overwritten */
  FLAM_ERROR_SCOPE = 23, /* a scope popped out of order or on another thread */
  FLAM_ERROR_LINALG = 24, /* a matrix that is singular or not positive-definite */
  FLAM_ERROR_RECOMPUTE = 25, /* a checkpointed function saved other values when it ran again */
  FLAM_ERROR_PEER_LOST = 26 /* a process of the group died, left or cannot be reached */
};

/** Element type of a tensor. */
typedef int32_t flam_dtype;
enum {
  FLAM_DTYPE_NONE = 0,
  FLAM_F32 = 1,
  FLAM_F64 = 2,
  FLAM_F16 = 3,
  FLAM_BF16 = 4,
  FLAM_I64 = 5,
  FLAM_I32 = 6,
  FLAM_I16 = 7,
  FLAM_I8 = 8,
  FLAM_U8 = 9,
  FLAM_BOOL = 10,
  FLAM_C64 = 11, /* complex: two floats, the real part first */
  FLAM_C128 = 12 /* complex: two doubles */
};

/** Kind of device; DLPack's numbers, which has none for `FLAM_META`: its tensors have a shape, a
 *  dtype and strides and no elements, so that a model of any size is described without memory.
 *  What would read elements fails with `FLAM_ERROR_UNSUPPORTED`. */
typedef int32_t flam_device_type;
enum {
  FLAM_DEVICE_NONE = 0,
  FLAM_CPU = 1,
  FLAM_CUDA = 2,
  FLAM_SIM = 12, /* DLPack's kDLExtDev: a simulated GPU */
  FLAM_META = 64
};

/** A device as a small value: type and index, made by `flam_device_parse` or `flam_device_make`.
 *  0 is "unspecified": the default device for creation, the operand's for anything else. */
typedef int32_t flam_device;

/** How a loss folds its per-element values. */
typedef int32_t flam_reduction;
enum {
  FLAM_REDUCTION_UNSPECIFIED = 0,
  FLAM_REDUCTION_NONE = 1,
  FLAM_REDUCTION_MEAN = 2,
  FLAM_REDUCTION_SUM = 3,
  FLAM_REDUCTION_BATCHMEAN = 4 /* of kl_div: the sum over the first size */
};

typedef struct flam_tensor flam_tensor;
typedef struct flam_generator flam_generator;
typedef struct flam_module flam_module;
typedef struct flam_optimizer flam_optimizer;
typedef struct flam_scheduler flam_scheduler;
typedef struct flam_dataset flam_dataset;
typedef struct flam_loader flam_loader;
typedef struct flam_stream flam_stream;
typedef struct flam_event flam_event;
typedef struct flam_error flam_error;
typedef struct flam_profile flam_profile;
typedef struct flam_store flam_store;
typedef struct flam_group flam_group;
typedef struct flam_work flam_work;
typedef struct flam_ddp flam_ddp;

/** A token of a thread-local scope (grad mode, device, stream, frame); 0 is none. */
typedef uint64_t flam_scope;

#ifdef __cplusplus
}
#endif
#endif
