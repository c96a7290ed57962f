// Sums over the lanes of as many vectors as a vector has lanes, together: a vector of them, each in
// the order of sum_of. Of single vectors, and by a whole transpose, they take twice the shuffles.
#pragma once
#include "kernels/gemm/gemm_vector.h"

namespace flambeau::FLAM_TARGET {

// Every second piece of Width lanes, the first or the second, of a and of b in turn.
template <class C, int Width, bool Second, size_t... I>
FLAM_FN Vector<C> pieces_of(Vector<C> a, Vector<C> b, std::index_sequence<I...>) {
  constexpr int lanes = kLanes<C>, from = Second ? Width : 0;
  return __builtin_shufflevector(
      a, b, int(I) / Width % 2 * lanes + int(I) / Width / 2 * 2 * Width + from + int(I) % Width...);
}

// Lane i is sum_of(v[i]), of as many vectors as have lanes: all sums shrink together.
template <class C, int Width = kLanes<C> / 2> FLAM_FN Vector<C> sums_of(Vector<C> (&v)[kLanes<C>]) {
  constexpr std::make_index_sequence<size_t(kLanes<C>)> each;
#pragma GCC unroll 8
  for (int i = 0; i < Width; ++i) {
    v[i] = pieces_of<C, Width, false>(v[i], v[i + Width], each) +
           pieces_of<C, Width, true>(v[i], v[i + Width], each);
  }
  if constexpr (Width == 1) {
    return v[0];
  } else {
    return sums_of<C, Width / 2>(v);
  }
}

}  // namespace flambeau::FLAM_TARGET
