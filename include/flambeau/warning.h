/* Warnings: what a program may want to change, although its call works.
 * namespace: capi
 *
 * Nobody is told until the program says who: nothing here prints unasked. A warning comes before
 * its call writes anything, so that a function that refuses it fails a call that has done nothing.
 */
#ifndef FLAMBEAU_WARNING_H
#define FLAMBEAU_WARNING_H

#include "flambeau/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a warning is about. New numbers may come; read them as FLAM_WARNING_USER. */
typedef int32_t flam_warning;
enum {
  FLAM_WARNING_UNSPECIFIED = 0,
  FLAM_WARNING_USER = 1 /* a use that may not be meant, or that will end */
};

/** A program's way to hear of warnings. */
typedef struct flam_warning_callback {
  size_t struct_size; /* sizeof(flam_warning_callback) */
  void *user; /* handed to the functions below */
  /* Told of a warning, on the thread that made the call; `message` lives as long as the call.
   * Returns FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK: then the call
   * that it warns of fails with that. Several threads may call it at once. */
  flam_status (*warn)(void *user, flam_warning kind, const char *message);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
  flam_language language; /* in whose words messages are */
  int32_t reserved; /* 0 */
} flam_warning_callback;

/** Has warnings told to a function of the program's, in place of whoever was told before.
 *
 * - `callback`: its functions; copied. `drop` is called also where this call fails.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a table without `warn`.
 */
FLAM_API flam_status flam_set_warning_callback(const flam_warning_callback *callback);

/** Has warnings written to a file descriptor, a line `Warning: ...` for each message, once; in
 * place of whoever was told before.
 *
 * - `descriptor`: where to, such as 2 for standard error; stays the caller's. -1: nobody is told,
 *   as at the start.
 */
FLAM_API void flam_set_warning_descriptor(int32_t descriptor);

/** Gives warnings that are given once in a program each time.
 *
 * - `b`: whether to; off at the start.
 */
FLAM_TORCH("torch.set_warn_always")
FLAM_API void flam_set_warn_always_enabled(flam_bool b);

/** Whether warnings that are given once in a program are given each time.
 *
 * - returns: what `flam_set_warn_always_enabled` set last; false at the start.
 */
FLAM_TORCH("torch.is_warn_always_enabled")
FLAM_API flam_bool flam_warn_always_enabled(void);

/** Refuses an output that a result cannot be copied to, and warns where it holds something of
 * another shape, as each operation does for its `out`; for languages that have outputs of functions
 * of their own. Nothing is changed.
 *
 * - `out`: the output.
 * - `result`: what is to be copied to it.
 * - `name`: the function's name, for texts.
 * - `cast`: whether the result is converted, within the kind of its dtype; else it has to be of the
 *   output's.
 * - `warns`: whether to warn of the shape.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_AUTOGRAD` where either requires grad;
 *   `FLAM_ERROR_CALLBACK` where whoever is told refuses the warning.
 */
FLAM_API flam_status flam_check_output(
    const flam_tensor *out, const flam_tensor *result, const char *name, flam_bool cast,
    flam_bool warns);

#ifdef __cplusplus
}
#endif
#endif
