/* Sizes, counts, factors and lists out of all bounds, each in a child process with limits on time
 * and memory: an error with a text comes back, from the handle and from the record. What the
 * generated test (tests/extreme) does to every function, these do on purpose. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pairs.h"

enum { seconds = 20 };
static const int64_t huge[] = {INT64_MAX, INT64_MAX - 1, INT64_MIN,
                               1ll << 62, 1ll << 40,     1ll << 31};
enum { n_huge = sizeof huge / sizeof *huge };

static flam_tensor *ones(const int64_t *size, size_t n, flam_dtype dtype) {
  flam_creation_options options = FLAM_CREATION_OPTIONS_INIT;
  options.dtype = dtype;
  options.requires_grad = dtype == FLAM_F32;
  return flam_ones(size, n, &options);
}

static flam_tensor *matrix(void) {
  const int64_t size[] = {2, 3};
  return ones(size, 2, FLAM_F32);
}

static flam_tensor *image(void) {
  const int64_t size[] = {1, 4, 8, 8};
  return ones(size, 4, FLAM_F32);
}

/* A call that must fail, with a text; an answer that is right after all is no failure. */
#define REFUSED(call)                                             \
  do {                                                            \
    CHECK(!(call));                                               \
    CHECK(flam_error_code() != FLAM_OK && *flam_error_message()); \
    CHECK(flam_error_code() != FLAM_ERROR_INTERNAL);              \
    flam_error_clear();                                           \
  } while (0)
#define REFUSED_STATUS(call) REFUSED((call) == FLAM_OK)
#define SURVIVED(call)                             \
  do {                                             \
    const int made = (call) != NULL;               \
    CHECK(made == (flam_error_code() == FLAM_OK)); \
    CHECK(made || *flam_error_message());          \
    flam_error_clear();                            \
  } while (0)

static void missing_entries(void) {
  flam_autograd_backward_options options = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT;
  flam_tensor *x = matrix(), *l = flam_sum(x, NULL), *none[1] = {NULL};
  options.inputs = none;
  options.n_inputs = 1;
  REFUSED_STATUS(flam_autograd_backward(&l, 1, &options));
  REFUSED_STATUS(flam_autograd_backward(none, 1, NULL));
  REFUSED(flam_grad(&l, 1, none, 1, NULL));
  REFUSED(flam_grad(none, 1, &x, 1, NULL));
  REFUSED(flam_cat(none, 1, 0));
  REFUSED(flam_stack(none, 1, 0));
  REFUSED(flam_sgd_new(none, 1, NULL));
  CHECK(flam_backward(l) == FLAM_OK);
}

static void no_dtype(void) {
  flam_tensor *x = matrix();
  int32_t number;
  REFUSED(flam_view_dtype(x, FLAM_DTYPE_NONE));
  for (number = 90; number < 300; number += 70) REFUSED(flam_view_dtype(x, number));
  REFUSED(flam_view_dtype(x, -1));
}

static void factors(void) {
  int i;
  for (i = 0; i < n_huge; ++i) {
    REFUSED(flam_pixel_shuffle(image(), huge[i]));
    REFUSED(flam_pixel_unshuffle(image(), huge[i]));
    REFUSED(flam_channel_shuffle(image(), huge[i]));
    SURVIVED(flam_polygamma(huge[i], vector(1, 2)));
  }
  REFUSED(flam_pixel_shuffle(image(), 0));
  REFUSED(flam_pixel_unshuffle(image(), 0));
}

/* Four elements make as many parts as there is memory for, or none; 4 GiB of address space. */
static void counts(void) {
  const int64_t size[] = {4};
  flam_combinations_options options = FLAM_COMBINATIONS_OPTIONS_INIT;
  flam_tensor *x = ones(size, 1, FLAM_F64);
  int i;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const struct rlimit four = {4ull << 30, 4ull << 30};
  CHECK(setrlimit(RLIMIT_AS, &four) == 0);
#endif
  options.with_replacement = 1;
  for (i = 0; i < n_huge; ++i) {
    REFUSED(flam_tensor_split(x, huge[i], 0));
    options.r = huge[i];
    REFUSED(flam_combinations(x, &options));
  }
  options.r = 64;
  SURVIVED(flam_combinations(x, &options));
}

static void windows(void) {
  static const int64_t kernels[] = {-1, 0, 1, 3, 9, 1ll << 31, 1ll << 40, 1ll << 62, INT64_MAX};
  static const int64_t paddings[] = {-1, 0, 1, 1ll << 30, 1ll << 61, INT64_MAX};
  enum { n_kernels = 9, n_paddings = 6 };
  flam_tensor *x = image();
  int i, k, p, ceil;
  for (i = 0; i < n_kernels * n_kernels * n_paddings * 2; ++i) {
    flam_max_pool_options options = FLAM_MAX_POOL_OPTIONS_INIT;
    int64_t kernel[2];
    const flam_scope frame = flam_frame_push();
    k = i % (n_kernels * n_kernels);
    p = i / (n_kernels * n_kernels) % n_paddings;
    ceil = i / (n_kernels * n_kernels * n_paddings);
    kernel[0] = kernels[k / n_kernels];
    kernel[1] = kernels[k % n_kernels];
    options.padding = &paddings[p];
    options.n_padding = 1;
    options.ceil_mode = ceil;
    SURVIVED(flam_max_pool2d(x, kernel, 2, &options));
    CHECK(flam_frame_pop(frame) == FLAM_OK);
  }
}

static void a_retained_result_after_its_frame(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *kept = flam_tensor_retain(flam_neg(vector(1, 2)));
  CHECK(flam_frame_pop(frame) == FLAM_OK && equals(kept, -1, -2));
  flam_tensor_release(kept);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"missing entries", missing_entries},
             {"no dtype", no_dtype},
             {"factors", factors},
             {"counts", counts},
             {"windows", windows},
             {"a retained result after its frame", a_retained_result_after_its_frame}};

int main(void) {
  size_t i;
  int status = 0, failed = 0;
  for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      const struct rlimit none = {0, 0};
      setrlimit(RLIMIT_CORE, &none);
      load();
      alarm(seconds);
      cases[i].run();
      _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    failed = 1;
    if (WIFSIGNALED(status)) {
      fprintf(stderr, "%s: signal %d (%d: no end in %d s)\n", cases[i].name, WTERMSIG(status),
              SIGALRM, seconds);
    } else {
      fprintf(stderr, "%s: failed\n", cases[i].name);
    }
  }
  return failed;
}
