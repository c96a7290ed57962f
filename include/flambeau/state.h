/* Named tensors in order: state dicts, parameter lists with names, the contents of a weights file.
 * namespace: capi
 */
#ifndef FLAMBEAU_STATE_H
#define FLAMBEAU_STATE_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flam_state flam_state;

/** An empty list of named tensors.
 *
 * - returns: the list.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_state *flam_state_new(void);

/** Sets the tensor of a name: replaces it, or appends it.
 *
 * - `state`: the list.
 * - `name`: the name, UTF-8.
 * - `tensor`: the tensor; the list keeps a reference.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_status flam_state_set(flam_state *state, const char *name, const flam_tensor *tensor);

/** The tensor of a name.
 *
 * - `state`: the list.
 * - `name`: the name.
 * - returns: the tensor.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such name, with the nearest ones.
 */
FLAM_API flam_tensor *flam_state_get(const flam_state *state, const char *name);

/** How many tensors a list has.
 *
 * - `state`: the list.
 * - returns: the number of entries.
 */
FLAM_API size_t flam_state_size(const flam_state *state);

/** The name of an entry.
 *
 * - `state`: the list.
 * - `index`: position, from 0.
 * - returns: the name, valid until the list changes; NULL where `index` is out of range.
 */
FLAM_BORROWED(state)
FLAM_API const char *flam_state_name(const flam_state *state, size_t index);

/** The tensor of an entry.
 *
 * - `state`: the list.
 * - `index`: position, from 0.
 * - returns: the tensor.
 * - errors: `FLAM_ERROR_INDEX` where `index` is out of range.
 */
FLAM_API flam_tensor *flam_state_tensor(const flam_state *state, size_t index);

/** The tensors as the array that functions of several tensors take, beside `flam_state_size`.
 *
 * - `state`: the list of named tensors.
 * - returns: its handles, borrowed, valid until the list changes.
 */
FLAM_BORROWED(state)
FLAM_API flam_tensor *const *flam_state_data(const flam_state *state);

/* Named tensors where a function takes an array of tensors and its length, as in
 * flam_adam_new(FLAM_STATE(parameters), NULL). `state` is a variable: it is read twice. */
#define FLAM_STATE(state) flam_state_data(state), flam_state_size(state)

/** The tensors without their names.
 *
 * - `state`: the list of named tensors.
 * - returns: the tensors, in order.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_tensor_list *flam_state_tensors(const flam_state *state);

/** Drops a reference to a list.
 *
 * - `state`: the list, or `NULL`.
 */
FLAM_API void flam_state_release(FLAM_NULLABLE flam_state *state);

#ifdef __cplusplus
}
#endif
#endif
