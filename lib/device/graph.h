// A device graph: the work that a stream got between begin and end, replayed by one call. While a
// stream is captured its calls only record. What the capturing thread allocates meanwhile comes out
// of a private pool, so that the addresses in the graph are nobody else's.
#pragma once
#include <thread>

#include "device/hal.h"
#include "device/memory_pool.h"
#include "device/streams.h"

namespace flambeau {

class CachingAllocator;

class Graph {
 public:
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  Device device() const { return device_; }
  void launch(Stream s) const;  // a stream of the graph's device

 private:
  friend class GraphCapture;
  Graph(Device d, void* native) : device_(d), native_(native) {}

  Device device_;
  void* native_;
};

// Captures one stream, and those that come to wait for its events; ended on the thread that began,
// or dropped by the destructor on any: that thread's allocations are the shared pool's again when
// nobody holds the private one.
class GraphCapture {
 public:
  using Mode = hal::CaptureMode;

  // Throws Error(unsupported) on the cpu, Error(graph_capture) on a default stream.
  GraphCapture(Stream s, const MemoryPool& pool, Mode mode = Mode::global);
  ~GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  Stream stream() const { return stream_; }
  bool is_of_this_thread() const { return thread_ == std::this_thread::get_id(); }
  Graph end();  // throws where the capture was spoilt, which ends it too

 private:
  void drop() noexcept;  // ends the driver's part, whatever it holds
  void close() noexcept;

  Stream stream_;
  CachingAllocator *memory_, *pinned_;
  uint32_t pool_before_ = 0;
  const std::thread::id thread_ = std::this_thread::get_id();
  bool open_ = false;
};

bool is_capturing(Stream s);

}  // namespace flambeau
