// Packing: strips of an operand are copied, converted to the arithmetic type, into the order in
// which the innermost step reads them. A strip of `width` rows of a (or columns of b) holds its
// elements k by k.
#pragma once
#include "kernels/gemm/gemm_widen.h"

namespace flambeau::FLAM_TARGET {

// `along`: stride between neighbours in a strip; `depth`: stride along k. to[p * pitch + i], i <
// width, the rest of the pitch up to whole vectors zero where `fill` says so.
template <class T> struct StripSource {
  const T* data;
  int64_t along, depth;
};

// Rows that end within a vector are stored whole where later rows of the strip take their place.
template <class T, class C = GemmCompute<T>>
void pack_dense_strip(C* to, int64_t pitch, const T* from, int64_t depth, int64_t k, int width,
                      int padded) {
  constexpr int lanes = kLanes<C>;
  const int whole = width / lanes * lanes, rest = width - whole;
  const int64_t spilling = rest && pitch == padded ? k - 1 - (whole + lanes) / pitch : 0;
  for (int64_t p = 0; p < k; ++p, to += pitch, from += depth) {
    for (int i = 0; i < whole; i += lanes) store_vector<C>(to + i, load_wide(from + i));
    if (rest == 0) continue;
    const Vector<C> v = load_part_as(from + whole, rest);
    if (p < spilling) {
      store_vector<C>(to + whole, v);
    } else {
      store_part<C>(to + whole, v, padded - whole < lanes ? padded - whole : lanes);
    }
  }
}

// Runs along k: squares of lanes x lanes are transposed in registers. load(i, p, columns) are
// elements p .. p + columns of row i. A low strip is stored in whole vectors, too, where later
// columns take the place of what they spill.
template <class C, class Load>
void pack_crossing(C* to, int64_t pitch, Load load, int64_t k, int width, int padded) {
  constexpr int lanes = kLanes<C>;
  const int64_t spilling = pitch == padded && padded < lanes ? k - 1 - lanes / pitch : 0;
  for (int i = 0; i < width; i += lanes) {
    const int rows = width - i < lanes ? width - i : lanes;
    const int stored = padded - i < lanes ? padded - i : lanes;
    for (int64_t p = 0; p < k; p += lanes) {
      const int columns = k - p < lanes ? int(k - p) : lanes;
      Vector<C> v[lanes];
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) {
        v[r] = r >= rows ? Vector<C>{} : load(i + r, p, columns);
      }
      transpose<C>(v);
      C* at = to + p * pitch + i;
      if (columns == lanes && (stored == lanes || p + lanes <= spilling)) {
#pragma GCC unroll 16
        for (int c = 0; c < lanes; ++c) store_vector<C>(at + c * pitch, v[c]);
        continue;
      }
#pragma GCC unroll 16
      for (int c = 0; c < lanes; ++c) {
        if (c < columns) store_part<C>(at + c * pitch, v[c], stored);
      }
    }
  }
}

template <class T, class C = GemmCompute<T>>
void pack_crossing_strip(C* to, int64_t pitch, const T* from, int64_t along, int64_t k, int width,
                         int padded) {
  const auto load = [=](int i, int64_t p, int columns) {
    const T* row = from + i * along + p;
    return columns == kLanes<C> ? load_wide(row) : load_part_as(row, columns);
  };
  pack_crossing<C>(to, pitch, load, k, width, padded);
}

template <class T, class C = GemmCompute<T>>
void pack_strip(C* to, int64_t pitch, StripSource<T> from, int64_t k, int width, int padded) {
  if (from.along == 1)
    return pack_dense_strip<T>(to, pitch, from.data, from.depth, k, width, padded);
  if (from.depth == 1)
    return pack_crossing_strip<T>(to, pitch, from.data, from.along, k, width, padded);
  for (int64_t p = 0; p < k; ++p) {
    C* row = to + p * pitch;
    const T* x = from.data + p * from.depth;
    for (int i = 0; i < width; ++i) row[i] = gemm_load(x + i * from.along);
    for (int i = width; i < padded; ++i) row[i] = C(0);
  }
}

}  // namespace flambeau::FLAM_TARGET
