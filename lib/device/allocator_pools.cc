// Private pools of the caching allocator, and what it leaves undone while a graph is captured.
#include "device/allocator.h"
#include "device/call.h"

namespace flambeau {

void CachingAllocator::keep_pool(uint32_t id) {
  std::lock_guard lock(mutex_);
  private_[id];
}

// What is free goes back to the device at the next empty_cache(), or when memory runs out: a graph
// may still be running there.
void CachingAllocator::drop_pool(uint32_t id) noexcept {
  std::lock_guard lock(mutex_);
  PrivatePool& pool = private_.find(id)->second;
  pool.kept = false;
  for (const auto& home : pool.homes)
    if (home) home->kept = false;
}

void CachingAllocator::begin_capture() {
  std::lock_guard lock(mutex_);
  ++captures_;
}

void CachingAllocator::end_capture() noexcept {
  std::lock_guard lock(mutex_);
  if (--captures_ > 0) return;
  for (Block* b = pending_; b; b = b->free_next) record_uses(b);
}

}  // namespace flambeau
