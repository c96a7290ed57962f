// Graphs over the HAL; see graph.h.
#include "device/graph.h"

#include <utility>

#include "base/error.h"
#include "device/call.h"

namespace flambeau {

using hal::Table;

Graph::Graph(Graph&& other) noexcept
    : device_(other.device_), native_(std::exchange(other.native_, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  return *this;
}

Graph::~Graph() {
  if (!native_) return;
  fault::Exempt exempt;
  hal::try_call<&Table::graph_destroy>(device_, native_);
}

void Graph::launch(Stream s) const {
  check(s.device == device_, Code::device_mismatch, "a graph of ", to_string(device_),
        " cannot be launched on a stream of ", to_string(s.device));
  hal::call<&Table::graph_launch>(device_, "graph launch", native_, native_stream(s));
}

GraphCapture::GraphCapture(Stream s) : stream_(s) {
  hal::call<&Table::capture_begin>(s.device, "graph capture", native_stream(s));
}

GraphCapture::~GraphCapture() {
  if (!open_) return;
  fault::Exempt exempt;
  void* native = nullptr;
  const hal::Status status =
      hal::try_call<&Table::capture_end>(stream_.device, native_stream(stream_), &native);
  if (status == hal::Status::ok) hal::try_call<&Table::graph_destroy>(stream_.device, native);
}

Graph GraphCapture::end() {
  check(open_, Code::graph_capture, "the capture has ended already");
  void* native = nullptr;
  hal::call<&Table::capture_end>(stream_.device, "graph capture", native_stream(stream_), &native);
  open_ = false;
  return Graph(stream_.device, native);
}

bool is_capturing(Stream s) {
  bool active = false;
  hal::call<&Table::capture_active>(s.device, "graph capture", native_stream(s), &active);
  return active;
}

}  // namespace flambeau
