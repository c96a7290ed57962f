// Short messages by the eager protocol: they are sent at once into memory that each receiver keeps
// for them, while Gloo's other sends agree with the receiver first. Two places for each sender are
// enough: whoever sends the next but one has received what is sent after the first was read.
#pragma once
#include <gloo/transport/buffer.h>

#include <memory>
#include <vector>

#include "dist/gloo/mesh.h"

namespace flambeau::gloo_adaptor {

class Eager {
 public:
  struct Terms {  // of rank r: first + r * stride
    const uint8_t* first;
    size_t stride;
    const uint8_t* own;  // a copy of what this rank gave
  };

  // For messages of `most` bytes. Before the mesh is connected: what comes must find its place. The
  // mesh is for these alone, since Gloo fits a connection's buffer to what is sent on it this way.
  Eager(std::shared_ptr<Mesh> mesh, size_t most);
  size_t most() const { return most_; }
  // Gives the same to all other ranks and waits for theirs; until the next exchange they are there.
  Terms exchange(uint64_t tag, const void* own, size_t bytes);

 private:
  struct Head {
    uint64_t tag, bytes;
  };
  using Tail = uint64_t;  // the tag again: all that is before it has come
  using Buffers = std::vector<std::unique_ptr<::gloo::transport::Buffer>>;  // by rank
  uint8_t* place(int turn, int rank) const {
    return places_.get() + (turn * mesh_->size + rank) * stride_;
  }
  bool is_there(int turn, int rank, const Head& expected) const;
  void receive(int turn, int rank, const Head& expected);

  const std::shared_ptr<Mesh> mesh_;
  const size_t most_, stride_;
  const std::unique_ptr<uint8_t[]> own_, places_;
  Buffers sent_[2], received_[2];  // by turn
  int turn_ = 0;
};

}  // namespace flambeau::gloo_adaptor
