/* Graphs: a stream's work, captured once and replayed by one call.
 * namespace: capi
 *
 * While a graph is captured the calls of its thread on the captured stream, and on streams that
 * come to wait for that one's events, run nothing: they are recorded, with the memory that they
 * take out of the graph's pool. A replay runs them again on the same memory: write what a step
 * reads into the tensors that it read then, and read its results from those that it made. Random
 * ops draw anew in each replay, exactly as the calls themselves would. What waits for the device
 * cannot be captured, nor what the host decides.
 *
 *     flam_scope side;
 *     flam_stream_push(flam_stream_new(NULL), &side);
 *     step();  // once or twice as it is: what is made at first use is there
 *     flam_graph *graph = flam_graph_new();
 *     flam_graph_capture_begin(graph, NULL);
 *     step();
 *     flam_graph_capture_end(graph);
 *     flam_scope_pop(side);
 *     flam_graph_replay(graph);
 */
#ifndef FLAMBEAU_GRAPH_H
#define FLAMBEAU_GRAPH_H

#include "flambeau/common.h"
#include "flambeau/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Work of a device that was captured, with the memory pool that it uses. */
typedef struct flam_graph flam_graph;

/** Whose calls fail while a graph is captured, if they wait for a device or take memory from its
 * driver: those of all threads, those of the one that captures, or none, at the program's own risk.
 */
typedef int32_t flam_capture_mode;
enum {
  FLAM_CAPTURE_UNSPECIFIED = 0,
  FLAM_CAPTURE_GLOBAL = 1,
  FLAM_CAPTURE_THREAD_LOCAL = 2,
  FLAM_CAPTURE_RELAXED = 3
};

/** A graph that holds nothing yet.
 *
 * - returns: the graph.
 * - errors: none.
 */
FLAM_API flam_graph *flam_graph_new(void);

/** Gives back a count; the last one waits for the graph's device and frees the graph. Its memory
 * goes back to the device at the next `flam_memory_empty_cache`. A capture that has not ended is
 * dropped; on CUDA that takes the thread that began it.
 *
 * - `graph`: the graph, or `NULL`.
 */
FLAM_API FLAM_BLOCKS void flam_graph_release(FLAM_NULLABLE flam_graph *graph);

/** Options of `flam_graph_capture_begin`. */
typedef struct flam_graph_capture_begin_options {
  size_t struct_size; /**< sizeof(flam_graph_capture_begin_options) */
  /** where the memory comes from, shared by graphs that are replayed in the order of their captures
   *  and never at once; default: a pool of the graph's own */
  const flam_memory_pool *pool FLAM_DEFAULT(NULL);
  /** the device; default: the current accelerator, CUDA before simulated */
  flam_device device FLAM_DEFAULT(0);
  /** whose calls fail meanwhile; default: those of all threads */
  flam_capture_mode capture_error_mode FLAM_DEFAULT(FLAM_CAPTURE_GLOBAL);
} flam_graph_capture_begin_options;

/** Begins to capture what this thread enqueues on the current stream of a device.
 *
 * - `graph`: a graph that holds nothing.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_GRAPH_CAPTURE` where the current stream is the device's default one or is
 *   captured, where the thread captures another graph, or `graph` holds something;
 *   `FLAM_ERROR_DEVICE_MISMATCH` for a pool of another device; `FLAM_ERROR_NO_GPU`;
 *   `FLAM_ERROR_UNSUPPORTED` on the cpu; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_API flam_status
flam_graph_capture_begin(flam_graph *graph, const flam_graph_capture_begin_options *options);

/** Ends a capture, on the thread that began it.
 *
 * - `graph`: the graph; what was captured can be replayed from now on.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_GRAPH_CAPTURE` where it is not being captured, where a call cannot be
 *   captured, or a stream that joined the capture was not waited for; the graph holds nothing then.
 */
FLAM_API flam_status flam_graph_capture_end(flam_graph *graph);

/** Runs a graph on the current stream of its device, and moves the generators that it draws from on
 * as its calls would have.
 *
 * - `graph`: a captured graph.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_GRAPH_CAPTURE` where nothing was captured; `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API flam_status flam_graph_replay(flam_graph *graph);

/** Waits for the device and drops what was captured; the graph can be captured again.
 *
 * - `graph`: the graph.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_GRAPH_CAPTURE` while it is being captured; `FLAM_ERROR_DEVICE_LOST`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_graph_reset(flam_graph *graph);

/** The pool that a graph's memory comes from.
 *
 * - `graph`: a graph whose capture has begun.
 * - returns: the pool.
 * - errors: `FLAM_ERROR_GRAPH_CAPTURE` before.
 */
FLAM_API flam_memory_pool *flam_graph_pool(const flam_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
