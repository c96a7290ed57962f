// Rows of 16-byte chunks in shared memory, whose chunks change places from row to row (by XOR), so
// that three accesses meet no bank twice: of one chunk in eight rows that follow (ldmatrix), of
// eight chunks that follow (copies), and of two chunks that follow in four rows (fragments of 4-
// and 8-byte elements, lane by lane).
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <int kBytes> struct Swizzle {
  static constexpr int kRowBytes = kBytes, kChunks = kBytes / 16;
  static_assert(kChunks >= 2 && (kChunks & (kChunks - 1)) == 0, "chunks change places by XOR");

  // Bytes from the start to the chunk; rows count from one that is aligned to 128 bytes.
  static FLAM_FN int offset(int row, int chunk) {
    if constexpr (kChunks == 2) {
      return row * kBytes + ((chunk ^ (row >> 2 & 1)) << 4);
    } else if constexpr (kChunks == 4) {
      return row * kBytes + ((chunk ^ (row >> 1 & 3)) << 4);
    } else {
      return row * kBytes + ((chunk ^ ((row & 3) << 1 | (row >> 2 & 1))) << 4);
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
