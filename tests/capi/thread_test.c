/* Handles on many threads: one tensor read, retained and released by all, handles made here and
 * released there, backward on every thread, error records, frames and modes that stay each
 * thread's own, threads that end with scopes open, and what a program does at a thread's end. */
#include <pthread.h>

#include "pairs.h"

enum { threads = 8, rounds = 200 };

typedef struct {
  flam_tensor *shared, *handed;
  int index;
} job;

static void run_all(void *(*work)(void *), job *jobs) {
  pthread_t thread[threads];
  int i;
  for (i = 0; i < threads; ++i) CHECK(pthread_create(&thread[i], NULL, work, &jobs[i]) == 0);
  for (i = 0; i < threads; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
}

static void *read_and_count(void *argument) {
  job *j = (job *)argument;
  int i;
  for (i = 0; i < rounds; ++i) {
    flam_tensor *again = flam_tensor_retain(j->shared), *twice = flam_add(again, j->shared);
    CHECK(equals(twice, 2, 4));
    flam_tensor_release(again);
    flam_tensor_release(twice);
  }
  j->handed = vector(j->index, -j->index); /* released by another thread */
  return NULL;
}

static void *backward_each(void *argument) {
  job *j = (job *)argument;
  int i;
  for (i = 0; i < rounds; ++i) {
    const flam_scope frame = flam_frame_push();
    flam_tensor *x = vector(j->index, 1), *y;
    CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
    y = flam_sum(flam_mul(flam_mul(x, x), j->shared), NULL);
    CHECK(flam_backward(y) == FLAM_OK);
    CHECK(equals(flam_tensor_grad(x), 2.0 * j->index, 4));
    CHECK(flam_frame_pop(frame) == FLAM_OK);
  }
  return NULL;
}

static void *stay_apart(void *argument) {
  job *j = (job *)argument;
  const flam_scope off = flam_grad_mode_push(j->index % 2);
  int i;
  for (i = 0; i < rounds; ++i) {
    CHECK(flam_grad_enabled() == j->index % 2);
    if (j->index % 3 == 0) {
      CHECK(flam_neg(NULL) == NULL && flam_error_code() == FLAM_ERROR_INVALID_ARGUMENT);
      flam_error_clear();
    } else {
      CHECK(flam_error_code() == FLAM_OK);
    }
  }
  CHECK(flam_scope_pop(off) == FLAM_OK && flam_grad_enabled());
  return NULL;
}

static flam_status never_pack(void *user, const flam_tensor *tensor, void **out_packed) {
  (void)user, (void)tensor, (void)out_packed;
  return FLAM_ERROR_CALLBACK;
}

static flam_status never_unpack(void *user, void *packed, flam_tensor **out_tensor) {
  (void)user, (void)packed, (void)out_tensor;
  return FLAM_ERROR_CALLBACK;
}

static void open_and_end(void *user) {
  flam_scope open[threads];
  int i;
  for (i = 0; i < threads; ++i) open[i] = flam_grad_mode_push(0);
  while (i-- > 0) CHECK(flam_scope_pop(open[i]) == FLAM_OK);
  ++((job *)user)->index;
}

static void *end_inside(void *argument) {
  const flam_saved_hooks hooks = {
      sizeof(flam_saved_hooks), argument, never_pack, never_unpack, NULL, open_and_end};
  flam_scope scope;
  int i;
  for (i = 0; i < threads; ++i) CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_OK);
  return NULL;
}

/* Functions whose text the thread keeps. */
static void check_texts(flam_module *m, const flam_tensor *x) {
  const char *text = NULL;
  CHECK(flam_tensor_format(x, &text, NULL) == FLAM_OK && !strncmp(text, "tensor([1., 2.],", 16));
  CHECK(strstr(flam_module_format(m), "(longer_than_any_short_text): Linear(in_features=2"));
  CHECK(flam_device_properties(device_under_test(), &text) == FLAM_OK);
  CHECK(strstr(text, "\"multiprocessors\": ") || strstr(text, "\"total_memory\": "));
  CHECK(strstr(flam_leak_report(), " x module Sequential from flam_nn_sequential\n"));
  CHECK(flam_monitor_table()[0] != 0);
}

/* A failure in a module, whose path the error names. */
static void check_failure(flam_module *m, const flam_tensor *x) {
  CHECK(flam_module_call(m, x) == NULL);
  CHECK_ERROR(FLAM_ERROR_DTYPE, "longer_than_any_short_text");
}

static pthread_key_t key; /* its destructor comes after all that the library does at the end */
static flam_module *net;
static int ended;

static void at_the_end(void *x) {
  const flam_scope frame = flam_frame_push();
  check_texts(net, (flam_tensor *)x);
  check_failure(net, (flam_tensor *)x);
  CHECK(equals(flam_neg((flam_tensor *)x), -1, -2) && flam_frame_pop(frame) == FLAM_OK);
  flam_tensor_release((flam_tensor *)x);
  ++ended;
}

static void *leave_work_to_the_end(void *unused) {
  flam_tensor *x = vector(1, 2);
  check_texts(net, x);
  check_failure(net, x);
  CHECK(pthread_setspecific(key, x) == 0);
  return unused;
}

static void test_work_at_the_end_of_a_thread(void) {
  pthread_t thread;
  flam_module *linear = flam_nn_linear(2, 2, NULL);
  net = flam_nn_sequential();
  CHECK(flam_module_set_child(net, "longer_than_any_short_text", linear) == FLAM_OK);
  flam_module_release(linear);
  CHECK(pthread_key_create(&key, at_the_end) == 0);
  CHECK(pthread_create(&thread, NULL, leave_work_to_the_end, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0 && ended == 1);
  flam_module_release(net);
}

int main(void) {
  job jobs[threads];
  flam_tensor *shared;
  int i;
  load();
  flam_set_leak_tracking_enabled(1);
  shared = vector(1, 2);
  for (i = 0; i < threads; ++i) {
    jobs[i].shared = shared;
    jobs[i].handed = NULL;
    jobs[i].index = i;
  }
  run_all(read_and_count, jobs);
  for (i = 0; i < threads; ++i) {
    CHECK(equals(jobs[i].handed, i, -i));
    flam_tensor_release(jobs[i].handed);
  }
  run_all(backward_each, jobs);
  run_all(stay_apart, jobs);
  run_all(end_inside, jobs);
  test_work_at_the_end_of_a_thread();
  for (i = 0; i < threads; ++i) CHECK(jobs[i].index == i + threads);
  CHECK(flam_error_code() == FLAM_OK && flam_grad_enabled());
  flam_tensor_release(shared);
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
