// See map_space.h.
#include "kernels/map/map_space.h"

#include <algorithm>
#include <cstring>

namespace flambeau {

namespace {

constexpr int64_t kMost = (int64_t{1} << 31) - 64;  // of items and of bytes, either way

int64_t reach_of(const MapArgs& a, int o, int d) {
  return (a.size[d] - 1) * (a.data[o] ? a.stride[o][d] : 0);
}

bool is_still(const MapArgs& a, int o) {
  return !a.data[o] || !a.ndim || a.stride[o][a.ndim - 1] == 0;
}

// Whether chunks of `each` begin at their own width along every dimension, but for the address
// itself.
bool takes_chunks(const MapArgs& a, const MapWidths& w) {
  const int last = a.ndim - 1;
  if (last < 0 || is_still(a, 0) || (last > 0 && a.size[last] % w.each)) return false;
  for (int o = 0; o < a.operands; ++o) {
    if (is_still(a, o)) continue;
    if (a.stride[o][last] != w.bytes[o]) return false;
    for (int d = 0; d < last; ++d)
      if (a.stride[o][d] % (w.each * w.bytes[o])) return false;
  }
  return true;
}

// Elements before the first whose addresses are multiples of the chunks'; -1 where there is none.
int64_t head_of(const MapArgs& a, const MapWidths& w) {
  int64_t head = -1;
  for (int o = 0; o < a.operands; ++o) {
    if (is_still(a, o)) continue;
    const int64_t bytes = w.each * w.bytes[o], past = int64_t(uintptr_t(a.data[o])) % bytes,
                  ahead = (bytes - past) % bytes;
    if (ahead % w.bytes[o] || (head >= 0 && ahead / w.bytes[o] != head)) return -1;
    head = ahead / w.bytes[o];
  }
  return a.ndim > 1 && head ? -1 : std::min(head, a.numel);
}

MapSpace map_space(const MapArgs& a, const MapWidths& w) {
  MapSpace s{};
  std::memcpy(s.params, a.params, sizeof s.params);
  std::memcpy(s.value, a.value, sizeof s.value);
  std::copy_n(a.data, a.operands, s.data);
  const int64_t head = takes_chunks(a, w) ? head_of(a, w) : -1;
  const int64_t chunks = head < 0 ? 0 : (a.numel - head) / w.each, each = chunks ? w.each : 1;
  s.chunks = uint32_t(chunks);
  s.head = uint32_t(chunks ? head : 0);
  s.items = uint32_t(chunks ? a.numel - chunks * (each - 1) : a.numel);
  s.last = std::max(a.ndim - 1, 0);
  for (int i = 0; i < a.ndim; ++i) {
    const int d = a.ndim - 1 - i;
    s.size[i] = FastDivide(i ? a.size[d] : std::max(a.size[d] / each, int64_t{1}));
    for (int o = 0; o < a.operands; ++o)
      s.stride[o][i] = a.data[o] ? int32_t(a.stride[o][d] * (i ? 1 : each)) : 0;
  }
  for (int o = 0; o < a.operands; ++o) {
    s.still[o] = is_still(a, o);
    if (chunks && !s.still[o]) s.data[o] += head * w.bytes[o];
  }
  return s;
}

}  // namespace

bool fits_map_space(const MapArgs& a) {
  bool all = a.numel <= kMost;
  for (int o = 0; o < a.operands; ++o) {
    int64_t low = 0, high = 0;
    for (int d = 0; d < a.ndim; ++d) {
      const int64_t reach = reach_of(a, o, d);
      (reach < 0 ? low : high) += reach;
    }
    all &= low >= -kMost && high <= kMost;
  }
  return all;
}

// Along the dimension that reaches furthest; so that chunks stay aligned, where that is possible.
void halve_map(const MapArgs& a, MapArgs& first, MapArgs& second) {
  constexpr int64_t kAligned = 64;
  int widest = 0;
  int64_t furthest = -1;
  for (int d = 0; d < a.ndim; ++d) {
    int64_t reach = a.size[d] - 1;
    for (int o = 0; o < a.operands; ++o) reach = std::max(reach, std::abs(reach_of(a, o, d)));
    if (reach > furthest) furthest = reach, widest = d;
  }
  const int64_t n = a.size[widest];
  int64_t half = n / 2;
  if (half >= kAligned) half -= half % kAligned;
  first = second = a;
  first.size[widest] = half;
  second.size[widest] = n - half;
  first.numel = a.numel / n * half;
  second.numel = a.numel / n * (n - half);
  for (int o = 0; o < a.operands; ++o)
    if (a.data[o]) second.data[o] += half * a.stride[o][widest];
}

void launch_map_parts(const MapArgs& a, const MapWidths& widths, void* stream,
                      void (*launch)(void* stream, const MapSpace& part)) {
  if (fits_map_space(a)) return launch(stream, map_space(a, widths));
  MapArgs first, second;
  halve_map(a, first, second);
  launch_map_parts(first, widths, stream, launch);
  launch_map_parts(second, widths, stream, launch);
}

}  // namespace flambeau
