/* Groups of processes and what they do together: collectives, transfers between two, and how a
 * failure of one of them reaches the others.
 * namespace: capi
 *
 * All ranks of a group call the same collectives in the same order. Each call has a deadline, the
 * group's timeout; a rank that dies, is silent or calls something else is named by the error that
 * the others get, and the group is over. Memory of tensors belongs to a call until its work has
 * ended. Results do not depend on timing: terms are added in an order that follows from the ranks.
 */
#ifndef FLAMBEAU_DISTRIBUTED_H
#define FLAMBEAU_DISTRIBUTED_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the ranks' tensors become one. */
typedef int32_t flam_reduce_op;
enum {
  FLAM_REDUCE_UNSPECIFIED = 0,
  FLAM_REDUCE_SUM = 1,
  FLAM_REDUCE_AVG = 2, /* the sum over the number of ranks; floating point */
  FLAM_REDUCE_PRODUCT = 3,
  FLAM_REDUCE_MIN = 4,
  FLAM_REDUCE_MAX = 5,
  FLAM_REDUCE_BAND = 6, /* bitwise; integers and bool */
  FLAM_REDUCE_BOR = 7,
  FLAM_REDUCE_BXOR = 8,
  FLAM_REDUCE_PREMUL_SUM = 9 /* the sum of what was multiplied by `factor` before */
};

/* ---- groups ---------------------------------------------------------------------------------- */

/** Whether a backend can move bytes between processes here: that its library is found and, of
 * `nccl`, that there are GPUs.
 *
 * - `backend`: as of `flam_group_new`.
 * - returns: whether it can; false for an unknown one.
 */
FLAM_API FLAM_BLOCKS flam_bool flam_backend_is_available(const char *backend);

/** Options of `flam_group_new`. */
typedef struct flam_group_new_options {
  size_t struct_size; /**< sizeof(flam_group_new_options) */
  /** what moves the bytes: `gloo`, `nccl` (tensors of GPUs, on their streams; of simulated ones
   * Gloo does it), `mpi`, `local` (ranks that are threads of one process, over one
   * `flam_store_hash`), by kind of device as in `cpu:gloo,cuda:nccl`; default `gloo` */
  const char *backend FLAM_DEFAULT("gloo");
  /** for reports and the store's keys, without white space; default: `world` */
  const char *name FLAM_DEFAULT("");
  double timeout FLAM_DEFAULT(1800); /**< seconds that each call may take; default 1800 */
} flam_group_new_options;

/** The group of a whole job, made by all its ranks together over one store.
 *
 * - `store`: where they find each other; kept alive.
 * - `rank`: this process, from 0.
 * - `size`: the number of ranks.
 * - returns: the group.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a rank out of range or an unknown backend;
 *   `FLAM_ERROR_COLLECTIVE_TIMEOUT` where not all came in time; `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_LIBRARY_MISSING` where the backend is not installed.
 */
FLAM_API FLAM_BLOCKS flam_group *flam_group_new(
    const flam_store *store, int64_t rank, int64_t size, const flam_group_new_options *options);

/** Options of `flam_group_init`. */
typedef struct flam_group_init_options {
  size_t struct_size; /**< sizeof(flam_group_init_options) */
  const char *backend FLAM_DEFAULT("gloo"); /**< as of `flam_group_new`; default `gloo` */
  double timeout FLAM_DEFAULT(1800); /**< seconds that each call may take; default 1800 */
  int64_t rank FLAM_DEFAULT(-1); /**< this process; default: the environment's RANK */
  /** the number of processes; default: the environment's WORLD_SIZE */
  int64_t world_size FLAM_DEFAULT(-1);
} flam_group_init_options;

/** The group of a whole job, by PyTorch's ways for processes to find each other.
 *
 * - `method`: `env://` (MASTER_ADDR and MASTER_PORT of the environment, as launchers set them; with
 *   the backend `mpi` and no rank given, what mpirun says),
 *   `tcp://host:port` (of rank 0), or `file:///path` (a new file that all can write to).
 * - returns: the group.
 * - errors: as of `flam_group_new`; `FLAM_ERROR_INVALID_ARGUMENT` names the variable that is not
 *   set.
 */
