// The timer of the kernel benchmarks: the fastest batch of calls, which a busy neighbour disturbs
// least.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

// The fastest of several batches of calls, in seconds per call.
template <class F> double best_time(F&& call, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto time = [&](int64_t calls) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(Clock::now() - start).count();
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
