/* Weights in files: safetensors, and the `.pt` files of PyTorch's state dicts, both directions.
 * namespace: capi
 *
 * A file is written beside its destination and renamed, so that a failure leaves what was there.
 * Reading never runs code: of a `.pt` file only tensors, numbers, texts and containers are
 * understood.
 */
#ifndef FLAMBEAU_IO_H
#define FLAMBEAU_IO_H

#include "flambeau/common.h"
#include "flambeau/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Writes named tensors to a file, in the format that its name ends with.
 *
 * - `state`: the tensors, of any device.
 * - `path`: ends with `.safetensors`, or with `.pt`, `.pth`, `.ckpt` or `.bin` for PyTorch's
 *   format.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO` with the system's reason; `FLAM_ERROR_INVALID_ARGUMENT` for another
 *   ending.
 */
FLAM_API FLAM_BLOCKS flam_status flam_save(const flam_state *state, const char *path);

/** Reads named tensors from a file, whatever its name: the format is seen from its content.
 *
 * - `path`: a safetensors file, or a `.pt` file that holds a state dict (nested dicts get dotted
 *   names).
 * - `device`: where the tensors go; default: the cpu.
 * - returns: the tensors, in the file's order.
 * - errors: `FLAM_ERROR_IO` where the file cannot be read, is damaged or holds something else.
 */
FLAM_API FLAM_BLOCKS flam_state *flam_load(const char *path, flam_device device FLAM_DEFAULT(0));

#ifdef __cplusplus
}
#endif
#endif
