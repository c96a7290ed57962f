// A grid that runs: its threads, what they wait for, and `launch`. One grid runs at a time: host
// threads wait for one another, so that shared memory is plain memory and its loops are quick.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <tuple>

#include "vector_types.h"

namespace cuda_on_cpu {

// A launch that CUDA would refuse, or a kernel that broke a rule while it ran.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Fiber;
struct Grid;

enum class State : uint8_t { fresh, ready, at_barrier, at_warp, done };

// What a thread brings to a barrier or a warp's exchange, and what it takes away.
struct Thread {
  uint3 index;
  unsigned lane, warp;
  State state;
  Fiber* fiber;
  Grid* grid;
  bool predicate;        // of __syncthreads_count and its like
  int votes;             // threads of the block whose predicate held
  int voters;            // threads that were at the barrier
  unsigned mask;         // lanes that take part in the exchange
  const char* exchange;  // its name
  uint64_t value;
  uint64_t gathered[32];  // every lane's value
};

struct Grid {
  const char* name;
  dim3 grid_dim, block_dim;
  uint3 block;
  void* shared;         // dynamic shared memory
  const char* problem;  // set by a thread that cannot go on
  void (*body)(const void*);
  const void* arguments;
};

// The thread that runs.
extern Thread* current;

// Order of threads in the launches that follow, on every host thread; FLAMBEAU_EMU_SEED is the
// first.
void set_seed(uint64_t seed);

void run(Grid& grid, size_t shared_bytes);
void barrier(bool predicate);
void exchange(const char* name, unsigned mask, uint64_t value);
[[noreturn]] void stop(const char* problem);  // ends the launch with an error, from a kernel
inline void* dynamic_shared() { return current->grid->shared; }

template <class T> struct Unchanged {
  using type = T;
};  // keeps an argument out of deduction

// A launch as a value: what it takes to run it now, or later.
template <class... P> struct Call {
  const char* name;
  void (*kernel)(P...);
  dim3 grid, block;
  size_t shared_bytes;
  std::tuple<P...> args;

  static void run(void*, const void* p) {
    const Call& call = *static_cast<const Call*>(p);
    Grid g{call.name,
           call.grid,
           call.block,
           {},
           nullptr,
           nullptr,
           [](const void* c) {
             const Call& of = *static_cast<const Call*>(c);
             std::apply(of.kernel, of.args);
           },
           p};
    cuda_on_cpu::run(g, call.shared_bytes);
  }
};

// Where set, launches are handed to it instead of run: a runtime that has streams calls `run` with
// a copy of the `bytes` at `call` in its own time.
using Enqueue = void (*)(void* stream, const char* name, void (*run)(void*, const void*),
                         const void* call, size_t bytes);
inline Enqueue enqueue = nullptr;

template <class... P>
void launch(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
            void* stream, typename Unchanged<P>::type... args) {
  const Call<P...> call{name, kernel, grid, block, shared_bytes, {args...}};
  enqueue ? enqueue(stream, name, call.run, &call, sizeof call) : call.run(stream, &call);
}

}  // namespace cuda_on_cpu

inline void __syncthreads() { ::cuda_on_cpu::barrier(false); }
inline int __syncthreads_count(int predicate) {
  ::cuda_on_cpu::barrier(predicate != 0);
  return ::cuda_on_cpu::current->votes;
}
inline int __syncthreads_and(int predicate) {
  ::cuda_on_cpu::barrier(predicate != 0);
  return ::cuda_on_cpu::current->votes == ::cuda_on_cpu::current->voters;
}
inline int __syncthreads_or(int predicate) {
  ::cuda_on_cpu::barrier(predicate != 0);
  return ::cuda_on_cpu::current->votes > 0;
}
