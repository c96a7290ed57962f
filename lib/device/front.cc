// The fronts; see front.h. Counters are atomics that only the owner writes, so they cost plain
// loads and stores.
#include "device/front.h"

#include <array>
#include <bit>
#include <mutex>
#include <new>

#include "base/thread_local.h"
#include "device/allocator.h"
#include "device/fault.h"
#include "device/sanitizer.h"

namespace flambeau {

std::atomic<bool> g_fronts_off{false};

namespace {

// Steps of 64 bytes up to 1 KiB, then four steps per power of two: at most a fifth of a block is
// unused.
constexpr int kExactClasses = 16, kClasses = kExactClasses + 4 * 6;

constexpr size_t class_size(int c) {
  if (c < kExactClasses) return size_t(c + 1) * 64;
  const int step = c - kExactClasses;
  return (size_t(5 + step % 4) << 8) << step / 4;
}
static_assert(class_size(kClasses - 1) == kFrontLargest);

constexpr auto kClassOf = [] {  // by units of 64 bytes, rounded up
  std::array<int8_t, kFrontLargest / 64 + 1> table{};
  int c = 0;
  for (size_t units = 0; units < table.size(); ++units) {
    while (class_size(c) < units * 64) ++c;
    table[units] = int8_t(c);
  }
  return table;
}();

constexpr int max_kept(int c) {  // blocks per class: up to 512 KiB of one size
  const size_t n = (size_t(512) << 10) / class_size(c);
  return n > 256 ? 256 : int(n);
}

constexpr auto kMaxKept = [] {
  std::array<int16_t, kClasses> table{};
  for (int c = 0; c < kClasses; ++c) table[size_t(c)] = int16_t(max_kept(c));
  return table;
}();

class Counter {
 public:
  void add(int64_t n) {
    set(added_, get(added_) + n);
    const int64_t now = get(added_) - get(taken_);
    if (now > get(peak_)) set(peak_, now);
  }
  void take(int64_t n) { set(taken_, get(taken_) + n); }
  FrontCount value() const { return {get(added_), get(taken_), get(peak_)}; }
  void clear() { set(added_, 0), set(taken_, 0), set(peak_, 0); }

 private:
  using Cell = std::atomic<int64_t>;
  static int64_t get(const Cell& c) { return c.load(std::memory_order_relaxed); }
  static void set(Cell& c, int64_t v) { c.store(v, std::memory_order_relaxed); }
  Cell added_{0}, taken_{0}, peak_{0};
};

struct Front {
  Block* heads[kClasses] = {};
  int16_t kept[kClasses] = {};
  int events = 0;
  Counter blocks, bytes, requested;
  Front *next = nullptr, *before = nullptr;