FLAM_API FLAM_BLOCKS flam_group *flam_group_init(
    const char *method, const flam_group_init_options *options);

/** Some ranks of a group as a group of their own. All ranks of the former call it, with the same
 * ranks; one that is not named gets a group with the rank -1, in which every call fails, when the
 * others have made theirs.
 *
 * - `group`: the group.
 * - `ranks`: ranks in `group`, each once; their order is that of the new ranks.
 * - returns: the group.
 * - errors: as of `flam_group_new`; `FLAM_ERROR_INVALID_ARGUMENT` for a rank that is not in `group`
 *   or is named twice.
 */
FLAM_API FLAM_BLOCKS flam_group *flam_group_split(
    const flam_group *group, const int64_t *ranks, size_t n_ranks,
    const flam_group_new_options *options);

/** This process in a group.
 *
 * - `group`: the group.
 * - returns: its rank, from 0; -1 where it is not in the group.
 */
FLAM_API int64_t flam_group_rank(const flam_group *group);

/** The number of ranks of a group.
 *
 * - `group`: the group.
 * - returns: the number.
 */
FLAM_API int64_t flam_group_size(const flam_group *group);

/** A rank of a group as one of the whole job.
 *
 * - `group`: the group.
 * - `rank`: from 0.
 * - returns: the rank in the job; -1 where there is no such rank.
 */
FLAM_API int64_t flam_group_world_rank(const flam_group *group, int64_t rank);

/** What moves the bytes, as it was named.
 *
 * - `group`: the group.
 * - returns: the name.
 */
FLAM_BORROWED(group)
FLAM_API const char *flam_group_backend(const flam_group *group);

/** The store by which the ranks of a group's job found each other, for what a program has to tell
 * them: a part of it that nobody else uses, the same on all ranks.
 *
 * - `group`: any group of the job.
 * - returns: the store, with a connection of its own where there are any.
 * - errors: `FLAM_ERROR_PEER_LOST` where the table's process does not answer.
 */
FLAM_API FLAM_BLOCKS flam_store *flam_group_store(const flam_group *group);

/** The name of a group.
 *
 * - `group`: the group.
 * - returns: the name.
 */
FLAM_BORROWED(group)
FLAM_API const char *flam_group_name(const flam_group *group);

/** Changes how long each further call may take.
 *
 * - `group`: the group.
 * - `timeout`: seconds, positive.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status flam_group_set_timeout(const flam_group *group, double timeout);

/** Ends this process's part in the job: from now on it may end without being missed, and every call
 * in its groups fails. It waits for no other rank, but for what is under way on GPUs.
 *
 * - `group`: the group of the job, or one of its parts.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API FLAM_BLOCKS flam_status flam_group_leave(const flam_group *group);

/** Gives back a count.
 *
 * - `group`: the group, or `NULL`.
 */
FLAM_API FLAM_BLOCKS void flam_group_release(FLAM_NULLABLE flam_group *group);

/** Names where in the program this thread's next calls are, for the reports of failures.
 *
 * - `place`: as in `train.py:33 in step`; copied once.
 */
FLAM_API void flam_group_set_place(const char *place);

/* ---- collectives ----------------------------------------------------------------------------- */

/** Options of `flam_group_all_reduce`. */
typedef struct flam_group_all_reduce_options {
  size_t struct_size; /**< sizeof(flam_group_all_reduce_options) */
  flam_reduce_op op FLAM_DEFAULT(FLAM_REDUCE_SUM); /**< default: the sum */
  double factor FLAM_DEFAULT(1); /**< of FLAM_REDUCE_PREMUL_SUM; default 1 */
  flam_bool async_op FLAM_DEFAULT(0); /**< return before the end; default false */
  int32_t reserved; /**< 0 */
} flam_group_all_reduce_options;

