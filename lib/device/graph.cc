// Graphs over the HAL; see graph.h.
#include "device/graph.h"

#include <utility>

#include "base/error.h"
#include "device/allocator.h"
#include "device/call.h"
#include "device/probe_launch.h"

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
  const probe::Launch mark(device_, nullptr);
  hal::call<&Table::graph_launch>(device_, "graph launch", native_, native_stream(s));
  wait_where_launches_block(s);
}

GraphCapture::GraphCapture(Stream s, const MemoryPool& pool, Mode mode) : stream_(s) {
  check(s.device.is_accelerator(), Code::unsupported, "graphs hold a GPU's work; ",
        to_string(s.device), " has none");
  check(s.id != 0, Code::graph_capture, "the default stream of ", to_string(s.device),
        " cannot be captured; make another one current");
  check(pool.device == s.device, Code::device_mismatch, "a graph of ", to_string(s.device),
        " cannot have its memory on ", to_string(pool.device));
  memory_ = &allocator_of(s.device);
  pinned_ = pinned_allocator_if_any();
  hal::call<&Table::capture_begin>(s.device, "graph capture", native_stream(s), mode);
  memory_->begin_capture();
  if (pinned_) pinned_->begin_capture();
  pool_before_ = use_pool(s.device, pool.id);
  open_ = true;
}

void GraphCapture::close() noexcept {
  open_ = false;
  if (is_of_this_thread()) use_pool(stream_.device, pool_before_);
  memory_->end_capture();
  if (pinned_) pinned_->end_capture();
}

void GraphCapture::drop() noexcept {
  fault::Exempt exempt;
  void* native = nullptr;
  const hal::Status status =
      hal::try_call<&Table::capture_end>(stream_.device, native_stream(stream_), &native);
  if (status == hal::Status::ok) hal::try_call<&Table::graph_destroy>(stream_.device, native);
}

GraphCapture::~GraphCapture() {
  if (!open_) return;
  drop();
  close();
}

Graph GraphCapture::end() {
  check(open_, Code::graph_capture, "the capture has ended already");
  void* native = nullptr;
  const hal::Status status =
      hal::try_call<&Table::capture_end>(stream_.device, native_stream(stream_), &native);
  struct Closed {
    GraphCapture& capture;
    bool ended;
    ~Closed() {
      if (!ended) capture.drop();  // a stream that stays captured would be of no use
      capture.close();
    }
  } closed{*this, status == hal::Status::ok};
  if (!closed.ended) hal::raise(stream_.device, "graph capture", status);
  return Graph(stream_.device, native);
}

bool is_capturing(Stream s) {
  if (s.device.is_cpu()) return false;
  bool active = false;
  hal::call<&Table::capture_active>(s.device, "graph capture", native_stream(s), &active);
  return active;
}

}  // namespace flambeau
