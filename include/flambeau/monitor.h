/* Monitoring: how busy, full, warm and fast a GPU is, and which processes use it.
 * namespace: capi
 *
 * NVML answers for NVIDIA's GPUs, which are found by their UUIDs, so that a number means the same
 * GPU as everywhere else whatever CUDA_VISIBLE_DEVICES says; asking makes no context. Simulated
 * devices answer for the machine that they simulate.
 */
#ifndef FLAMBEAU_MONITOR_H
#define FLAMBEAU_MONITOR_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One reading of a device's sensors and counters.
 *
 * - `device`: a GPU.
 * - `key`: "utilization", percent of the last sample period (up to a second) in which a kernel ran;
 *   "memory_utilization", percent in which its memory was read or written; "memory_used",
 *   "memory_free" and "memory_total", bytes of the whole device, every process counted;
 *   "temperature", degrees Celsius; "power_draw", milliwatts; "clock_rate", MHz of its
 *   multiprocessors now.
 * - `out_value`: the reading.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_UNSUPPORTED` where the GPU has no such sensor, and on the cpu;
 *   `FLAM_ERROR_LIBRARY_MISSING` and `FLAM_ERROR_LIBRARY_VERSION` without an NVML that can be used;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an unknown key, or where there is no such device;
 *   `FLAM_ERROR_NO_GPU`.
 */
FLAM_API flam_status flam_monitor_read(flam_device device, const char *key, int64_t *out_value);

/** The processes that compute on a device.
 *
 * - `device`: a GPU.
 * - `out_text`: a JSON list of objects with "pid", in the numbers of the driver's own system, and
 *   "bytes" of the device's memory, -1 where the driver does not tell; valid until this thread's
 *   next call of this function.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_monitor_read`.
 */
FLAM_API flam_status flam_monitor_processes(flam_device device, const char **out_text);

/** The processes that compute on a device, for people.
 *
 * - `device`: a GPU.
 * - `out_text`: the GPU's number, then a line for each process with its number and the megabytes
 *   that it uses, as PyTorch's `torch.cuda.list_gpu_processes` writes it; valid until this thread's
 *   next call of this function.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_monitor_read`.
 */
FLAM_API flam_status flam_monitor_process_list(flam_device device, const char **out_text);

/** Every GPU, the processes on it and this program's allocators as a table for a terminal. What a
 * GPU does not tell stands as `-`; without any GPU the table says why there is none.
 *
 * - returns: lines of at most 100 columns, valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_monitor_table(void);

#ifdef __cplusplus
}
#endif
#endif