/** Leaves the reduction over all ranks in `tensors`, on each rank the same bits.
 *
 * - `group`: the group.
 * - `tensors`: at least one; one dtype and device; written. Several are reduced as one.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for no tensor; `FLAM_ERROR_DTYPE` where `op` has no form for
 *   the dtype, and for tensors of several dtypes; `FLAM_ERROR_DEVICE_MISMATCH` for a device that
 *   the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_all_reduce(
    const flam_group *group, flam_tensor *const *tensors, size_t n_tensors,
    const flam_group_all_reduce_options *options);

/** Options of `flam_group_reduce`. */
typedef struct flam_group_reduce_options {
  size_t struct_size; /**< sizeof(flam_group_reduce_options) */
  flam_reduce_op op FLAM_DEFAULT(FLAM_REDUCE_SUM); /**< default: the sum */
  double factor FLAM_DEFAULT(1); /**< of FLAM_REDUCE_PREMUL_SUM; default 1 */
  flam_bool async_op FLAM_DEFAULT(0); /**< return before the end; default false */
  int32_t reserved; /**< 0 */
} flam_group_reduce_options;

/** Leaves the reduction over all ranks in the root's `tensor`.
 *
 * - `group`: the group.
 * - `tensor`: any dtype; written on the root.
 * - `root`: its rank in the group.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a root that is not in the group; `FLAM_ERROR_DTYPE` where
 *   `op` has no form for the dtype; `FLAM_ERROR_DEVICE_MISMATCH` for a device that the group does
 *   not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_reduce(
    const flam_group *group, const flam_tensor *tensor, int64_t root,
    const flam_group_reduce_options *options);

/** Leaves the root's tensors in those of all ranks.
 *
 * - `group`: the group.
 * - `tensors`: at least one; one dtype and device; written but on the root.
 * - `root`: its rank in the group.
 * - `async_op`: return before the end; default false.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for no tensor, and a root that is not in the group;
 *   `FLAM_ERROR_DTYPE` for tensors of several dtypes; `FLAM_ERROR_DEVICE_MISMATCH` for a device
 *   that the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_broadcast(
    const flam_group *group, flam_tensor *const *tensors, size_t n_tensors, int64_t root,
    flam_bool async_op FLAM_DEFAULT(0));

/** Collects what each rank has on all of them.
 *
 * - `group`: the group.
 * - `outputs`: one per rank, each of the size of `input`; or a single one for all, in the order of
 *   the ranks.
 * - `input`: any dtype.
 * - `async_op`: return before the end; default false.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another number of outputs; `FLAM_ERROR_SHAPE` where they do
 *   not hold what comes; `FLAM_ERROR_DTYPE` where dtypes differ; `FLAM_ERROR_DEVICE_MISMATCH` for
 *   a device that the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_all_gather(
    const flam_group *group, flam_tensor *const *outputs, size_t n_outputs,
    const flam_tensor *input, flam_bool async_op FLAM_DEFAULT(0));

/** Collects what each rank has on the root.
 *
 * - `group`: the group.
 * - `outputs`: on the root as of `flam_group_all_gather`; on others none.
 * - `input`: any dtype.
 * - `root`: its rank in the group.
 * - `async_op`: return before the end; default false.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for outputs on another rank than `root`, another number of
 *   them, and a root that is not in the group; `FLAM_ERROR_SHAPE` where they do not hold what
 *   comes; `FLAM_ERROR_DTYPE` where dtypes differ; `FLAM_ERROR_DEVICE_MISMATCH` for a device that
 *   the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_gather(
    const flam_group *group, flam_tensor *const *outputs, size_t n_outputs,
    const flam_tensor *input, int64_t root, flam_bool async_op FLAM_DEFAULT(0));

/** Gives each rank its part of what the root has.
 *
 * - `group`: the group.
 * - `output`: any dtype; written.
 * - `inputs`: on the root one per rank of the size of `output`, or a single one for all; on others
 *   none.
 * - `root`: its rank in the group.
 * - `async_op`: return before the end; default false.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for inputs on another rank than `root`, another number of them,
 *   and a root that is not in the group; `FLAM_ERROR_SHAPE` where sizes do not fit;
 *   `FLAM_ERROR_DTYPE` where dtypes differ; `FLAM_ERROR_DEVICE_MISMATCH` for a device that the
 *   group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_scatter(
    const flam_group *group, flam_tensor *output, flam_tensor *const *inputs, size_t n_inputs,
    int64_t root, flam_bool async_op FLAM_DEFAULT(0));

/** Options of `flam_group_reduce_scatter`. */
typedef struct flam_group_reduce_scatter_options {
  size_t struct_size; /**< sizeof(flam_group_reduce_scatter_options) */
  flam_reduce_op op FLAM_DEFAULT(FLAM_REDUCE_SUM); /**< default: the sum */
  double factor FLAM_DEFAULT(1); /**< of FLAM_REDUCE_PREMUL_SUM; default 1 */
  flam_bool async_op FLAM_DEFAULT(0); /**< return before the end; default false */
  int32_t reserved; /**< 0 */
} flam_group_reduce_scatter_options;

