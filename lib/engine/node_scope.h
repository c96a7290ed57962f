// Where a backward walk works: a node on the device and the stream of its forward; all else, leaves
// among it, where the pass was called. A gradient that crosses from one stream to another waits for
// what made it, and its memory is kept until both are done. As PyTorch documents it: "Stream
// semantics of backward passes" in its CUDA notes.
#pragma once
#include <optional>

#include "device/current.h"
#include "device/streams.h"
#include "graph/node.h"

namespace flambeau {

// What the streams of a walk owe to the one that called it.
class UsedStreams {
 public:
  void add(Stream s);
  // What comes next on the caller's streams runs after all that the walk's nodes enqueued.
  void join() const;
  void join_if_possible() const noexcept;  // where a pass has failed already

 private:
  SmallVector<Stream, 4> used_;
};

// While it lives, the thread works where the node's forward did, which for the host is anywhere.
class NodeScope {
 public:
  NodeScope(const Node& node, UsedStreams& used);
  ~NodeScope();
  NodeScope(const NodeScope&) = delete;

  // The stream on which the caller works on `d`.
  Stream caller(Device d) const;

 private:
  std::optional<Current> before_;
};

// Keeps the memory of `t`, which another stream made, until what `reader` does with it is done.
void keep_for(const Tensor& t, Stream reader);
// Lets `reader`, or where that is null the caller, use a gradient that `maker` made, or the caller.
// Returns the reader's stream.
Stream hand_over(const Tensor& grad, const Node* maker, const Node* reader);

}  // namespace flambeau
