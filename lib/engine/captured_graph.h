// A graph of a program's own making: one thread's work on a stream, captured with the memory that
// it takes and the random numbers that it draws, and replayed with the bits that the same calls
// would make again. As CUDA's stream capture and PyTorch's torch.cuda.CUDAGraph.
#pragma once
#include <optional>

#include "device/graph.h"
#include "graph/captured_draws.h"

// The ABI's opaque type, hence outside the namespace.
struct flam_graph final : flambeau::RefCounted {
  using Mode = flambeau::GraphCapture::Mode;

  flam_graph();

  // Captures what this thread enqueues on the current stream of `d`; the memory comes out of
  // `pool`, or a pool of the graph's own where that is null.
  void capture_begin(flambeau::Device d, flambeau::Ref<flambeau::MemoryPool> pool, Mode mode);
  void capture_end();
  // Enqueues the graph on the current stream of its device.
  void replay();
  // Drops the graph and its hold on the pool; what still runs is waited for.
  void reset();

  bool captured() const { return graph_.has_value(); }
  const flambeau::Ref<flambeau::MemoryPool>& pool() const;

 protected:
  ~flam_graph() override;

 private:
  struct Capture;
  std::unique_ptr<Capture> capture_;
  std::optional<flambeau::Graph> graph_;
  flambeau::Ref<flambeau::CapturedDraws> draws_;
  flambeau::Ref<flambeau::MemoryPool> pool_;
};

namespace flambeau {

using CapturedGraph = ::flam_graph;

}  // namespace flambeau
