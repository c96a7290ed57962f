// How the sums over all rows are cut on GPUs, by shapes alone: threads side by side, each with 16
// bytes of a row, and parts of the rows, of which there are enough to keep a large GPU's blocks
// busy and so few that their own sums are little beside the rows. Rows that a block's threads hold
// are summed while they do (row_held_sums.h), others in a pass of their own (row_sums.h).
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace flambeau {

inline constexpr int kSumThreads = 256, kMostHeldThreads = 512, kMostRowThreads = 1024;
inline constexpr int kHeldSlots = 2;  // pieces of each operand in a thread's registers

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

// Threads that share a row, a power of two: with two pieces each up to a warp, then with all slots,
// then of more warps.
inline int threads_of_row(int64_t pieces, int slots_of_thread) {
  const auto with = [&](int64_t slots) {
    return int64_t(std::bit_ceil(uint64_t((pieces + slots - 1) / slots)));
  };
  const int64_t few = std::clamp<int64_t>(with(2), 1, 32);
  return int(std::min<int64_t>(std::max(few, with(slots_of_thread)), 2 * kMostRowThreads));
}

// Parts of rows that are held, a block for each; 0 where they are too long for that.
inline int held_sums_parts(int64_t rows, int64_t n, int bytes) {
  constexpr int64_t kBlocks = 264, kRowsEach = 4;
  const int threads = threads_of_row((n * bytes + 15) / 16, kHeldSlots);
  if (threads > kMostHeldThreads) return 0;
  const int64_t rows_at_once = std::max(kSumThreads / threads, 1);
  return int(std::clamp<int64_t>(rows / (rows_at_once * kRowsEach), 1, kBlocks));
}

}  // namespace flambeau
