// Blocks that wait for their stream's next call of a library: a slot for each stream, emptied and
// filled without the lock. Whoever counts memory, or has too little of it, frees them first: they
// are seen in no number but peaks.
#include "device/allocator.h"

namespace flambeau {

Block* CachingAllocator::take_kept(uint32_t stream) noexcept {
  if (stream >= kept_.size() || capturing()) return nullptr;
  return kept_[stream].exchange(nullptr, std::memory_order_acquire);
}

bool CachingAllocator::keep(Block* b) noexcept {
  const uint32_t stream = b->segment->stream;
  if (stream >= kept_.size() || capturing()) return false;
  b->set_state(BlockState::cached);
  Block* none = nullptr;
  return kept_[stream].compare_exchange_strong(none, b, std::memory_order_release,
                                               std::memory_order_relaxed);
}

// Under the lock; whether there was any.
bool CachingAllocator::free_kept() noexcept {
  bool any = false;
  for (auto& slot : kept_) {
    if (!slot.load(std::memory_order_relaxed)) continue;
    Block* const b = slot.exchange(nullptr, std::memory_order_acquire);
    if (!b) continue;
    free_block(b);
    any = true;
  }
  return any;
}

}  // namespace flambeau
