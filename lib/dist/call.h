// One collective as a rank calls it: what it is, which tensors it reads and writes, and how it
// reads in a report. Ranks that called the same have the same tag; it says nothing of shapes beyond
// the number of elements, as torch's do not.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "tensor/tensor.h"

namespace flambeau::dist {

enum class Kind : uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  gather,
  scatter,
  reduce_scatter,
  all_to_all,
  barrier,
  send,
  recv
};

const char* name_of(Kind kind);  // "all_reduce"

// Values are the ABI's FLAM_REDUCE_*.
enum class ReduceOp : int32_t { none, sum, avg, product, min, max, band, bor, bxor, premul_sum };

// What of a call is the same on all ranks, but for the rank that a transfer between two names.
struct What {
  Kind kind = Kind::barrier;
  Dtype dtype = Dtype::none;
  ReduceOp op = ReduceOp::none;
  int32_t peer = -1;  // the root; of send and recv the other rank, -1 of recv: any
  int64_t count = 0;  // elements: of each rank's part where there are parts, 0 where they differ
  int64_t label = 0;  // of send and recv: torch's tag
  Dims sizes;         // of the first tensor, for reports

  std::string text() const;  // "all_reduce(f32[64, 32], sum)"
  uint64_t tag(uint64_t sequence) const;
  bool pairwise() const { return kind == Kind::send || kind == Kind::recv; }
};

struct Call {
  What what;
  std::vector<Tensor> in, out;                  // of this rank; `out` may hold the tensors of `in`
  double factor = 1;                            // of premul_sum
  std::vector<uint64_t> in_counts, out_counts;  // elements by rank, where they differ
};

}  // namespace flambeau::dist
