/* What the calls of groups of processes cost, and one trace of what all ranks did.
 * namespace: capi
 *
 * Every collective and transfer counts, always, but for what NCCL enqueues on the streams of GPUs,
 * whose time a profile of the GPU tells: how often it was called, the bytes, the seconds, and how
 * many of these a backward pass of this process hid, because it computed gradients meanwhile.
 * Seconds are this rank's, from when it began to move bytes until it had them: what it waits there
 * for a slower rank is in them, what a call waits for its turn is not. Of a transfer between two
 * they end where the program finds it ended. All of it is by the host's clock: gradients that a GPU
 * still computes when the host waits hide nothing here. A profile shows the same calls beside the
 * ops.
 */
#ifndef FLAMBEAU_COMMUNICATION_H
#define FLAMBEAU_COMMUNICATION_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One figure of what a group of this process has done so far.
 *
 * - `group`: the group.
 * - `key`: a collective's name ("all_reduce", "send", ...), "all", or "ddp" for the gradients that
 *   `flam_ddp` reduces; a point; and a figure: "calls", "bytes", "seconds", "hidden_seconds" behind
 *   backward and "hidden_share" of the seconds, "algorithm_bandwidth" and "bus_bandwidth" in bytes
 *   per second.
 * - `out_value`: the figure; 0 before the first call, and of calls of NCCL, which are not counted.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for another key, and where this process is not in the
 *   group.
 * - source: bytes and bandwidths as NVIDIA's nccl-tests define them, doc/PERFORMANCE.md.
 */
FLAM_API flam_status flam_group_stat(const flam_group *group, const char *key, double *out_value);

/** All figures of all groups that this process was in, those that have ended among them.
 *
 * - returns: a JSON list of objects, one per group, collective and purpose: "collective", "ddp"
 *   (whether `flam_ddp` called it for gradients), "group", "backend", "ranks" in the job, and the
 *   figures of `flam_group_stat`. Valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_communication_stats(void);

/** The same for people: a table, and which share of the time backward hid. Calls of NCCL are not
 * counted.
 *
 * - returns: the table. Valid until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_communication_summary(void);

/** Counts from zero again, for all groups. */
FLAM_API void flam_communication_reset(void);

/** Has the traces of this process tell the time of rank 0. All ranks of the group call it; each
 * asks rank 0 several times and takes the answer that came soonest.
 *
 * - `group`: the group.
 * - `out_seconds`: by how much rank 0's steady clock is ahead of this process's.
 * - returns: `FLAM_OK`.
 * - errors: those of a transfer.
 * - source: Mills et al., 2010, RFC 5905, section 8: offset and delay.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_group_align_clocks(const flam_group *group, double *out_seconds);

/** Writes one trace of all ranks for Chrome (chrome://tracing) or Perfetto (ui.perfetto.dev), on
 * the clock of rank 0. All ranks of the group call it, each with its own profile; rank 0 writes.
 *
 * - `group`: the group.
 * - `profile`: what this rank did.
 * - `path`: the file on rank 0; an existing one is replaced only by a whole new one. On other ranks
 *   it is ignored.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO` on all ranks where rank 0 could not write; those of a transfer.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_group_export_trace(const flam_group *group, const flam_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif
#endif
