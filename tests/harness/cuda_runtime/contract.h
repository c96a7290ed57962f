// The contract of CUDA's runtime as the stand-in holds callers to it, beyond the errors that
// NVIDIA's own returns: the right current device, live handles of the right device, pointers into
// live memory of the named space, no unsafe call by a thread that captures, no CUDA call from a
// host function, no use of memory that nothing orders (accesses.cc). What breaks it is counted and
// printed, fails the call, and fails the process at its end.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/hal.h"

namespace cuda_runtime {

// One call of the API: what it may not break at its very entry. `current` is the thread's device.
struct Call {
  const char* name;
  int current;
  cudaError_t injected;  // what a test asked for; what cannot be undone looks first

  // All but the questions for versions initialise CUDA, for which a process must not be a fork of
  // one that did so before.
  explicit Call(const char* name, bool initialises = true);
  // Counts a breach and gives the error that the call returns.
  template <class... T>
  cudaError_t breaks(cudaError_t error, const T&... text) const {
    return breach(error, flambeau::cat_text(text...));
  }
  // The simulated device's answer as CUDA's, kept for cudaGetLastError.
  cudaError_t answer(flambeau::hal::Status status) const;
  cudaError_t returns(cudaError_t error) const;
  // A call that may wait or allocate is an error while the thread captures a stream.
  bool is_unsafe() const;
  // The device gets a context, as NVIDIA's runtime makes one at the first call that needs it.
  void needs_context() const;

 private:
  cudaError_t breach(cudaError_t error, const std::string& text) const;
};

// A stream that the call may use: a live one of the current device, or null, its default one.
cudaError_t check_stream(const Call& call, cudaStream_t stream);

extern thread_local int current_device;
extern thread_local int captures;         // of this thread, but those that let it do as it likes
extern std::atomic<int> global_captures;  // of all threads, those that bind all of them
extern thread_local cudaStreamCaptureMode capture_mode;  // how this thread takes them
extern thread_local bool in_host_function;               // CUDA may not be called

// FLAMBEAU_STANDIN_EMPTY: launches and products do nothing, and what costs time is not checked, so
// that a benchmark has the library's own time on the host.
bool is_empty();

// What the launch of the HAL that this thread is in touches.
extern thread_local std::span<const flambeau::Access> accesses;

// Memory that came by pages, which calls may use from now on, or no more.
void add_pages(const void* p, size_t bytes, int device);
void remove_pages(const void* p);

std::set<int> contexts();                      // devices that have one
const std::set<std::pair<int, int>>& peers();  // (from, to) between which copies go directly
bool is_initialised();                         // CUDA, by this process
int breaches();                                // so far
void forgive();                                // a test broke it, or left things, on purpose

// What a program has of all devices now.
struct Held {
  size_t streams, events, graphs, bytes, registered;
  bool operator==(const Held&) const = default;
};
Held held();
size_t graphs();      // captured and executable ones
size_t registered();  // pieces of the host's memory

// From now on the call of the function (of any where it is null) after `passed` of them answers
// with this error, and so do the ones after it, `times` in all. One that is sticky loses the
// devices and is every later call's answer. `heal` ends it: the call that was answered so, or null.
void fail_calls(const char* name, cudaError_t error, int passed = 0, int times = 1);
const char* heal();
bool is_sticky(cudaError_t error);

inline const flambeau::hal::Table& devices() { return flambeau::hal::sim_table(); }

}  // namespace cuda_runtime
