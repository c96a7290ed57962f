// Products of half types two steps of k at a time: neighbours along k are packed side by side, as
// dot-product instructions take them, and their products are summed in float. An odd k ends with
// a zero on both sides. The instructions treat subnormal numbers as zero.
#pragma once
#include "kernels/gemm/gemm_block.h"

namespace flambeau::FLAM_TARGET {

// A strided matrix of 16-bit elements: `along` runs over rows of a or columns of b, k elements
// deep.
struct HalvesView {
  const uint16_t* data;
  int64_t along, depth, k;

  // In place, by pairs.
  int64_t row() const { return along / 2; }
  int64_t step() const { return 1; }

  HalvesView from(int64_t row, int64_t pair) const {
    return {data + row * along + 2 * pair * depth, along, depth,
            std::max<int64_t>(k - 2 * pair, 0)};
  }
};

// Pairs 2p, 2p + 1 of one row, `count` of them; beyond k zeros.
FLAM_FN Vector<uint32_t> load_pairs(const HalvesView& from, int i, int64_t p, int count) {
  const uint16_t* row = from.data + i * from.along + 2 * p;
  Vector<uint32_t> v{};
  const int64_t left = from.k - 2 * p;
  if (count == kLanes<uint32_t> && left >= 2 * count) {
    memcpy(&v, row, sizeof v);
  } else {
    memcpy(&v, row, size_t(left < 2 * count ? left : 2 * count) * sizeof(uint16_t));
  }
  return v;
}

FLAM_FN Vector<uint32_t> widen_halves(const uint16_t* p, int count) {
#if FLAM_ISA_RANK == 2
  return (Vector<uint32_t>)_mm512_maskz_cvtepu16_epi32(
      0xffff, _mm256_maskz_loadu_epi16(__mmask16((1u << count) - 1), p));
#else
  typename VectorOf<uint16_t, kLanes<uint32_t>>::type v{};
  if (count == kLanes<uint32_t>) {
    memcpy(&v, p, sizeof v);
  } else {
    memcpy(&v, p, size_t(count) * sizeof(uint16_t));
  }
  return __builtin_convertvector(v, Vector<uint32_t>);
#endif
}

// Rows of b, two at once, column by column.
inline void pack_dense_pairs(uint32_t* to, int64_t pitch, const HalvesView& from, int64_t pairs,
                             int width, int padded) {
  constexpr int lanes = kLanes<uint32_t>;
  for (int64_t p = 0; p < pairs; ++p, to += pitch) {
    const uint16_t* even = from.data + 2 * p * from.depth;
    const int64_t left = from.k - 2 * p;
    int i = 0;
    for (; left > 1 && i + 2 * lanes <= width; i += 2 * lanes) {
      Vector<uint16_t> low, high;
      interleave<uint16_t>(load_vector(even + i), load_vector(even + from.depth + i), low, high,
                           std::make_index_sequence<size_t(2 * lanes)>{});
      store_vector(to + i, (Vector<uint32_t>)low);
      store_vector(to + i + lanes, (Vector<uint32_t>)high);
    }
    for (; i < padded; i += lanes) {
      const int count = width - i < lanes ? width - i : lanes;
      Vector<uint32_t> v{};
      if (left > 0 && count > 0) v = widen_halves(even + i, count);
      if (left > 1 && count > 0) v |= widen_halves(even + from.depth + i, count) << 16;
      store_part<uint32_t>(to + i, v, padded - i < lanes ? padded - i : lanes);
    }
  }
}

// to[p * pitch + i]: the pair p of row or column i < width; zeros up to `padded`.
inline void pack_pairs(uint32_t* to, int64_t pitch, const HalvesView& from, int64_t pairs,
                       int width, int padded) {
  if (from.along == 1) return pack_dense_pairs(to, pitch, from, pairs, width, padded);
  const int64_t inside = std::min(pairs, (from.k + 1) / 2);
  if (from.depth == 1) {
    const auto load = [&](int i, int64_t p, int count) { return load_pairs(from, i, p, count); };
    pack_crossing<uint32_t>(to, pitch, load, inside, width, padded);
  } else {
    for (int64_t p = 0; p < inside; ++p) {
      const uint16_t* even = from.data + 2 * p * from.depth;
      for (int i = 0; i < padded; ++i) {
        uint32_t v = i < width ? even[i * from.along] : 0;
        if (i < width && 2 * p + 1 < from.k) v |= uint32_t(even[i * from.along + from.depth]) << 16;
        to[p * pitch + i] = v;
      }
    }
  }
  for (int64_t p = inside; p < pairs; ++p) memset(to + p * pitch, 0, size_t(padded) * 4);
}

// An operand of packed pairs; k counts pairs.
template <class Pair> struct PairSource : HalvesView {
  using C = Pair;

  void pack(C* to, int64_t pitch, int64_t first, int width, int padded, int64_t p,
            int64_t pairs) const {
    pack_pairs(reinterpret_cast<uint32_t*>(to), pitch, from(first, p), pairs, width, padded);
  }
  bool row_by_row() const { return along == 1 && depth * int64_t(sizeof(*data)) >= kFarRows; }
  const C* in_place() const { return nullptr; }
};

// Rows of a that are pairs as they lie, or packed.
struct PairRows : PairSource<DotPair> {
  const DotPair* in_place() const {
    const bool pairs = depth == 1 && along % 2 == 0 && k % 2 == 0 &&
                       reinterpret_cast<uintptr_t>(data) % sizeof(DotPair) == 0;
    return pairs ? reinterpret_cast<const DotPair*>(data) : nullptr;
  }
};

}  // namespace flambeau::FLAM_TARGET
