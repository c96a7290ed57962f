// What a call to the stand-in for NCCL does when its stream's turn comes: moves bytes between the
// ranks, as a kernel would that runs on all of their devices at once and does not end before.
#pragma once
#include <vector>

#include "communicator.h"

namespace nccl_standin {

enum class Kind : int { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, recv };

struct Enqueued {
  Communicator* c;
  Kind kind;
  const void* in;  // null: nothing is read
  void* out;       // null: nothing is written
  size_t count;
  nccl::Datatype type;
  Operation operation;
  int root;  // or the other rank
  nccl::Stream stream;

  size_t part() const { return count * size_of(type); }
  size_t in_bytes() const;
  size_t out_bytes() const;
};

// Calls of one communicator, in their order.
struct Kernel {
  Communicator* c;
  std::vector<Enqueued> calls;
};
void run(Kernel& kernel);

}  // namespace nccl_standin
