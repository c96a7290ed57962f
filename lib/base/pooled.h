// Thread-local free lists for small objects that are made and dropped on every op (tensors,
// storages, nodes). An object may be freed on another thread than it was made on: it then joins
// that thread's list. The lists of a thread are made on its first use of them and go when it ends.
#pragma once
#include <cstddef>
#include <new>

#include "base/thread_local.h"

namespace flambeau {

namespace detail {

inline constexpr size_t kPooledStep = 64, kPooledClasses = 8;  // sizes rounded up to the step

struct PooledLists {
  static constexpr int kMost = 1024;  // objects of one size
  struct Slot {
    Slot* next;
  };
  Slot* head[kPooledClasses] = {};
  int count[kPooledClasses] = {};
};

inline FLAM_THREAD_LOCAL PooledLists* t_pooled = nullptr;
// This thread's lists, or null where it is ending (or memory is short): the heap serves then.
PooledLists* make_pooled() noexcept;

}  // namespace detail

// Gives a class pooled operator new and delete.
struct Pooled {
  static void* operator new(size_t n) {
    const size_t c = class_of(n);
    if (c >= detail::kPooledClasses) return ::operator new(n);
    detail::PooledLists* l = detail::t_pooled;
    if (!l || !l->head[c]) [[unlikely]]
      return ::operator new((c + 1) * detail::kPooledStep);
    auto* s = l->head[c];
    l->head[c] = s->next;
    --l->count[c];
    return s;
  }
  static void operator delete(void* p, size_t n) noexcept {
    const size_t c = class_of(n);
    if (c >= detail::kPooledClasses) return ::operator delete(p);
    detail::PooledLists* l = detail::t_pooled;
    if (!l) [[unlikely]]
      l = detail::make_pooled();
    if (!l || l->count[c] >= detail::PooledLists::kMost) [[unlikely]]
      return ::operator delete(p);
    l->head[c] = new (p) detail::PooledLists::Slot{l->head[c]};
    ++l->count[c];
  }

 private:
  static constexpr size_t class_of(size_t n) { return (n - 1) / detail::kPooledStep; }
};

}  // namespace flambeau
