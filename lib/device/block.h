// The allocator's data: segments come from the device, blocks are cut from segments and joined
// again. All lists are intrusive, so that freeing never needs memory and cannot fail.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/label.h"
#include "device/runtime.h"
#include "device/stats.h"
#include "device/step.h"

namespace flambeau {

class CachingAllocator;
struct Home;
struct Segment;

// Another stream's use of a block; its event is recorded when the block is freed (device memory) or
// right after the copy (pinned memory).
struct StreamUse {
  Stream stream;
  void* event = nullptr;
  bool recorded = false;
  StreamUse* next = nullptr;
};

// pending: freed, but a stream may still use it; cached: freed into a thread's front, still cut out
// of its segment; unmapped: a part of an expandable segment without memory.
enum class BlockState : int8_t { free, in_use, pending, cached, unmapped };

struct Block {
  void* data = nullptr;
  size_t size = 0;                   // a multiple of the allocator's alignment
  std::atomic<size_t> requested{0};  // what the caller asked for; relaxed, as state
  Segment* segment = nullptr;
  Block *before = nullptr, *after = nullptr;  // neighbours in the segment
  Block *free_next = nullptr,
        *free_before = nullptr;  // in a free list, a front, or the pending list
  StreamUse* uses = nullptr;
  std::atomic<const char*> op{nullptr}, module{nullptr};  // the label; relaxed, as state
  std::atomic<BlockState> state{BlockState::free};  // fronts change it without the lock: relaxed
  std::atomic<uint32_t> step{0};  // the forward that it was handed out in; relaxed, as state
  int8_t front_class = -1;        // size class of the thread-local fronts, -1: not theirs
  uint64_t freed = 0;             // when, in blocks that the allocator has freed so far

  Label label() const noexcept {
    return {op.load(std::memory_order_relaxed), module.load(std::memory_order_relaxed), 0, nullptr};
  }
  void hand_out(size_t bytes) noexcept {
    step.store(step_mark(), std::memory_order_relaxed);
    requested.store(bytes, std::memory_order_relaxed);
    op.store(t_label.op, std::memory_order_relaxed);
    module.store(t_label.module, std::memory_order_relaxed);
    set_state(BlockState::in_use);
  }
  BlockState get_state() const noexcept { return state.load(std::memory_order_relaxed); }
  void set_state(BlockState s) noexcept { state.store(s, std::memory_order_relaxed); }
  bool is_split() const { return before != nullptr || after != nullptr; }
  bool is_oversize() const;
};

struct Segment {
  CachingAllocator* owner = nullptr;
  void* data = nullptr;
  size_t size = 0;
  uint32_t stream = 0;
  PoolKind pool = kSmallPool;
  bool expandable = false;  // a range of addresses with memory here and there
  bool oversize = false;    // larger than what is cut
  Home* home = nullptr;     // where its free blocks lie
  Block* first = nullptr;
  Segment *next = nullptr, *before = nullptr;
  Label label;

  bool is_idle() const;
};

inline bool Block::is_oversize() const { return segment->oversize && !is_split(); }

}  // namespace flambeau
