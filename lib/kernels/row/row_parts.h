// How the sums over all rows are cut on GPUs, by shapes alone: threads side by side, each with 16
// bytes of a row, and parts of the rows, of which there are enough to keep a large GPU's blocks
// busy and so few that their own sums are little beside the rows.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace flambeau {

inline constexpr int kSumThreads = 256;

// `bytes`: of an element.
inline int row_sums_across(int64_t n, int bytes) {
  return int(std::bit_ceil(uint64_t(std::clamp<int64_t>((n * bytes + 15) / 16, 1, 32))));
}

inline int row_sums_parts(int64_t rows, int64_t n, int bytes) {
  constexpr int64_t kBlocks = 264, kMostParts = 256, kRowsEach = 8;
  const int64_t across = row_sums_across(n, bytes), width = across * 16 / bytes,
                tiles = std::max<int64_t>((n + width - 1) / width, 1),
                rows_at_once = kSumThreads / across;
  const int64_t wanted = std::min(kBlocks / tiles, rows / (rows_at_once * kRowsEach));
  return int(std::clamp<int64_t>(wanted, 1, kMostParts));
}

}  // namespace flambeau
