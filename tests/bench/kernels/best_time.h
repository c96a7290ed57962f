// The timer of the kernel benchmarks: the fastest batch of calls, which a busy neighbour disturbs
// least.
#pragma once
#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/thread_pool.h"

// The fastest of several batches of calls, in seconds per call.
template <class F> double best_time(F&& call, double seconds) {
  const clockid_t clock =
      flambeau::get_num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  auto now = [&] {
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  auto time = [&](int64_t calls) {
    const double start = now();
    for (int64_t i = 0; i < calls; ++i) call();
    return now() - start;
  };
  call();
  int64_t calls = 1;
  while (time(calls) < 0.005) calls *= 2;
  double best = 1e9;
  for (double spent = 0; spent < seconds;) {
    const double t = time(calls);
    best = std::min(best, t / double(calls));
    spent += t;
  }
  return best;
}
