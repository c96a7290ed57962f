// Kernels whose result depends on where an element stands: out[i] = f(i, in[i]), i counting a contiguous output
// in C order. Ranges, triangles and whatever else is a formula of the position.
#pragma once
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline constexpr int kPlaceNumbers = 4;

struct PlaceArgs {
  int64_t numel;
  char* out;
  const char* in;  // null: the functor sees 0
  double real[kPlaceNumbers];
  int64_t whole[kPlaceNumbers];
};

// `in`, where defined, has out's dtype and is contiguous; so is out.
void run_place(const char* op, const Kernel& kernel, const Tensor& out, const Tensor& in,
               std::initializer_list<double> real, std::initializer_list<int64_t> whole);

inline constinit Kernel kRange{"arange"};      // real: start, step; whole: start, step (integers)
inline constinit Kernel kLinspace{"linspace"};  // real: start, end, step; whole: steps
inline constinit Kernel kLogspace{"logspace"};  // real: start, end, step, base; whole: steps
inline constinit Kernel kTril{"tril"};         // whole: rows, columns, diagonal
inline constinit Kernel kTriu{"triu"};

}  // namespace flambeau
