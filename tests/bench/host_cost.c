/* What a repeated product costs the host before the GPU has it, beside an addition: the bar is 1.5
 * times as much. Over the stand-in for CUDA, whose device is told to do nothing: what is left is
 * the library's time, and the contract's checks of a few calls that both make. Best of many rounds,
 * in which the rows take turns; nanoseconds, and the ratio to the addition.
 *
 *     FLAMBEAU_SIM=devices=1 FLAMBEAU_STANDIN_EMPTY=1 \
 *         FLAMBEAU_LIBRARY=build/cpu/standin/libflambeau.so.0 build/cpu/bench/bench_host_cost
 */
#define _POSIX_C_SOURCE 200809L
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 400
#define CALLS 100

static flam_tensor *a, *b, *bias, *batch, *heads, *keys;

static void add(void) { flam_tensor_release(flam_add(a, a)); }
static void product(void) { flam_tensor_release(flam_mm(a, b)); }
static void batched(void) { flam_tensor_release(flam_matmul(batch, batch)); }
static void added(void) { flam_tensor_release(flam_addmm(bias, a, b, NULL)); }
static void linear(void) { flam_tensor_release(flam_linear(a, b, bias)); }
static void of_heads(void) { flam_tensor_release(flam_matmul(heads, keys)); }

static const struct {
  const char *name;
  void (*call)(void);
} rows[] = {{"add", add},     {"mm", product},    {"matmul, a batch", batched},
            {"addmm", added}, {"linear", linear}, {"matmul, 2 x 3 heads of strides", of_heads}};
enum { n_rows = sizeof rows / sizeof rows[0] };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void check(void) {
  if (flam_error_code() == FLAM_OK) return;
  fprintf(stderr, "%s\n", flam_error_message());
  exit(1);
}

static flam_tensor *ones(size_t n, int64_t s0, int64_t s1, int64_t s2, int64_t s3) {
  const int64_t sizes[] = {s0, s1, s2, s3};
  flam_creation_options options = FLAM_CREATION_OPTIONS_INIT;
  flam_device_parse("cuda", &options.device);
  return flam_ones(sizes, n, &options);
}

int main(void) {
  double best[n_rows];
  int round, row, i;
  const char *problem = flam_library_load(NULL);
  if (problem) return fprintf(stderr, "%s\n", problem), 1;
  a = ones(2, 64, 64, 0, 0);
  b = ones(2, 64, 64, 0, 0);
  bias = ones(1, 64, 0, 0, 0);
  batch = ones(3, 4, 64, 64, 0);
  heads = flam_transpose(ones(4, 2, 64, 3, 64), 1, 2);
  keys = flam_transpose(heads, 2, 3);
  check();
  for (row = 0; row < n_rows; ++row) best[row] = 1e18;
  for (round = 0; round < ROUNDS; ++round)
    for (row = 0; row < n_rows; ++row) {
      const double begun = now();
      for (i = 0; i < CALLS; ++i) rows[row].call();
      if ((now() - begun) / CALLS < best[row]) best[row] = (now() - begun) / CALLS;
    }
  check();
  for (row = 0; row < n_rows; ++row)
    printf("%-32s %8.0f ns  %5.2f\n", rows[row].name, best[row], best[row] / best[0]);
  return 0;
}
