/* The seam between groups of processes and what moves bytes between them: one table of functions,
 * which Gloo's adaptor, NCCL, MPI and threads of one process answer. It is C, because the adaptor
 * is a library of its own. A call blocks until its bytes are there, but for send and recv, which
 * begin and are waited for; one of a provider on streams returns when it is enqueued. No function
 * throws, and after one has failed, but as unsupported, its communicator can only be destroyed.
 * Ranks that called the same have the same `tag`; others never meet, so that what was called by
 * mistake ends at its deadline and not in somebody's memory (on streams the group sees to it). */
#ifndef FLAMBEAU_DIST_PROVIDER_H
#define FLAMBEAU_DIST_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FLAM_DIST_ABI = 3 };

typedef enum flam_dist_result {
  FLAM_DIST_OK,
  FLAM_DIST_TIMEOUT,
  FLAM_DIST_LOST, /* a peer is gone, or the connection to it */
  FLAM_DIST_FAILED,
  FLAM_DIST_UNSUPPORTED
} flam_dist_result;

typedef struct flam_dist_text {
  char text[512]; /* why a call failed */
} flam_dist_text;

/* The job's store, as far as communicators need it to find each other. */
typedef struct flam_dist_store {
  void* user;
  flam_dist_result (*set)(void* user, const char* key, const void* data, size_t size);
  /* Waits for the key; hands the value to `take`. */
  flam_dist_result (*get)(void* user, const char* key, int64_t timeout_ms, void* into,
                          void (*take)(void* into, const void* data, size_t size));
} flam_dist_store;

typedef struct flam_dist_members {
  int32_t rank, size;
  const int32_t* world_ranks;   /* of the members, in the job */
  const flam_dist_store* store; /* a part of it that only this communicator uses */
  const char* address;          /* by which this process is reached; empty: not known */
  int64_t timeout_ms;
  void* parent; /* a communicator that these are ranks of; NULL: none */
} flam_dist_members;

typedef struct flam_dist_call flam_dist_call;
struct flam_dist_call {
  const void* in;                         /* host memory; of a provider on streams, the device's */
  void* out;                              /* may be `in` */
  uint64_t count;                         /* elements; of each rank's part where there are parts */
  const uint64_t *in_counts, *out_counts; /* of the parts, where they differ; else NULL */
  const void* const* in_parts;            /* by rank, where parts are apart: instead of `in` */
  void* const* out_parts;                 /* the same of `out` */
  uint32_t element_size;
  int32_t dtype; /* flam_dtype */
  int32_t op;    /* flam_reduce_op */
  double factor; /* of FLAM_REDUCE_PREMUL_SUM */
  int32_t peer;  /* the root, or who is sent to or received from; -1 of recv: anyone */
  uint64_t tag;
  int64_t timeout_ms;
  /* out[i] = a[i] op b[i]; `out` may be `a` or `b` */
  void (*reduce)(const flam_dist_call* call, void* out, const void* a, const void* b, uint64_t n);
  void* stream;   /* of a provider on streams */
  int32_t device; /* its device */
};

typedef flam_dist_result (*flam_dist_collective)(void* communicator, const flam_dist_call* call,
                                                 flam_dist_text* why);
typedef flam_dist_result (*flam_dist_begin)(void* communicator, const flam_dist_call* call,
                                            void** request, flam_dist_text* why);

/* Transfers with one other rank as one: sent is what has no `out`. */
typedef flam_dist_result (*flam_dist_exchange)(void* communicator, const flam_dist_call* calls,
                                               size_t n, flam_dist_text* why);

typedef struct flam_dist_provider {
  int32_t abi; /* FLAM_DIST_ABI */
  const char* name;
  int32_t on_streams;  /* whether calls are enqueued on `stream` and return at once */
  int32_t takes_parts; /* whether calls may have `in_parts` or `out_parts` */
  flam_dist_result (*make)(const flam_dist_members* members, void** communicator,
                           flam_dist_text* why);
  flam_dist_collective all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all;
  flam_dist_collective gather, scatter, barrier;
  flam_dist_begin send, recv; /* and wait: NULL of a provider on streams */
  /* Until a request is done, then frees it; `peer` becomes who sent. With `stays`,
   * FLAM_DIST_TIMEOUT only says that it is not, and the request can be waited for again. */
  flam_dist_result (*wait)(void* communicator, void* request, int64_t timeout_ms, int32_t stays,
                           int32_t* peer, flam_dist_text* why);
  /* Of a provider on streams. `poll` is asked now and then by one thread: whether what was enqueued
   * goes well; it does what abort() asked for. */
  flam_dist_exchange exchange;
  flam_dist_result (*poll)(void* communicator, flam_dist_text* why);
  /* Ends what others wait for in this communicator, from any thread. */
  void (*abort)(void* communicator);
  void (*destroy)(void* communicator);
} flam_dist_provider;

#ifdef __cplusplus
}
#endif
#endif
