// Atomic updates, really atomic: two host threads may run grids over the same memory (streams of a
// simulated device).
#pragma once
#include <atomic>

namespace cuda_on_cpu {

// Replaces *p by next(*p) and returns what was there.
template <class T, class F> T update(T* p, F next) {
  std::atomic_ref<T> cell(*p);
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, next(old), std::memory_order_relaxed)) {
  }
  return old;
}

}  // namespace cuda_on_cpu

#define CUDA_ON_CPU_ATOMIC(name, T, expression)                                 \
  inline T name(T* p, T v) {                                                    \
    return ::cuda_on_cpu::update(                                               \
        p, [v]([[maybe_unused]] T old) { return static_cast<T>(expression); }); \
  }
#define CUDA_ON_CPU_ATOMICS(T)                        \
  CUDA_ON_CPU_ATOMIC(atomicAdd, T, old + v)           \
  CUDA_ON_CPU_ATOMIC(atomicSub, T, old - v)           \
  CUDA_ON_CPU_ATOMIC(atomicExch, T, v)                \
  CUDA_ON_CPU_ATOMIC(atomicMin, T, old < v ? old : v) \
  CUDA_ON_CPU_ATOMIC(atomicMax, T, old > v ? old : v)
#define CUDA_ON_CPU_BIT_ATOMICS(T)                                                          \
  CUDA_ON_CPU_ATOMIC(atomicAnd, T, old& v)                                                  \
  CUDA_ON_CPU_ATOMIC(atomicOr, T, old | v)                                                  \
  CUDA_ON_CPU_ATOMIC(atomicXor, T, old ^ v)                                                 \
  inline T atomicCAS(T* p, T expected, T v) {                                               \
    std::atomic_ref<T>(*p).compare_exchange_strong(expected, v, std::memory_order_relaxed); \
    return expected;                                                                        \
  }
CUDA_ON_CPU_ATOMICS(int)
CUDA_ON_CPU_ATOMICS(unsigned)
CUDA_ON_CPU_ATOMICS(unsigned long long)
CUDA_ON_CPU_ATOMIC(atomicMin, long long, old < v ? old : v)
CUDA_ON_CPU_ATOMIC(atomicMax, long long, old > v ? old : v)
CUDA_ON_CPU_ATOMIC(atomicAdd, float, old + v)
CUDA_ON_CPU_ATOMIC(atomicExch, float, v)
CUDA_ON_CPU_ATOMIC(atomicAdd, double, old + v)
CUDA_ON_CPU_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
CUDA_ON_CPU_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
CUDA_ON_CPU_BIT_ATOMICS(int)
CUDA_ON_CPU_BIT_ATOMICS(unsigned)
CUDA_ON_CPU_BIT_ATOMICS(unsigned long long)
CUDA_ON_CPU_BIT_ATOMICS(unsigned short)
#undef CUDA_ON_CPU_BIT_ATOMICS
#undef CUDA_ON_CPU_ATOMICS
#undef CUDA_ON_CPU_ATOMIC

// A write that all of them make in one order, where a fence alone would do: the thread sanitizer
// follows the one and refuses the other.
inline void __threadfence_system() {
  static std::atomic<int> order{0};
  order.fetch_add(0, std::memory_order_seq_cst);
}
inline void __threadfence() { __threadfence_system(); }
inline void __threadfence_block() { __threadfence_system(); }
