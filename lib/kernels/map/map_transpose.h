// Copies between transposed layouts on the host: neighbours of the output lie far apart in the
// input and the reverse, so squares whose sides are a line of the cache are turned.
#pragma once
#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/map/map.h"
#include "kernels/map/turn.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int64_t kTransposeRows = 64;  // of the output, for one thread at a time

// The same launch with the dimension along which the input has its neighbours before the last,
// where it is further out: the order of the others is nobody's concern.
inline MapArgs with_plane_last(MapArgs a, int64_t bytes) {
  const int beside = a.ndim - 2;
  if (beside < 1 || a.stride[1][beside] == bytes || a.stride[1][beside + 1] == bytes) return a;
  int d = beside - 1;
  while (d >= 0 && a.stride[1][d] != bytes) --d;
  if (d < 0) return a;
  std::swap(a.size[d], a.size[beside]);
  for (int o = 0; o < a.operands; ++o) std::swap(a.stride[o][d], a.stride[o][beside]);
  return a;
}

// Whether a copy of elements of this size transposes large enough planes.
inline bool takes_transpose(const MapArgs& a, int64_t bytes) {
  const int last = a.ndim - 1;
  return a.ndim >= 2 && a.data[1] && a.stride[0][last] == bytes && a.stride[1][last] != 0 &&
         a.stride[1][last] != bytes && a.stride[1][last - 1] == bytes && a.size[last] >= 8 &&
         a.size[last - 1] >= 8;
}

// Calls run(operands' addresses, first row, rows) for strips of `height` rows of every plane of the
// two last dimensions.
template <class Run> void for_strips(const MapArgs& a, int64_t height, const Run& run) {
  const int last = a.ndim - 1;
  const int64_t rows = a.size[last - 1], strips = (rows + height - 1) / height;
  const int64_t planes = a.numel / (rows * a.size[last]);
  parallel_for(planes * strips, 16384 / (height * a.size[last]) + 1,
               [&](int64_t unit, int64_t end) {
                 for (; unit < end; ++unit) {
                   char* at[kMapOperands];
                   std::copy_n(a.data, a.operands, at);
                   int64_t rest = unit / strips;
                   for (int d = last - 2; d >= 0; --d) {
                     for (int o = 0; o < a.operands; ++o)
                       at[o] += rest % a.size[d] * a.stride[o][d];
                     rest /= a.size[d];
                   }
                   const int64_t first = unit % strips * height;
                   run(at, first, std::min(height, rows - first));
                 }
               });
}

inline void copy_turned(const MapArgs& a, int64_t bytes) {
  const int last = a.ndim - 1;
  const TurnArea turn = turn_area_of(bytes);
  const int64_t to_row = a.stride[0][last - 1];
  for_strips(a, kTransposeRows, [&](char* const* at, int64_t first, int64_t rows) {
    turn(at[0] + first * to_row, to_row, at[1] + first * bytes, a.stride[1][last], rows,
         a.size[last]);
  });
}

}  // namespace flambeau::FLAM_TARGET