  FrontCounts counts() const { return {blocks.value(), bytes.value(), requested.value()}; }
};

// Merging at least this often keeps another thread's view of the peaks close.
constexpr int kMergeEvery = 4096;

struct Fronts {
  std::mutex mutex;
  Front* first = nullptr;
};
Fronts& fronts() {
  static Fronts& all = *new Fronts;
  return all;
}

FLAM_THREAD_LOCAL Front* t_front = nullptr;
FLAM_THREAD_LOCAL bool t_ended = false;  // the thread is past its destructors: no front any more

void merge(Front& f) {
  std::lock_guard lock(fronts().mutex);
  allocator_of(kCpu).merge(f.counts());
  f.blocks.clear(), f.bytes.clear(), f.requested.clear();
  f.events = 0;
}

void give_back(Front& f, int c, int keep) noexcept {
  CachingAllocator& allocator = allocator_of(kCpu);
  while (f.kept[c] > keep) {
    Block* b = f.heads[c];
    f.heads[c] = b->free_next;
    b->free_next = nullptr;
    --f.kept[c];
    allocator.deallocate(b);
  }
}

struct AtThreadEnd {
  ~AtThreadEnd() {
    Front* f = t_front;
    t_ended = true;
    if (!f) return;
    t_front = nullptr;
    for (int c = 0; c < kClasses; ++c) give_back(*f, c, 0);
    merge(*f);
    std::lock_guard lock(fronts().mutex);
    (f->before ? f->before->next : fronts().first) = f->next;
    if (f->next) f->next->before = f->before;
    delete f;
  }
  void touch() {}
};
thread_local AtThreadEnd t_at_end;

Front* make_front() noexcept {
  if (t_ended) return nullptr;
  Front* f = new (std::nothrow) Front;
  if (!f) return nullptr;
  t_at_end.touch();
  std::lock_guard lock(fronts().mutex);
  f->next = fronts().first;
  if (f->next) f->next->before = f;
  fronts().first = f;
  return t_front = f;
}

void count_allocation(Front& f, size_t size, size_t bytes) {
  f.blocks.add(1);
  f.bytes.add(int64_t(size));
  f.requested.add(int64_t(bytes));
  if (++f.events >= kMergeEvery) [[unlikely]]
    merge(f);
}

Memory allocate_slowly(Front* f, size_t bytes, int c) {
  CachingAllocator& allocator = allocator_of(kCpu);
  if (!f && !t_ended) f = make_front();
  if (!f) {
    Block* b = allocator.allocate(bytes, 0);
    return {b->data, b};
  }
  Block* b = allocator.allocate(class_size(c), 0, int8_t(c));
  b->hand_out(bytes);
  sanitizer::take_back(b->data, b->size);
  sanitizer::hand_out(b->data, bytes);
  count_allocation(*f, class_size(c), bytes);
  return {b->data, b};
}

}  // namespace

Memory front_allocate(size_t bytes) {
  const int c = kClassOf[(bytes + 63) / 64];
  Front* f = t_front;
  if (!f || !f->heads[c] || g_fronts_off.load(std::memory_order_relaxed) ||
      fault::g_armed.load(std::memory_order_relaxed))
      [[unlikely]]  // faults are counted in the allocator
    return allocate_slowly(f, bytes, c);
  Block* b = f->heads[c];
  f->heads[c] = b->free_next;
  b->free_next = nullptr;
  --f->kept[c];
  b->hand_out(bytes);
  sanitizer::hand_out(b->data, bytes);
  count_allocation(*f, class_size(c), bytes);
  return {b->data, b};
}

void front_deallocate(Block* b) noexcept {
  const int c = b->front_class;
  Front* f = t_front;
  if (!f && !(f = make_front())) {
    Front last;  // a thread that is past its end: count and merge at once
    last.blocks.take(1);
    last.bytes.take(int64_t(class_size(c)));
    last.requested.take(int64_t(b->requested));
    allocator_of(kCpu).deallocate(b);
    return merge(last);
  }
  f->blocks.take(1);
  f->bytes.take(int64_t(class_size(c)));
  f->requested.take(int64_t(b->requested.load(std::memory_order_relaxed)));
  sanitizer::take_back(b->data, b->size);
  if (g_fronts_off.load(std::memory_order_relaxed)) [[unlikely]]
    return allocator_of(kCpu).deallocate(b);
  b->set_state(BlockState::cached);
  b->free_next = f->heads[c];
  f->heads[c] = b;
  if (++f->kept[c] > kMaxKept[size_t(c)]) [[unlikely]]
    give_back(*f, c, kMaxKept[size_t(c)] / 2);
}

void front_flush() noexcept {
  Front* f = t_front;
  if (!f) return;
  for (int c = 0; c < kClasses; ++c) give_back(*f, c, 0);
  merge(*f);
}

void add_unmerged_fronts(MemoryStats& stats) {
  const auto one = [](Stat& s, const FrontCount& n) {
    s.current += n.added - n.taken;
    s.allocated += n.added;
    s.freed += n.taken;
    s.peak = s.peak > s.current ? s.peak : s.current;
  };
  std::lock_guard lock(fronts().mutex);
  for (Front* f = fronts().first; f; f = f->next) {
    const FrontCounts c = f->counts();
    for (PoolKind pool : {kAllPools, kSmallPool}) {
      one(stats.allocation.of[pool], c.blocks);
      one(stats.active.of[pool], c.blocks);
      one(stats.allocated_bytes.of[pool], c.bytes);
      one(stats.active_bytes.of[pool], c.bytes);
      one(stats.requested_bytes.of[pool], c.requested);
    }
  }
}

}  // namespace flambeau
