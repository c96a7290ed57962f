// Captures and graphs of the stand-in: a simulated device's graph behind the two handles that CUDA
// has for one, what was captured and what can be launched.
#include <map>
#include <mutex>
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

}  // namespace

namespace cuda_runtime {
std::atomic<size_t> graphs;
}

struct CUgraph_st {
  void* captured;
  int device;
  CUgraph_st(void* captured, int device) : captured(captured), device(device) { ++graphs; }
  ~CUgraph_st() { --graphs; }
};
struct CUgraphExec_st : CUgraph_st {
  using CUgraph_st::CUgraph_st;
};

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
  void* captured = nullptr;
  const cudaError_t error = call.answer(devices().capture_end(call.current, stream, &captured));
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
  if (error != cudaSuccess && captured) devices().graph_destroy(call.current, captured);
  *out = error == cudaSuccess ? new CUgraph_st{captured, call.current} : nullptr;
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

// A captured graph is handed on: the second time there is none.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  const Call call("cudaGraphInstantiate");
  if (!graph || !graph->captured) return call.returns(cudaErrorNotSupported);
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  *out = new CUgraphExec_st{graph->captured, graph->device};
  graph->captured = nullptr;
  return call.returns(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Call call("cudaGraphDestroy");
  if (graph && graph->captured) devices().graph_destroy(graph->device, graph->captured);
  delete graph;
  return call.returns(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Call call("cudaGraphLaunch");
  call.needs_context();
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  if (exec->device != call.current)
    return call.breaks(cudaErrorInvalidResourceHandle, "a graph of device ", exec->device);
  return call.answer(devices().graph_launch(call.current, exec->captured, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const Call call("cudaGraphExecDestroy");
  const auto status = devices().graph_destroy(exec->device, exec->captured);
  delete exec;
  return call.answer(status);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  const Call call("cudaThreadExchangeStreamCaptureMode");
  std::swap(*mode, capture_mode);
  return call.returns(cudaSuccess);
}
