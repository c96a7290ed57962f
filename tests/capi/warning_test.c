/* Warnings as C sees them: nobody hears of them unasked; a function is told in the words that it
 * asked for, and what it refuses fails a call that has written nothing; a descriptor gets each
 * message once; whoever is told no more is dropped. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "pairs.h"

typedef struct {
  int told, dropped, refuse;
  pthread_t on;
  char last[300];
} listener;

static flam_status hear(void *user, flam_warning kind, const char *message) {
  listener *l = user;
  ++l->told;
  l->on = pthread_self();
  CHECK(kind == FLAM_WARNING_USER && flam_error_code() == FLAM_OK);
  snprintf(l->last, sizeof l->last, "%s", message);
  if (!l->refuse) return FLAM_OK;
  flam_error_set("not in this program", NULL, NULL);
  return FLAM_ERROR_CALLBACK;
}

static void drop(void *user) { ++((listener *)user)->dropped; }

static flam_status listen(listener *l, flam_language language) {
  flam_warning_callback callback = {sizeof callback, NULL, hear, drop, 0, 0};
  callback.user = l;
  callback.language = language;
  return flam_set_warning_callback(&callback);
}

static int64_t size_of(const flam_tensor *t) { return flam_tensor_size(t, 0); }

static void test_nobody_hears_unasked(void) {
  const int64_t one = 1;
  CHECK(flam_exp_out(vector(1, 2), flam_zeros(&one, 1, NULL)) != NULL);
  CHECK(!flam_warn_always_enabled());
}

static void test_a_refused_warning_fails_a_call_that_wrote_nothing(void) {
  const int64_t one = 1;
  listener l = {0};
  flam_creation_options f64 = FLAM_CREATION_OPTIONS_INIT;
  flam_tensor *x = vector(1, 2), *out;
  f64.dtype = FLAM_F64;
  out = flam_zeros(&one, 1, &f64);
  CHECK(listen(&l, FLAM_LANGUAGE_PYTHON) == FLAM_OK);
  l.refuse = 1;
  CHECK(flam_exp_out(x, out) == NULL && l.told == 1 && strstr(l.last, "shape [1]"));
  CHECK(pthread_equal(l.on, pthread_self()));
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "not in this program");
  CHECK(size_of(out) == 1);
  CHECK(flam_check_output(out, out, "f", 0, 1) == FLAM_OK && l.told == 1);
  CHECK(flam_check_output(out, x, "f", 0, 0) == FLAM_OK && l.told == 1);
  CHECK(flam_check_output(out, x, "f", 0, 1) == FLAM_ERROR_CALLBACK && l.told == 2);
  flam_error_clear();
  CHECK(flam_check_output(out, flam_to(x, FLAM_F32, 0, NULL), "f", 0, 1) == FLAM_ERROR_DTYPE);
  CHECK_ERROR(FLAM_ERROR_DTYPE, "f: Expected out tensor to have dtype");
  l.told = 1;
  l.refuse = 0;
  CHECK(flam_exp_out(x, out) == out && l.told == 2 && size_of(out) == 2);
  CHECK(flam_exp_out(x, out) == out && l.told == 2 && equals(out, exp(1), exp(2)));
  CHECK(strstr(l.last, "out.resize_(0)"));
  out = flam_zeros(&one, 1, NULL);
  CHECK(listen(&l, FLAM_LANGUAGE_C) == FLAM_OK && l.dropped == 1); /* the table before */
  CHECK(flam_exp_out(x, out) == out && l.told == 3 && strstr(l.last, "flam_resize_(out, "));
  flam_set_warning_descriptor(-1);
  CHECK(l.dropped == 2);
}

static void test_a_table_that_is_refused_is_dropped(void) {
  listener l = {0};
  flam_warning_callback callback = {sizeof callback, NULL, NULL, drop, 0, 0};
  callback.user = &l;
  CHECK(flam_set_warning_callback(&callback) == FLAM_ERROR_INVALID_ARGUMENT && l.dropped == 1);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "warn is missing");
  CHECK(flam_set_warning_callback(NULL) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
}

static size_t written(int from, char *text, size_t n) {
  const ssize_t got = read(from, text, n - 1);
  text[got > 0 ? got : 0] = '\0';
  return got > 0 ? (size_t)got : 0;
}

static void test_a_descriptor_gets_each_message_once(void) {
  const int64_t one = 1;
  char text[600];
  int ends[2];
  flam_tensor *x = vector(1, 2);
  CHECK(pipe(ends) == 0);
  flam_set_warning_descriptor(ends[1]);
  for (int i = 0; i < 2; ++i) CHECK(flam_exp_out(x, flam_zeros(&one, 1, NULL)) != NULL);
  CHECK(written(ends[0], text, sizeof text) > 0 && strncmp(text, "Warning: An output", 18) == 0);
  CHECK(strchr(text, '\n') == text + strlen(text) - 1); /* one line */
  flam_set_warn_always_enabled(1);
  CHECK(flam_warn_always_enabled());
  CHECK(flam_exp_out(x, flam_zeros(&one, 1, NULL)) != NULL);
  CHECK(written(ends[0], text, sizeof text) > 0);
  flam_set_warn_always_enabled(0);
  flam_set_warning_descriptor(-1);
  close(ends[0]);
  close(ends[1]);
}

static int signals = 0;
static void count(int signal) { signals += signal == SIGPIPE; }

/* Nobody reads, or the descriptor is closed: no reason for a call to fail, or for a signal, which
 * would end a program that asked for none. */
static void test_a_descriptor_that_nobody_reads_ends_nothing(void) {
  const int64_t one = 1;
  int ends[2];
  flam_tensor *x = vector(1, 2);
  sigset_t pending;
  struct sigaction counted = {0};
  counted.sa_handler = count;
  CHECK(sigaction(SIGPIPE, &counted, NULL) == 0 && pipe(ends) == 0);
  close(ends[0]);
  flam_set_warning_descriptor(ends[1]);
  flam_set_warn_always_enabled(1);
  CHECK(flam_exp_out(x, flam_zeros(&one, 1, NULL)) != NULL);
  close(ends[1]);
  CHECK(flam_exp_out(x, flam_zeros(&one, 1, NULL)) != NULL);
  CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE) && signals == 0);
  flam_set_warn_always_enabled(0);
  flam_set_warning_descriptor(-1);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  flam_scope frame = flam_frame_push();
  test_nobody_hears_unasked();
  test_a_refused_warning_fails_a_call_that_wrote_nothing();
  test_a_table_that_is_refused_is_dropped();
  test_a_descriptor_gets_each_message_once();
  test_a_descriptor_that_nobody_reads_ends_nothing();
  CHECK(flam_frame_pop(frame) == FLAM_OK && flam_leak_report()[0] == '\0');
  return 0;
}
