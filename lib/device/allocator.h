// The caching allocator: one class for device memory, cpu memory and pinned memory. PyTorch's
// rules: requests are rounded, small and large ones live in separate pools per stream, the best
// fitting free block is cut, neighbours are joined when freed. Blocks stay with their stream; a
// block that another stream used waits for its event. Invariant: under the mutex, every segment is
// exactly covered by its blocks and no two free ones touch.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/allocator_settings.h"
#include "device/block.h"
#include "device/free_lists.h"
#include "device/history.h"

namespace flambeau {

struct OutOfMemory;
struct FrontCounts;

inline constexpr size_t kSmallRequest = size_t(1)
                                        << 20;  // up to here a request goes to the small pool

enum class MemoryKind : int8_t { device, pinned };

class CachingAllocator {
 public:
  CachingAllocator(Device device, MemoryKind kind);

  Block* allocate(size_t bytes, uint32_t stream, int8_t front_class = -1);
  void deallocate(Block* b) noexcept;
  // The block that a stream's library works in is not joined with its neighbours after each call:
  // it waits for the stream's next one, without the lock, until somebody counts or lacks memory.
  // take_kept() is null where none waits; keep() says whether it took the block, handed out
  // already, back. What a capture or a private pool has is never kept.
  Block* take_kept(uint32_t stream) noexcept;
  bool keep(Block* b) noexcept;
  void record_stream(Block* b, Stream s);
  // Pinned memory: the copy that `s` just got uses the block. Host access waits for it, reuse too.
  void note_copy(Block* b, Stream s);
  void wait_for_copies(Block* b);
  Block* find(const void* address);               // the block in use that holds it, or null
  Block* try_find(const void* address) noexcept;  // null too where the lock is taken; never waits

  // Private pools, by ids that are not 0; see memory_pool.h.
  void keep_pool(uint32_t id);
  void drop_pool(uint32_t id) noexcept;
  // While a graph of the device is captured, no event is recorded or asked and nothing goes back to
  // the device: what other streams used is freed afterwards.
  void begin_capture();
  void end_capture() noexcept;
  bool capturing() const { return captures_.load(std::memory_order_relaxed) > 0; }

  void empty_cache();  // throws while a graph is captured
  void set_fraction(double fraction);
  double fraction() const { return fraction_; }
  void configure(const AllocatorSettings& settings);
  MemoryStats stats();
  void reset_peak();
  void reset_accumulated();
  void merge(const FrontCounts& counts);  // the fronts count their blocks themselves; see front.h

  Device device() const { return device_; }
  MemoryKind kind() const { return kind_; }
  // Calls visit(const Segment&) for each under the lock.
  template <class F>
  void each_segment(F&& visit) {
    std::lock_guard lock(mutex_);
    free_kept();
    for (Segment* s = segments_; s; s = s->next) visit(static_cast<const Segment&>(*s));
  }
  template <class F>
  void each_trace(F&& visit) {
    std::lock_guard lock(mutex_);
    history_.each(visit);
  }
  void set_history(size_t max_entries) {
    std::lock_guard lock(mutex_);
    history_.start(max_entries);
  }

 private:
  using Homes = std::vector<std::unique_ptr<Home>>;  // by stream id
  struct PrivatePool {
    Homes homes;
    bool kept = true;
  };

  size_t round(size_t bytes) const;
  Home& home(uint32_t stream);
  Block* block_at(const void* address) noexcept;
  Block* find_or_grow(PoolKind pool, uint32_t stream, size_t size);
  void put_free(Block* b) noexcept;
  void take_free(Block* b) noexcept;
  StreamUse* use_by(Block* b, Stream s);
  void drop_uses(Block* b) noexcept;
  void* new_event(Device d);
  Block* take(Home& home, PoolKind pool, size_t size);
  Block* grow(PoolKind pool, uint32_t stream, size_t size);
  Block* grow_segment(PoolKind pool, uint32_t stream, size_t size);
  std::unique_ptr<Segment> new_segment(size_t size, PoolKind pool, uint32_t stream);
  Segment* add_segment(std::unique_ptr<Segment> made) noexcept;
  size_t total();
  bool within_limit(size_t segment_size);
  void collect_garbage(size_t segment_size);
  void cut(Block* b, size_t size) noexcept;
  Block* split(Block* b, size_t size) noexcept;
  void free_block(Block* b) noexcept;
  bool free_kept() noexcept;
  void release_block(Block* b) noexcept;
  Block* settle(Block* b) noexcept;
  void join_next(Block* b) noexcept;
  void release_segments();
  void release_segment(Segment* s) noexcept;
  void drop_segment(Segment* s) noexcept;

  // Expandable segments, in allocator_expandable.cc.
  Block* extend(PoolKind pool, uint32_t stream, size_t size);
  Block* room_in_ranges(const Home& place, PoolKind pool, size_t size) noexcept;
  Block* reserve_range(PoolKind pool, uint32_t stream, size_t size);
  Block* map_front(Block* b, size_t bytes);
  Block* unmap_pages(Block* b);
  void release_pages(Segment* s);
  void process_pending(bool wait) noexcept;
  void record_uses(Block* b) noexcept;
  OutOfMemory report(size_t bytes, size_t size, uint32_t stream);
  void remember(TraceAction action, const void* data, size_t size, uint32_t stream, Label label);

  void reserve_nodes();
  Block* new_node() noexcept;
  void drop_node(Block* b) noexcept;

  const Device device_;
  const MemoryKind kind_;
  const size_t alignment_;
  AllocatorSettings settings_;  // those of a GPU's memory
  size_t total_ = 0;            // bytes of the device, once asked for
  uint64_t freed_ = 0;          // blocks
  std::mutex mutex_;
  Homes shared_;
  std::map<uint32_t, PrivatePool> private_;
  std::atomic<int> captures_ = 0;  // written under the mutex
  Segment* segments_ = nullptr;
  Block* spare_ = nullptr;  // nodes for blocks to come
  Block** pending_end_ = &pending_;
  Block* pending_ = nullptr;                      // freed, waiting for other streams
  std::vector<std::pair<Device, void*>> events_;  // recycled
  std::array<std::atomic<Block*>, 64> kept_{};    // by stream id; counted as allocated
  MemoryStats stats_;
  double fraction_ = 1.0;
  size_t limit_ = SIZE_MAX;
  History history_;
};

extern std::atomic<size_t> g_history_entries;  // what a new allocator starts with

CachingAllocator& allocator_of(Device d);  // made on first use, never destroyed
CachingAllocator& pinned_allocator();      // throws where there is no accelerator
CachingAllocator* pinned_allocator_if_any() noexcept;
std::vector<CachingAllocator*> all_allocators();  // those in use; the pinned one is not among them

}  // namespace flambeau
