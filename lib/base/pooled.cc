// Making and dropping a thread's free lists: what the hot paths of pooled.h leave out.
#include "base/pooled.h"

#include "base/quarantine.h"

namespace flambeau::detail {

namespace {

FLAM_THREAD_LOCAL bool t_ended = false;  // objects that outlive the lists go to the heap

struct AtThreadEnd {
  void touch() {}
  ~AtThreadEnd() {
    t_ended = true;
    PooledLists* lists = t_pooled;
    t_pooled = nullptr;
    if (!lists) return;
    for (PooledLists::Slot* head : lists->head) {
      while (head) {
        PooledLists::Slot* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
    delete lists;
  }
};
thread_local AtThreadEnd t_at_end;

}  // namespace

PooledLists* make_pooled() noexcept {
  if (t_ended || withhold) return nullptr;
  t_at_end.touch();
  return t_pooled = new (std::nothrow) PooledLists;
}

}  // namespace flambeau::detail