/** Gives each rank its part of the reduction over all ranks.
 *
 * - `group`: the group.
 * - `output`: any dtype; written.
 * - `inputs`: one per rank, each of the size of `output`; or a single one for all.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another number of inputs; `FLAM_ERROR_SHAPE` where sizes do
 *   not fit; `FLAM_ERROR_DTYPE` where dtypes differ, or `op` has no form for them;
 *   `FLAM_ERROR_DEVICE_MISMATCH` for a device that the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_reduce_scatter(
    const flam_group *group, flam_tensor *output, flam_tensor *const *inputs, size_t n_inputs,
    const flam_group_reduce_scatter_options *options);

/** Options of `flam_group_all_to_all`. */
typedef struct flam_group_all_to_all_options {
  size_t struct_size; /**< sizeof(flam_group_all_to_all_options) */
  /** of a single output: rows along dimension 0 that come from each rank; default: alike */
  const int64_t *output_splits FLAM_NULLABLE FLAM_DEFAULT(NULL);
  size_t n_output_splits FLAM_DEFAULT(0); /**< the number of ranks, or 0 */
  /** of a single input: rows along dimension 0 that go to each rank; default: alike */
  const int64_t *input_splits FLAM_NULLABLE FLAM_DEFAULT(NULL);
  size_t n_input_splits FLAM_DEFAULT(0); /**< the number of ranks, or 0 */
  flam_bool async_op FLAM_DEFAULT(0); /**< return before the end; default false */
  int32_t reserved; /**< 0 */
} flam_group_all_to_all_options;

/** Gives rank j what rank i has at j, for all of them.
 *
 * - `group`: the group.
 * - `outputs`: one per rank, or a single one whose rows are those of all; written.
 * - `inputs`: the same, of what goes to each rank.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another number of tensors; `FLAM_ERROR_SHAPE` where sizes
 *   do not fit; `FLAM_ERROR_DTYPE` where dtypes differ; `FLAM_ERROR_DEVICE_MISMATCH` for a device
 *   that the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_all_to_all(
    const flam_group *group, flam_tensor *const *outputs, size_t n_outputs,
    flam_tensor *const *inputs, size_t n_inputs, const flam_group_all_to_all_options *options);

/** Waits until all ranks have called it.
 *
 * - `group`: the group.
 * - `async_op`: return before the end; default false.
 * - returns: the work; it has ended where `async_op` is false.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT`, `FLAM_ERROR_PEER_LOST`.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_barrier(
    const flam_group *group, flam_bool async_op FLAM_DEFAULT(0));

/* ---- transfers between two ------------------------------------------------------------------- */

/** Begins to send a tensor to one rank, which receives the same number of elements of the same
 * dtype.
 *
 * - `group`: the group.
 * - `tensor`: any dtype; not to be changed before the work has ended.
 * - `to`: the rank in the group; another one.
 * - `tag`: tells transfers between the same two apart; default 0.
 * - returns: the work.
 * - errors: `FLAM_ERROR_PEER_LOST`; `FLAM_ERROR_INVALID_ARGUMENT` for a rank that is not in the
 *   group; `FLAM_ERROR_DEVICE_MISMATCH` for a device that the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_send(
    const flam_group *group, const flam_tensor *tensor, int64_t to, int64_t tag FLAM_DEFAULT(0));

/** Options of `flam_group_recv`. */
typedef struct flam_group_recv_options {
  size_t struct_size; /**< sizeof(flam_group_recv_options) */
  int64_t from FLAM_DEFAULT(-1); /**< the rank in the group; default: any */
  int64_t tag FLAM_DEFAULT(0); /**< as the sender says it; default 0 */
} flam_group_recv_options;

