// Captures and graphs of the stand-in: a simulated device's graph behind the two handles that CUDA
// has for one, what was captured and what can be launched. A dead one breaks the contract.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "contract.h"

using namespace cuda_runtime;

namespace {

std::mutex g_mutex;
struct Begun {
  cudaStreamCaptureMode mode;
  std::thread::id thread;
};
std::map<cudaStream_t, Begun>& begun() {
  static auto& all = *new std::map<cudaStream_t, Begun>;
  return all;
}

void count(cudaStreamCaptureMode mode, int by) {
  if (mode != cudaStreamCaptureModeRelaxed) captures += by;
  if (mode == cudaStreamCaptureModeGlobal) global_captures += by;
}

// Handles are numbers that no later graph gets, so that a dead one is told from a live one.
struct Made {
  std::shared_ptr<void> captured;
  int device;
};
template <class H>
class Live {
 public:
  H add(Made made) {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<H>(++last_);
    all_[handle] = made;
    return handle;
  }
  std::optional<Made> find(H handle) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(handle);
    return at == all_.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<Made> take(H handle) {
    const std::lock_guard lock(mutex_);
    auto node = all_.extract(handle);
    return node ? std::optional(std::move(node.mapped())) : std::nullopt;
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::map<H, Made> all_;
  uintptr_t last_ = 0;
};
auto& g_graphs = *new Live<cudaGraph_t>;
auto& g_execs = *new Live<cudaGraphExec_t>;

}  // namespace

size_t cuda_runtime::graphs() { return g_graphs.count() + g_execs.count(); }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Call call("cudaStreamBeginCapture");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  call.needs_context();
  if (!stream) return call.breaks(cudaErrorStreamCaptureUnsupported, "the legacy default stream");
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  const auto status =
      devices().capture_begin(call.current, stream, flambeau::hal::CaptureMode::global);
  if (status != flambeau::hal::Status::ok) return call.answer(status);
  const std::lock_guard lock(g_mutex);
  begun()[stream] = {mode, std::this_thread::get_id()};
  count(mode, 1);
  return call.returns(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  const Call call("cudaStreamEndCapture");
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  void* ended = nullptr;
  const cudaError_t error = call.answer(devices().capture_end(call.current, stream, &ended));
  const auto destroy = [device = call.current](void* p) { devices().graph_destroy(device, p); };
  const std::shared_ptr<void> captured(ended, destroy);
  {
    const std::lock_guard lock(g_mutex);
    if (const auto at = begun().find(stream); at != begun().end()) {
      const bool bound = at->second.mode != cudaStreamCaptureModeRelaxed;
      if (bound && at->second.thread != std::this_thread::get_id())
        return call.returns(cudaErrorStreamCaptureWrongThread);
      count(at->second.mode, -1);
      begun().erase(at);
    }
  }
  *out = error == cudaSuccess ? g_graphs.add({captured, call.current}) : nullptr;
  return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  const Call call("cudaStreamIsCapturing");
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  bool active = false;
  const auto status = devices().capture_active(call.current, stream, &active);
  *out = active ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return call.answer(status);
}

// What was captured is shared by its graph and by all that can be launched of it.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  const Call call("cudaGraphInstantiate");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  const auto made = g_graphs.find(graph);
  if (!made) return call.breaks(cudaErrorInvalidValue, "a dead graph");
  *out = g_execs.add(*made);
  return call.returns(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Call call("cudaGraphDestroy");
  if (!g_graphs.take(graph)) return call.breaks(cudaErrorInvalidValue, "a dead graph");
  return call.returns(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Call call("cudaGraphLaunch");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  const auto made = g_execs.find(exec);
  if (!made) return call.breaks(cudaErrorInvalidValue, "a dead graph");
  if (made->device != call.current)
    return call.breaks(cudaErrorInvalidResourceHandle, "a graph of device ", made->device);
  return call.answer(devices().graph_launch(call.current, made->captured.get(), stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const Call call("cudaGraphExecDestroy");
  if (!g_execs.take(exec)) return call.breaks(cudaErrorInvalidValue, "a dead graph");
  return call.returns(cudaSuccess);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  const Call call("cudaThreadExchangeStreamCaptureMode");
  std::swap(*mode, capture_mode);
  return call.returns(cudaSuccess);
}
