// A matrix product as cuBLASLt sees it. cuBLASLt thinks in columns: a row-major out [m, n] is its
// column-major [n, m], so the operands change places and nothing is transposed in memory.
#pragma once
#include <cstdint>
#include <optional>

#include "device/cuda/blas.h"

namespace flambeau::cuda {

struct ColumnMatrix {
  int64_t rows = 0, cols = 0, ld = 0;  // as stored
  int64_t batch = 0;
  bool transposed = false;  // use its transpose
};

// first [p, k] @ second [k, q] -> out [p, q], all column-major.
struct BlasPlan {
  ColumnMatrix first, second, out, c;
  const void *first_data, *second_data, *c_data;
  void* out_data;
  const void* bias = nullptr;  // p elements, added to every column
  bool has_c = false;
  bool swapped = false;  // first is a, else b
};

std::optional<BlasPlan> plan_of(
    const hal::SlopedMatmul& problem);  // nullopt: cuBLASLt does not take it

}  // namespace flambeau::cuda
