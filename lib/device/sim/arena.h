// The memory of all simulated devices: one file in memory. Host code that touches it faults, at any
// moment and on any thread. Where the processor has memory protection keys the pages carry one, and
// executors open it for themselves. Elsewhere the addresses handed out lie in a view without
// access; executors use a second view at a constant distance, into which the pointers among a
// kernel's arguments are translated.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace flambeau::sim {

class Arena {
 public:
  static Arena&
  instance();  // throws Error(out of host memory) where the address space cannot be reserved

  void* allocate(int device, size_t bytes);  // null where the device is full
  void deallocate(int device, void* data, size_t bytes);
  // The halves of both: addresses in whole granules (null where there are no more), and memory.
  void* reserve(int device, size_t bytes);
  void release(int device, void* data, size_t bytes);
  bool map(int device, void* data, size_t bytes);  // false where the device is full
  void unmap(int device, void* data, size_t bytes);
  size_t used(int device) const;
  size_t capacity(int device) const;
  void set_capacity(int device, size_t bytes);

  // The device whose memory holds `p`, which must be inside; and whether a segment covers it.
  int device_of(const void* p) const { return int((address(p) - base_) / stride_); }
  bool is_live(const void* p) const;
  bool ends_live(const void* p) const;  // one past the end of what is
  int key() const { return key_; }      // -1: the double mapping

  bool contains(const void* p) const { return address(p) - base_ < size_; }
  // Where executors find `p`; other pointers are left alone.
  template <class T>
  T* translate(T* p) const {
    return contains(p) ? reinterpret_cast<T*>(address(p) + distance_) : p;
  }
  void translate_words(void* args, size_t bytes) const;

  // For the fault handler, hence without locks: opens and closes the granule of an address handed
  // out, for a kernel that got the pointer by a way that translation does not see (a table of
  // pointers in memory). Never needed, and refused, with a key.
  bool open_granule(const void* p);
  void close_granule(const void* p);

 private:
  static uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

  Arena();
  void settle_protection();
  bool map_views();
  bool set_access(size_t offset, size_t bytes, bool open);
  void* granule_of(const void* p) const;

  struct Device {
    size_t capacity = 0, used = 0;
    std::vector<bool> taken;  // by granule
  };

  uintptr_t base_ = 0, distance_ = 0;
  size_t size_ = 0, stride_ = 0;
  int file_ = -1, key_ = -1;
  mutable std::mutex mutex_;
  std::vector<Device> devices_;
  std::vector<std::atomic<bool>> live_;  // by granule of the whole arena
};

}  // namespace flambeau::sim
