/* Graphs as C writes them: a step captured on a stream, replayed over new inputs with new random
 * numbers, its memory shared by way of a pool; and what is refused, with the reason. */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>

#include "pairs.h"

static flam_device gpu(void) { return gpu_under_test(0); }

static flam_tensor *there(double a, double b) {
  return flam_to(vector(a, b), FLAM_DTYPE_NONE, gpu(), NULL);
}

static void test_a_step_is_captured_and_replayed(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = there(0, 0), *y;
  flam_stream_options on = FLAM_STREAM_OPTIONS_INIT;
  flam_graph *graph = flam_graph_new();
  flam_scope side;
  flam_bool capturing = 0;
  on.device = gpu();
  CHECK(flam_stream_push(flam_stream_new(&on), &side) == FLAM_OK);
  CHECK(flam_stream_wait_stream(flam_stream_current(gpu()), flam_stream_default(gpu())) == FLAM_OK);
  CHECK(flam_graph_capture_begin(graph, NULL) == FLAM_OK);
  CHECK(flam_stream_is_capturing(flam_stream_current(gpu()), &capturing) == FLAM_OK && capturing);
  y = flam_mul(flam_add_f64(x, 1), x);
  CHECK(flam_graph_capture_end(graph) == FLAM_OK);
  CHECK(flam_stream_is_capturing(flam_stream_current(gpu()), &capturing) == FLAM_OK && !capturing);
  CHECK(flam_copy_(x, vector(2, 3), 0) != NULL);
  CHECK(flam_graph_replay(graph) == FLAM_OK && equals(y, 6, 12));
  CHECK(flam_copy_(x, vector(4, 5), 0) != NULL);
  CHECK(flam_graph_replay(graph) == FLAM_OK && equals(y, 20, 30));
  CHECK(flam_graph_reset(graph) == FLAM_OK && flam_graph_replay(graph) != FLAM_OK);
  CHECK_ERROR(FLAM_ERROR_GRAPH_CAPTURE, "has not been captured");
  CHECK(flam_scope_pop(side) == FLAM_OK && flam_frame_pop(frame) == FLAM_OK);
}

static void test_graphs_share_a_pool(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = there(1, 2), *y, *z;
  flam_stream_options on = FLAM_STREAM_OPTIONS_INIT;
  flam_graph_capture_begin_options in = FLAM_GRAPH_CAPTURE_BEGIN_OPTIONS_INIT;
  flam_graph *first = flam_graph_new(), *second = flam_graph_new();
  flam_scope side;
  on.device = gpu();
  CHECK(flam_stream_push(flam_stream_new(&on), &side) == FLAM_OK);
  CHECK(flam_stream_wait_stream(flam_stream_current(gpu()), flam_stream_default(gpu())) == FLAM_OK);
  CHECK(flam_graph_pool(first) == NULL);
  CHECK_ERROR(FLAM_ERROR_GRAPH_CAPTURE, "no memory pool");
  CHECK(flam_graph_capture_begin(first, NULL) == FLAM_OK);
  y = flam_add_f64(x, 1);
  CHECK(flam_graph_capture_end(first) == FLAM_OK);
  in.pool = flam_graph_pool(first);
  CHECK(flam_memory_pool_device(in.pool) == flam_tensor_device(x));
  in.capture_error_mode = FLAM_CAPTURE_THREAD_LOCAL;
  CHECK(flam_graph_capture_begin(second, &in) == FLAM_OK);
  z = flam_mul_f64(y, 10);
  CHECK(flam_graph_capture_end(second) == FLAM_OK);
  CHECK(flam_graph_replay(first) == FLAM_OK && flam_graph_replay(second) == FLAM_OK);
  CHECK(equals(z, 20, 30));
  CHECK(flam_scope_pop(side) == FLAM_OK && flam_frame_pop(frame) == FLAM_OK);
}

static void test_what_cannot_be_captured_is_refused(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = there(1, 2);
  flam_stream_options on = FLAM_STREAM_OPTIONS_INIT;
  flam_graph *graph = flam_graph_new();
  flam_scope side;
  double host[2];
  CHECK(flam_graph_capture_begin(graph, NULL) == FLAM_ERROR_GRAPH_CAPTURE);
  CHECK_ERROR(FLAM_ERROR_GRAPH_CAPTURE, "default stream");
  CHECK(flam_graph_capture_end(graph) == FLAM_ERROR_GRAPH_CAPTURE);
  flam_error_clear();
  on.device = gpu();
  CHECK(flam_stream_push(flam_stream_new(&on), &side) == FLAM_OK);
  CHECK(flam_graph_capture_begin(graph, NULL) == FLAM_OK);
  CHECK(flam_tensor_to_host(x, host, sizeof host) == FLAM_ERROR_GRAPH_CAPTURE);
  flam_error_clear();
  CHECK(flam_memory_empty_cache(gpu()) == FLAM_ERROR_GRAPH_CAPTURE);
  flam_error_clear();
  flam_graph_capture_end(graph);
  flam_error_clear();
  CHECK(flam_scope_pop(side) == FLAM_OK);
  CHECK(equals(flam_neg(x), -1, -2));
  CHECK(flam_memory_pool_new(flam_device_make(FLAM_CPU, 0)) == NULL);
  CHECK_ERROR(FLAM_ERROR_UNSUPPORTED, "cpu");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

static void *let_go(void *graph) {
  flam_graph_release(graph);
  return NULL;
}

/* A handle is released on any thread, that of a capture too: the thread that began it draws and
 * allocates as before, and may capture again. */
static void test_a_capture_ends_with_its_graph_on_any_thread(void) {
  const flam_scope frame = flam_frame_push();
  const int64_t two = 2;
  double drawn[2];
  flam_random_options of = FLAM_RANDOM_OPTIONS_INIT;
  flam_stream_options on = FLAM_STREAM_OPTIONS_INIT;
  flam_graph *graph = flam_graph_new(), *next = flam_graph_new();
  pthread_t other;
  flam_scope side;
  on.device = of.device = gpu();
  of.dtype = FLAM_F64;
  CHECK(flam_graph_keep(graph) == graph);
  CHECK(flam_stream_push(flam_stream_new(&on), &side) == FLAM_OK);
  CHECK(flam_graph_capture_begin(graph, NULL) == FLAM_OK);
  CHECK(flam_randn(&two, 1, &of) != NULL);
  CHECK(pthread_create(&other, NULL, let_go, graph) == 0 && pthread_join(other, NULL) == 0);
  CHECK(flam_manual_seed(3) == FLAM_OK);
  CHECK(flam_tensor_to_host(flam_randn(&two, 1, &of), drawn, sizeof drawn) == FLAM_OK);
  CHECK(flam_manual_seed(3) == FLAM_OK);
  CHECK(equals(flam_randn(&two, 1, &of), drawn[0], drawn[1]));
  CHECK(flam_graph_capture_begin(next, NULL) == FLAM_OK);
  CHECK(flam_graph_capture_end(next) == FLAM_OK);
  CHECK(flam_scope_pop(side) == FLAM_OK && flam_frame_pop(frame) == FLAM_OK);
}

int main(void) {
  CHECK(setenv("FLAMBEAU_SIM", "devices=1,memory=64MiB", 0) == 0);
  load();
  test_a_step_is_captured_and_replayed();
  test_graphs_share_a_pool();
  test_what_cannot_be_captured_is_refused();
  /* CUDA ends a capture on the thread that began it, and nowhere else. */
  if (flam_device_type_of(gpu()) == FLAM_SIM) test_a_capture_ends_with_its_graph_on_any_thread();
  return 0;
}
