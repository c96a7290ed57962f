// See contract.h.
#include "contract.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "device/cuda/context.h"
#include "device/sim/control.h"
#include "device/sim/machine.h"
#include "driver.h"

namespace cuda_runtime {

using flambeau::hal::Status;
using flambeau::sim::Machine;

thread_local int current_device = 0;
thread_local int captures = 0;
std::atomic<int> global_captures{0};
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
thread_local bool in_host_function = false;

namespace {

thread_local cudaError_t t_last = cudaSuccess;
thread_local cudaError_t t_failed = cudaSuccess;  // since a library was entered
std::atomic<pid_t> g_initialised{0};              // by this process

cudaError_t meaning(Status status) {
  switch (status) {
    case Status::ok:
      return cudaSuccess;
    case Status::not_ready:
      return cudaErrorNotReady;
    case Status::out_of_memory:
      return cudaErrorMemoryAllocation;
    case Status::device_lost:
      return cudaErrorIllegalAddress;
    case Status::capture:
      return cudaErrorStreamCaptureUnsupported;
    case Status::invalid:
      return cudaErrorInvalidValue;
    default:
      return cudaErrorUnknown;
  }
}

// What a test asked for instead of success: by fail_calls, or of a whole program by
// FLAMBEAU_STANDIN_FAIL=<call>:<error>:<passed>:<times>.
class Failure {
 public:
  Failure() {
    const char* given = std::getenv("FLAMBEAU_STANDIN_FAIL");
    if (!given) return;
    char call[64];
    int error = 0;
    if (std::sscanf(given, "%63[^:]:%d:%d:%d", call, &error, &passed_, &times_) != 4) std::abort();
    name_ = call, error_ = cudaError_t(error);
  }
  void set(const char* name, cudaError_t error, int passed, int times) {
    const std::lock_guard lock(mutex_);
    name_ = name ? name : "", error_ = error, passed_ = passed, times_ = times, hit_ = nullptr;
  }
  const char* clear() {
    const std::lock_guard lock(mutex_);
    if (stays())
      for (int i = 0; i < devices().device_count(); ++i) flambeau::sim::revive(i);
    times_ = 0;
    return std::exchange(hit_, nullptr);
  }
  cudaError_t answer(const char* call) {
    const std::lock_guard lock(mutex_);
    if (stays()) return error_;
    if (times_ == 0 || (!name_.empty() && name_ != call)) return cudaSuccess;
    if (passed_ > 0) return --passed_, cudaSuccess;
    --times_;
    hit_ = call;
    if (stays()) lose_devices();
    return error_;
  }

 private:
  bool stays() const { return hit_ && is_sticky(error_); }
  // What they had to do is not done, and nothing is asked of them any more.
  void lose_devices() const {
    Machine& m = Machine::instance();
    const auto lock = m.lock();
    for (int i = 0; i < devices().device_count(); ++i)
      m.device(i) = {cudaGetErrorString(error_), true};
  }

  std::mutex mutex_;
  std::string name_;
  cudaError_t error_ = cudaSuccess;
  int passed_ = 0, times_ = 0;
  const char* hit_ = nullptr;
} g_failure;

standin_call enter(const char* name) {
  const Call call(name);
  call.needs_context();
  t_failed = cudaSuccess;
  return {call.current, call.is_unsafe(), call.returns(cudaSuccess)};
}
[[maybe_unused]] const bool offered =
    (standin_offers_calls(enter, [] { return int(t_failed); }), true);

// What a program may keep to its end is what the library keeps by design: the streams of its pools,
// the events that its allocators recycle, and the memory that they cache, page-locked or a GPU's.
struct End {
  size_t graphs = 0, registered = 0;  // forgiven ones
  ~End() {
    if (!is_initialised()) return;
    const Held left = held();
    if (left.graphs > graphs) tell(left.graphs, " graphs that nobody destroyed");
    if (left.registered > registered) tell(left.registered, " pieces that nobody unregistered");
  }
  static void tell(size_t n, const char* what) {
    standin_breach(flambeau::cat_text("at the end: ", n, what).c_str());
  }
} g_end;

}  // namespace

bool is_empty() {
  static const bool empty = std::getenv("FLAMBEAU_STANDIN_EMPTY") != nullptr;
  return empty;
}

Call::Call(const char* n, bool initialises)
    : name(n), current(current_device), injected(is_empty() ? cudaSuccess : g_failure.answer(n)) {
  if (is_empty()) return;
  pid_t by = 0;
  if (initialises && !g_initialised.compare_exchange_strong(by, getpid()) && by != getpid())
    breach(cudaErrorNotPermitted, "called in a child of the process that initialised CUDA");
  if (in_host_function) breach(cudaErrorNotPermitted, "called by a host function");
}

cudaError_t Call::breach(cudaError_t error, const std::string& text) const {
  standin_breach(flambeau::cat_text(name, " on device ", current, ": ", text).c_str());
  return returns(error);
}

cudaError_t Call::returns(cudaError_t error) const {
  if (injected != cudaSuccess) return t_last = t_failed = injected;
  if (error != cudaSuccess && error != cudaErrorNotReady) t_last = t_failed = error;
  return error;
}

cudaError_t Call::answer(Status status) const {
  if (status == Status::race) return breach(cudaErrorUnknown, devices().error_text(current));
  return returns(meaning(status));
}

bool Call::is_unsafe() const {
  if (capture_mode == cudaStreamCaptureModeRelaxed) return false;
  return captures > 0 || (capture_mode == cudaStreamCaptureModeGlobal && global_captures > 0);
}

void Call::needs_context() const { standin_makes_context(current); }

std::set<int> contexts() {
  std::set<int> all;
  for (int i = 0; i < devices().device_count(); ++i)
    if (flambeau::cuda::has_context(i)) all.insert(i);
  return all;
}
bool is_initialised() { return g_initialised == getpid(); }
int breaches() { return standin_breaches(); }
void forgive() {
  standin_forgive();
  g_end.graphs = graphs(), g_end.registered = registered();
}

void fail_calls(const char* name, cudaError_t error, int passed, int times) {
  g_failure.set(name, error, passed, times);
}
const char* heal() { return g_failure.clear(); }

}  // namespace cuda_runtime

cudaError_t cudaGetLastError() { return std::exchange(cuda_runtime::t_last, cudaSuccess); }
