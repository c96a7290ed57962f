// A device graph: the work that a stream got between begin and end, replayed by one call. While a
// stream is captured its calls only record; whoever captures keeps the memory that they name alive.
#pragma once
#include "device/streams.h"

namespace flambeau {

class Graph {
 public:
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  void launch(Stream s) const;  // a stream of the graph's device

 private:
  friend class GraphCapture;
  Graph(Device d, void* native) : device_(d), native_(native) {}

  Device device_;
  void* native_;
};

// Captures one stream; one that is not ended is dropped by the destructor.
class GraphCapture {
 public:
  explicit GraphCapture(Stream s);  // throws Error(unsupported) on the cpu
  ~GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  Graph end();

 private:
  Stream stream_;
  bool open_ = true;
};

bool is_capturing(Stream s);

}  // namespace flambeau
