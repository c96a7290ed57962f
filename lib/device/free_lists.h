// Free blocks of one stream and size class, by size: eight bins per power of two and a bitmap of
// the non-empty ones. `take` is best fit: the smallest block of the first bin that has one large
// enough.
#pragma once
#include <bit>
#include <cstdint>

#include "device/block.h"

namespace flambeau {

class FreeLists {
 public:
  void put(Block* b) noexcept {
    const int bin = bin_of(b->size);
    b->free_before = nullptr;
    b->free_next = heads_[bin];
    if (heads_[bin]) heads_[bin]->free_before = b;
    heads_[bin] = b;
    used_[bin / 64] |= uint64_t(1) << bin % 64;
  }

  void remove(Block* b) noexcept {
    const int bin = bin_of(b->size);
    if (b->free_before)
      b->free_before->free_next = b->free_next;
    else
      heads_[bin] = b->free_next;
    if (b->free_next) b->free_next->free_before = b->free_before;
    if (!heads_[bin]) used_[bin / 64] &= ~(uint64_t(1) << bin % 64);
    b->free_next = b->free_before = nullptr;
  }

  // The best fit, still in the list; null if there is none.
  Block* find(size_t size) const noexcept {
    for (int bin = next_used(bin_of(size)); bin >= 0; bin = next_used(bin + 1))
      if (Block* best = smallest_of(bin, size)) return best;
    return nullptr;
  }

  Block* largest() const noexcept {
    Block* best = nullptr;
    for (int bin = next_used(0); bin >= 0; bin = next_used(bin + 1))
      for (Block* b = heads_[bin]; b; b = b->free_next)
        if (!best || b->size > best->size) best = b;
    return best;
  }

 private:
  static constexpr int kBins = 512;

  static int bin_of(size_t size) noexcept {
    if (size < 8) return int(size);
    const int log = std::bit_width(size) - 1;
    return log * 8 + int(size >> (log - 3) & 7);
  }
  int next_used(int from) const noexcept {
    for (int word = from / 64; word < kBins / 64; ++word, from = word * 64) {
      const uint64_t bits = used_[word] >> from % 64;
      if (bits) return from + std::countr_zero(bits);
    }
    return -1;
  }
  Block* smallest_of(int bin, size_t size) const noexcept {
    Block* best = nullptr;
    for (Block* b = heads_[bin]; b; b = b->free_next) {
      if (b->size == size) return b;
      if (b->size >= size && (!best || b->size < best->size)) best = b;
    }
    return best;
  }

  Block* heads_[kBins] = {};
  uint64_t used_[kBins / 64] = {};
};

// What a stream may take from one pool, the shared one or a private one.
struct Home {
  FreeLists of[kPoolKinds];
  size_t segments = 0;
  bool kept = false;  // a private pool's, which somebody holds: nothing goes back to the device
};

// Whether the whole of it can go back to the device.
inline bool Segment::is_idle() const {
  return !expandable && !home->kept && first->get_state() == BlockState::free && !first->is_split();
}

}  // namespace flambeau
