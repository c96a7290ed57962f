// A walk on the host by its runs along the last dimension, and whether a run's indices are in
// range: in bulk, because a look at each of them costs more than what it moves.
#pragma once
#include "kernels/index/index_walk.h"

namespace flambeau::FLAM_TARGET {

// Calls run(place, n) for the runs along the last dimension that elements [begin, end) consist of.
template <class Run>
void walk_runs(const IndexArgs& a, int64_t begin, int64_t end, const Run& run) {
  const int last = a.ndim - 1;
  const int64_t inner = a.ndim ? a.size[last] : 1;
  int64_t index[kIndexDims] = {}, rest = begin / inner, at = begin % inner;
  for (int d = last - 1; d >= 0 && rest; --d) {
    index[d] = rest % a.size[d];
    rest /= a.size[d];
  }
  WalkPlace p = walk_place(a, begin);
  const auto move = [&](int d, int64_t steps) {
    p.dst += steps * a.dst_stride[d];
    p.src += steps * a.src_stride[d];
    for (int l = 0; l < a.lists; ++l) p.list[l] += steps * a.list[l].stride[d];
  };
  while (begin < end) {
    const int64_t n = inner - at < end - begin ? inner - at : end - begin;
    run(p, n);
    begin += n;
    if (at) move(last, -at);
    at = 0;
    for (int d = last - 1; d >= 0; --d) {
      move(d, 1);
      if (++index[d] < a.size[d]) break;
      move(d, -a.size[d]);
      index[d] = 0;
    }
  }
}

// Whether one of n indices is out of range, by signs; `low` is how far one may count back.
template <int64_t Step>
FLAM_FN bool out_of_range(const void* index, int64_t stride, int64_t n, uint64_t low,
                          uint64_t size) {
  const char* at = static_cast<const char*>(index);
  uint64_t out = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t v = *reinterpret_cast<const uint64_t*>(at + i * (Step ? Step : stride));
    out |= (v + low) | (size - 1 - v);
  }
  return out >> 63;
}

// Indices that stay in the first-level cache once they are checked.
inline constexpr int64_t kIndexBlock = 512;

}  // namespace flambeau::FLAM_TARGET
