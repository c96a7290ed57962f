// Copies between transposed layouts on the host: neighbours of the output lie far apart in the
// input and the reverse, so a line of the cache is read whole, turned in a small square and written
// whole.
#pragma once
#include "base/thread_pool.h"
#include "kernels/map/map.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int64_t kTransposeRows = 64;  // of the output, for one thread at a time

template <class T> struct Transpose {
  static constexpr int64_t kSide = 64 / sizeof(T);  // a line

  static void square(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows,
                     int64_t columns) {
    alignas(64) T turned[kSide][kSide];
    for (int64_t c = 0; c < columns; ++c) {
      const T* line = reinterpret_cast<const T*>(from + c * from_column);
      for (int64_t r = 0; r < rows; ++r) turned[r][c] = line[r];
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* line = reinterpret_cast<T*>(to + r * to_row);
      for (int64_t c = 0; c < columns; ++c) line[c] = turned[r][c];
    }
  }

  static void rows(const MapArgs& a, char* to, const char* from, int64_t first, int64_t end) {
    const int last = a.ndim - 1;
    const int64_t columns = a.size[last], bytes = sizeof(T);
    for (int64_t r = first; r < end; r += kSide) {
      for (int64_t c = 0; c < columns; c += kSide) {
        square(to + r * a.stride[0][last - 1] + c * bytes, a.stride[0][last - 1],
               from + r * bytes + c * a.stride[1][last], a.stride[1][last],
               std::min(kSide, end - r), std::min(kSide, columns - c));
      }
    }
  }

  // Every plane of the two last dimensions.
  static void run(const MapArgs& a) {
    const int last = a.ndim - 1;
    const int64_t height = a.size[last - 1],
                  strips = (height + kTransposeRows - 1) / kTransposeRows;
    const int64_t planes = a.numel / (height * a.size[last]);
    const int64_t grain = 16384 / (kTransposeRows * a.size[last]) + 1;
    parallel_for(planes * strips, grain, [&](int64_t unit, int64_t end) {
      for (; unit < end; ++unit) {
        char* to = a.data[0];
        const char* from = a.data[1];
        int64_t rest = unit / strips;
        for (int d = last - 2; d >= 0; --d) {
          to += rest % a.size[d] * a.stride[0][d];
          from += rest % a.size[d] * a.stride[1][d];
          rest /= a.size[d];
        }
        const int64_t first = unit % strips * kTransposeRows;
        rows(a, to, from, first, std::min(first + kTransposeRows, height));
      }
    });
  }
};

// Whether a copy of elements of this size transposes large enough planes.
inline bool takes_transpose(const MapArgs& a, int64_t bytes) {
  const int last = a.ndim - 1;
  return a.ndim >= 2 && a.data[1] && a.stride[0][last] == bytes && a.stride[1][last] != bytes &&
         a.stride[1][last - 1] == bytes && a.size[last] >= 8 && a.size[last - 1] >= 8;
}

inline void turn(const MapArgs& a, int64_t bytes) {
  if (bytes == 1) return Transpose<uint8_t>::run(a);
  if (bytes == 2) return Transpose<uint16_t>::run(a);
  if (bytes == 4) return Transpose<uint32_t>::run(a);
  Transpose<uint64_t>::run(a);
}

}  // namespace flambeau::FLAM_TARGET
