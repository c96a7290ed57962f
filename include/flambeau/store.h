/* Stores: small tables of keys and values by which the processes of a job find each other, share
 * counts, and wait for one another.
 * namespace: capi
 *
 * A key is a text of at most 4096 bytes, a value at most 64 MiB; a value comes back as a tensor of
 * its bytes, on the cpu. A call that waits has a deadline. A store is used by several threads at a
 * time, whose calls wait for each other: who waits long takes a clone.
 *
 * ```c
 * flam_store_tcp_options options = FLAM_STORE_TCP_OPTIONS_INIT;
 * options.is_server = rank == 0;
 * options.world_size = 2;
 * flam_store *store = flam_store_tcp("10.0.0.1", 29500, &options);
 * if (rank == 0) flam_store_set(store, "plan", plan, n_plan);
 * flam_tensor *plan = flam_store_get(store, "plan", -1);
 * ```
 */
#ifndef FLAMBEAU_STORE_H
#define FLAMBEAU_STORE_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_store_tcp`. */
typedef struct flam_store_tcp_options {
  size_t struct_size; /**< sizeof(flam_store_tcp_options) */
  /** whether this process holds the table, for as long as the store or a clone of it lives; default
   * false */
  flam_bool is_server FLAM_DEFAULT(0);
  /** of a server: whether the call returns when `world_size` processes have come; default true */
  flam_bool wait_for_workers FLAM_DEFAULT(1);
  /** processes that will come, this one included; default 0: not known, nobody is waited for */
  int64_t world_size FLAM_DEFAULT(0);
  /** seconds that this call and each later one may take; default 300 */
  double timeout FLAM_DEFAULT(300);
  /** of a server: the address of the interface to listen on, such as "0.0.0.0" for all; default:
   * that of `host`. Where `host` is a name that means this machine alone to itself, as many systems
   * give their own name to 127.0.1.1, others have to reach it all the same: then all interfaces,
   * unless `world_size` is 1 */
  const char *listen FLAM_DEFAULT(NULL);
  /** the job's key, which all its processes say; others are refused; default: the environment's
   * FLAMBEAU_JOB_KEY, else none: then a server that listens beyond this machine takes in whoever
   * reaches its port */
  const char *key FLAM_DEFAULT(NULL);
  /** of a server: a socket that listens already, which the store takes over; default -1: none */
  int32_t listen_fd FLAM_DEFAULT(-1);
  int32_t reserved; /**< 0 */
} flam_store_tcp_options;

/** A store that one process holds and all reach over TCP. The process may start in any order: they
 * try until the time is over.
 *
 * - `host`: the name or the address, of IPv4 or IPv6, of the process that holds the table.
 * - `port`: where it listens; 0, of a server: one that is free, which `flam_store_port` tells.
 * - returns: the store.
 * - errors: `FLAM_ERROR_IO` where a server cannot listen, as on a port that is taken;
 *   `FLAM_ERROR_PEER_LOST` where no store answers in time, or that of another job does;
 *   `FLAM_ERROR_COLLECTIVE_TIMEOUT` where not all workers come; `FLAM_ERROR_INVALID_ARGUMENT` for
 *   a port beyond 65535, or 0 of a process that is no server.
 */
FLAM_API FLAM_BLOCKS flam_store *flam_store_tcp(
    const char *host, int32_t port, const flam_store_tcp_options *options);

/** A store in a file, for processes of one machine, or of several with a file system in common that
 * has locks.
 *
 * - `path`: the file; made where there is none, and otherwise one that a store has made.
 * - `world_size`: how many processes use it, the last of which removes it; default -1: it stays.
 * - returns: the store.
 * - errors: `FLAM_ERROR_IO` with the system's reason, or where the file is no store's;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for an empty path.
 */
FLAM_API FLAM_BLOCKS flam_store *flam_store_file(
    const char *path, int64_t world_size FLAM_DEFAULT(-1));

/** A store for the threads of this process.
 *
 * - returns: the store, empty.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_store *flam_store_hash(void);

/** A part of a store: its keys have `prefix` and a slash before them there.
 *
 * - `prefix`: the text before each key.
 * - `store`: the whole; `flam_store_num_keys` counts all its keys.
 * - returns: the part.
 * - errors: `FLAM_ERROR_OUT_OF_HOST_MEMORY`.
 */
FLAM_API flam_store *flam_store_prefix(const char *prefix, const flam_store *store);

/** Another store of the same table, with a connection of its own where there are any.
 *
 * - `store`: the store.
 * - returns: the other one, with the same timeout.
 * - errors: `FLAM_ERROR_PEER_LOST` where the table's process does not answer.
 */
FLAM_API FLAM_BLOCKS flam_store *flam_store_clone(const flam_store *store);

/** Gives back a count. With the last store of a process that holds a table, the table goes.
 *
 * - `store`: the store, or `NULL`.
 */
FLAM_API void flam_store_release(FLAM_NULLABLE flam_store *store);

