// Positions of true elements on the host: a block becomes bytes of truth, eight of which are packed
// to bits by one product, and only bits that are set are visited.
#pragma once
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/index/index.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

struct TrueBits {
  uint64_t word[kTrueBlock / 64];
};

template <class T> void find_true(const T* x, int64_t n, TrueBits& bits) {
  alignas(64) uint8_t truth[kTrueBlock];
  for (int64_t i = 0; i < n; ++i) truth[i] = load(x + i) != Compute<T>(0);
  memset(truth + n, 0, size_t(kTrueBlock - n));
  for (int64_t w = 0; w < kTrueBlock / 64; ++w) {
    uint64_t word = 0;
    for (int b = 0; b < 8; ++b) {
      uint64_t eight;  // byte k is bit 8k; the product brings it to bit 56 + k
      memcpy(&eight, truth + w * 64 + b * 8, sizeof eight);
      word |= (eight * 0x0102040810204080u) >> 56 << (8 * b);
    }
    bits.word[w] = word;
  }
}

template <class T> void true_entry(void*, const void* p) {
  const TrueArgs& a = *static_cast<const TrueArgs*>(p);
  const T* x = reinterpret_cast<const T*>(a.mask);
  parallel_for((a.numel + kTrueBlock - 1) / kTrueBlock, 8, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kTrueBlock, left = a.numel - first;
      const int64_t n = left < kTrueBlock ? left : kTrueBlock;
      if (!a.positions) {
        int64_t count = 0;
        for (int64_t i = first; i < first + n; ++i) count += load(x + i) != Compute<T>(0);
        a.counts[b] = count;
        continue;
      }
      TrueBits bits;
      find_true(x + first, n, bits);
      int64_t* out = a.positions + (b ? a.counts[b - 1] : 0);
      for (int64_t w = 0; w < kTrueBlock / 64; ++w) {
        for (uint64_t rest = bits.word[w]; rest; rest &= rest - 1) {
          *out++ = first + w * 64 + __builtin_ctzll(rest);
        }
      }
    }
  });
}

}  // namespace flambeau::FLAM_TARGET
