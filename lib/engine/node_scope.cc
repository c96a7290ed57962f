// Streams of nodes and what crosses between them; see node_scope.h.
#include "engine/node_scope.h"

#include <algorithm>

namespace flambeau {

namespace {

// The stream on which a node, or else the caller, works with what lies on `d`.
Stream stream_on(const Node* node, Device d) {
  if (node && !node->outputs.empty() && node->outputs[0].device == d)
    return {d, node->outputs[0].stream};
  return current_stream(d);
}

}  // namespace

void UsedStreams::add(Stream s) {
  if (std::ranges::find(used_, s) == used_.end()) used_.push_back(s);
}

void UsedStreams::join() const {
  for (const Stream s : used_) wait_stream(current_stream(s.device), s);
}

void UsedStreams::join_if_possible() const noexcept {
  try {
    join();
  } catch (...) {
    // What made the pass fail is what the program hears of.
  }
}

NodeScope::NodeScope(const Node& node, UsedStreams& used) {
  if (node.outputs.empty() || !node.outputs[0].device.is_accelerator()) return;
  const Stream stream = stream_on(&node, node.outputs[0].device);
  const bool elsewhere = stream != current_stream(stream.device);
  if (!elsewhere && current_device(stream.device.type) == stream.device) return;
  before_ = current_choice();
  set_current_device(stream.device);
  set_current_stream(stream);
  if (elsewhere) used.add(stream);
}

NodeScope::~NodeScope() {
  if (before_) restore_choice(*before_);
}

Stream NodeScope::caller(Device d) const {
  return before_ && d.is_accelerator() ? Stream{d, before_->streams[size_t(device_slot(d))]}
                                       : current_stream(d);
}

void keep_for(const Tensor& t, Stream reader) {
  if (Block* block = t.storage()->block(); block && reader.device.is_accelerator())
    record_stream(block, reader);
}

Stream hand_over(const Tensor& grad, const Node* maker, const Node* reader) {
  const Device d = grad.device();
  const Stream from = stream_on(maker, d), to = stream_on(reader, d);
  if (from != to) {
    wait_stream(to, from);
    keep_for(grad, to);
  }
  return to;
}

}  // namespace flambeau
