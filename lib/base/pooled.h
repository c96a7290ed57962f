// Thread-local free lists for small objects that are made and dropped on every op (tensors,
// storages, nodes). An object may be freed on another thread than it was made on: it then joins
// that thread's list.
#pragma once
#include <cstddef>
#include <new>

namespace flambeau {

template <size_t Bytes> class FreeList {
 public:
  static void* get() {
    Lists& l = lists();
    if (!l.head) return ::operator new(Bytes);
    Slot* s = l.head;
    l.head = s->next;
    --l.count;
    return s;
  }
  static void put(void* p) noexcept {
    Lists& l = lists();
    if (l.closed || l.count >= kMost) return ::operator delete(p);
    l.head = new (p) Slot{l.head};
    ++l.count;
  }

 private:
  static constexpr int kMost = 1024;
  struct Slot {
    Slot* next;
  };
  struct Lists {
    Slot* head = nullptr;
    int count = 0;
    bool closed = false;  // the thread is ending: objects that outlive the list go to the heap
    ~Lists() {
      closed = true;
      while (head) {
        Slot* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
  };
  static Lists& lists() {
    thread_local Lists l;
    return l;
  }
};

// Gives a class pooled operator new and delete; derived classes of another size get lists of their
// own.
struct Pooled {
  static void* operator new(size_t n) {
    return n <= 512 ? by_class(n, nullptr) : ::operator new(n);
  }
  static void operator delete(void* p, size_t n) noexcept {
    if (n <= 512) {
      by_class(n, p);
    } else {
      ::operator delete(p);
    }
  }

 private:
  // Rounds to 64-byte classes; with p it returns p to its list, without it takes one.
  static void* by_class(size_t n, void* p) {
    switch ((n + 63) / 64) {
      case 0:
      case 1:
        return swap<64>(p);
      case 2:
        return swap<128>(p);
      case 3:
        return swap<192>(p);
      case 4:
        return swap<256>(p);
      case 5:
        return swap<320>(p);
      case 6:
        return swap<384>(p);
      case 7:
        return swap<448>(p);
      default:
        return swap<512>(p);
    }
  }
  template <size_t Bytes> static void* swap(void* p) {
    if (!p) return FreeList<Bytes>::get();
    FreeList<Bytes>::put(p);
    return nullptr;
  }
};

}  // namespace flambeau