/** Gives a key a value.
 *
 * - `store`: the store.
 * - `key`: the key.
 * - `value`: its bytes.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a key or a value that is too long;
 *   `FLAM_ERROR_PEER_LOST` where the table's process is gone; `FLAM_ERROR_COLLECTIVE_TIMEOUT` where
 *   it does not answer in time; `FLAM_ERROR_UNSUPPORTED` in a forked child, which makes its own.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_store_set(flam_store *store, const char *key, const uint8_t *value, size_t n_value);

/** The value of a key, which may still have to come.
 *
 * - `store`: the store.
 * - `key`: the key.
 * - `timeout`: seconds to wait for it; default -1: the store's.
 * - returns: the bytes; 1-d, u8, on the cpu.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT` where it does not come; else as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_store_get(
    flam_store *store, const char *key, double timeout FLAM_DEFAULT(-1));

/** Adds bytes to the end of a key's value, which is empty where there is none.
 *
 * - `store`: the store.
 * - `key`: the key.
 * - `value`: the bytes.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_store_append(flam_store *store, const char *key, const uint8_t *value, size_t n_value);

/** Adds to the number that a key holds as a decimal text, 0 where there is none.
 *
 * - `store`: the store.
 * - `key`: the key.
 * - `by`: what to add.
 * - `out_sum`: the number after that.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where the value is no number, or the sum none of 64 bits;
 *   else as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_store_add(flam_store *store, const char *key, int64_t by, int64_t *out_sum);

/** Gives a key the value `desired` where it has `expected`, or where it has none and `expected` is
 * empty.
 *
 * - `store`: the store.
 * - `key`: the key.
 * - `expected`: the bytes that it should have.
 * - `desired`: the bytes that it is to have.
 * - returns: the bytes that it has then, or `expected` where there is no such key; 1-d, u8, on the
 *   cpu.
 * - errors: as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_store_compare_set(
    flam_store *store, const char *key, const uint8_t *expected, size_t n_expected,
    const uint8_t *desired, size_t n_desired);

/** Waits until all keys are there.
 *
 * - `store`: the store.
 * - `keys`: the keys, at most 4096.
 * - `timeout`: seconds to wait; default -1: the store's.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_COLLECTIVE_TIMEOUT` with the keys that are missing; else as
 *   `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_store_wait(
    flam_store *store, const char *const *keys, size_t n_keys, double timeout FLAM_DEFAULT(-1));

/** Waits until all keys are there, and says whether they are: for programs that look at something
 * else in between.
 *
 * - `store`: the store.
 * - `keys`: the keys, at most 4096.
 * - `seconds`: how long to wait at most.
 * - `out_ready`: whether all are there.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_store_ready(
    flam_store *store, const char *const *keys, size_t n_keys, double seconds,
    flam_bool *out_ready);

/** Whether all keys are there now.
 *
 * - `store`: the store.
 * - `keys`: the keys, at most 4096.
 * - `out_present`: whether they are.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_store_check(flam_store *store, const char *const *keys, size_t n_keys, flam_bool *out_present);

/** Removes a key.
 *
 * - `store`: the store.
 * - `key`: the key.
 * - `out_removed`: whether it was there.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status
flam_store_delete_key(flam_store *store, const char *key, flam_bool *out_removed);

/** How many keys there are.
 *
 * - `store`: the store.
 * - `out_count`: their number.
 * - returns: `FLAM_OK`.
 * - errors: as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_store_num_keys(flam_store *store, int64_t *out_count);

/** The keys that there are, in order.
 *
 * - `store`: the store; of a part of another, made by `flam_store_prefix`, the keys of that part.
 * - returns: the keys, a byte 0 behind each; 1-d, u8, on the cpu.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where a table over TCP has more than 64 MiB of them; else
 *   as `flam_store_set`.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_store_list_keys(flam_store *store);

/** How long calls that are given no time may take.
 *
 * - `store`: the store.
 * - returns: seconds; 300 unless set.
 */
FLAM_API double flam_store_timeout(const flam_store *store);

/** Sets how long calls that are given no time may take.
 *
 * - `store`: the store.
 * - `seconds`: the time, above 0.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` for a time that is not above 0.
 */
FLAM_API flam_status flam_store_set_timeout(flam_store *store, double seconds);

/** The port of a store over TCP, or of a part of one.
 *
 * - `store`: the store.
 * - returns: the port; 0 of other stores.
 */
FLAM_API int32_t flam_store_port(const flam_store *store);

/** How many processes have come to the table that this process holds.
 *
 * - `store`: the store.
 * - returns: their number, with this one; 0 of stores whose table is elsewhere.
 */
FLAM_API int64_t flam_store_num_workers(const flam_store *store);

/** What a store is, and where.
 *
 * - `store`: the store.
 * - returns: such as "TCPStore(10.0.0.1:29500)"; valid until this thread's next call of this
 *   function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_store_describe(const flam_store *store);

#ifdef __cplusplus
}
#endif
#endif
