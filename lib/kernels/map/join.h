// Several tensors copied into parts of one: on the host at the same pace, row by row, so that the
// output is written in order, each of its lines once, and what two parts read is read once; on
// devices in one launch. Where that is not possible or does not pay, one copy follows the other.
#pragma once
#include <span>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline constexpr int kJoinParts = 64;

struct JoinArgs {
  int64_t rows;
  int64_t bytes;  // of a row of all parts
  int32_t parts;
  struct Part {
    char* to;
    const char* from;
    int64_t to_row, from_row, bytes;
  } part[kJoinParts];
};

struct Joined {
  Tensor to, from;  // of one shape
};

// Copies with conversion; `dim` is the dimension along which the parts lie beside each other.
void run_join(std::span<const Joined> parts, size_t dim);

extern constinit Kernel kJoin;

}  // namespace flambeau