/** Begins to receive a tensor.
 *
 * - `group`: the group.
 * - `tensor`: of the sent size and dtype; written.
 * - returns: the work; `flam_work_source` then says who sent.
 * - errors: `FLAM_ERROR_PEER_LOST`; `FLAM_ERROR_INVALID_ARGUMENT` for a rank that is not in the
 *   group; `FLAM_ERROR_DEVICE_MISMATCH` for a device that the group does not serve.
 */
FLAM_API FLAM_BLOCKS flam_work *flam_group_recv(
    const flam_group *group, flam_tensor *tensor, const flam_group_recv_options *options);

/** From now on this thread's sends and receives in the group begin together, at
 * `flam_group_end_coalescing`, where they are on GPUs: those between two ranks as one, so that the
 * order in which each of them names these does not matter.
 *
 * - `group`: the group.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the group's transfers are collected already.
 */
FLAM_API FLAM_BLOCKS flam_status flam_group_start_coalescing(const flam_group *group);

/** Begins what was collected since `flam_group_start_coalescing`. Their works can be waited for
 * from now on.
 *
 * - `group`: the group.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where this thread collects nothing; as of
 *   `flam_group_send`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_group_end_coalescing(const flam_group *group);

/* ---- works ----------------------------------------------------------------------------------- */

/** Whether a work has ended, well or with an error.
 *
 * - `work`: the work.
 * - returns: whether it has.
 */
FLAM_API flam_bool flam_work_done(const flam_work *work);

/** Whether the current stream waits for a work while the program goes on, as with NCCL.
 *
 * - `work`: the work.
 * - returns: whether `flam_work_wait` without a timeout returns at once.
 */
FLAM_API flam_bool flam_work_is_stream_ordered(const flam_work *work);

/** Waits for a work. Of tensors on a device it is the current stream that waits for the copies.
 *
 * - `work`: the work.
 * - `timeout`: seconds, for which the program waits in any case; default -1: the group's.
 * - returns: `FLAM_OK`.
 * - errors: what the work failed with; `FLAM_ERROR_COLLECTIVE_TIMEOUT` where the time is over.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_work_wait(const flam_work *work, double timeout FLAM_DEFAULT(-1));

/** A program's way to end its waits: of Ctrl-C some languages learn only when they run. */
typedef struct flam_interrupt_callback {
  size_t struct_size; /* sizeof(flam_interrupt_callback) */
  void *user; /* handed to the functions below */
  /* Asked four times a second by a wait for other ranks.
   * Returns FLAM_OK, or records with flam_error_set and returns FLAM_ERROR_CALLBACK: then the call
   * that waits fails with that. What it waited for goes on. */
  flam_status (*check)(void *user);
  void (*drop)(void *user); /* called exactly once, after the last call; may be NULL */
} flam_interrupt_callback;

/** Has waits for other ranks ask the program whether they shall end, those of the thread that calls
 * this, in place of any other: of works, and of data parallel training; not those in which groups
 * and stores find each other. A call of data parallel training that ends so has not done all of
 * its part: the other ranks may wait for the rest, and the next call says so.
 *
 * - `callback`: its functions; copied. `drop` is called also where this call fails. `NULL`: nobody
 *   is asked, as at the start.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a table without `check`.
 */
FLAM_API flam_status
flam_set_interrupt_callback(FLAM_NULLABLE const flam_interrupt_callback *callback);

/** Who sent what a work received.
 *
 * - `work`: the work of `flam_group_recv`.
 * - returns: the rank in the group; -1 before the end, and of other works.
 */
FLAM_API int64_t flam_work_source(const flam_work *work);

/** Gives back a count; the work goes on.
 *
 * - `work`: the work, or `NULL`.
 */
FLAM_API FLAM_BLOCKS void flam_work_release(FLAM_NULLABLE flam_work *work);

#ifdef __cplusplus
}
#endif
#endif
