// The one pool of threads for data-parallel loops. Work is cut into fixed chunks that do not depend
// on how many threads there are. Every thread begins with its own part of them, the same part in
// loops alike, and whoever is free goes on with another's; the caller can do everything itself, so
// a busy machine costs nothing but speed. Loops inside loops run on the thread they are in.
#pragma once
#include <cstdint>
#include <exception>
#include <type_traits>

#include "base/thread_local.h"

namespace flambeau {

int get_num_threads();        // callers included; default: FLAMBEAU_NUM_THREADS, or the cores this
                              // process may use
void set_num_threads(int n);  // throws Error(invalid argument) where n < 1

namespace detail {

using ChunkFn = void (*)(void* f, int64_t begin, int64_t end);
void run_chunks(int64_t n, int64_t grain, ChunkFn fn,
                void* f);                   // rethrows the first exception of a chunk
inline FLAM_THREAD_LOCAL int t_inline = 0;  // > 0: inside a loop, or told to stay on this thread

}  // namespace detail

// While it lives, loops of this thread run on this thread.
class InlineLoops {
 public:
  InlineLoops() { ++detail::t_inline; }
  ~InlineLoops() { --detail::t_inline; }
  InlineLoops(const InlineLoops&) = delete;
  InlineLoops& operator=(const InlineLoops&) = delete;
};

// Calls f(begin, end) for [0, grain), [grain, 2 grain) ... up to n, each once, in any order and on
// any thread.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain) return f(int64_t(0), n);
  using Fn = std::remove_reference_t<F>;
  detail::run_chunks(
      n, grain, [](void* p, int64_t begin, int64_t end) { (*static_cast<Fn*>(p))(begin, end); },
      const_cast<std::remove_const_t<Fn>*>(&f));
}

}  // namespace flambeau
