/* Times one call in this thread's own processor time, so that a neighbour on the machine costs
 * little: the median of batches of about a millisecond.
 */
#ifndef FLAMBEAU_BENCH_ROW_TIME_H
#define FLAMBEAU_BENCH_ROW_TIME_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double row_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double row_batch(void (*call)(void), long calls) {
  const double begun = row_now();
  long i;
  for (i = 0; i < calls; ++i) call();
  return row_now() - begun;
}

static int row_order(const void* p, const void* q) {
  const double a = *(const double*)p, b = *(const double*)q;
  return (a > b) - (a < b);
}

/* Runs `call` for about so many seconds and prints "name: nanoseconds". */
static void row(const char* name, void (*call)(void), double seconds) {
  enum { most = 4096 };
  static double batches[most];
  long calls = 1;
  int n = 0;
  double spent = 0;
  while (row_batch(call, calls) < 1e-3) calls *= 2;
  while (n < most && spent < seconds) spent += batches[n++] = row_batch(call, calls);
  qsort(batches, (size_t)n, sizeof *batches, row_order);
  printf("%s: %.1f\n", name, batches[n / 2] / (double)calls * 1e9);
}

#endif
