// The bytes behind tensors. Views share one storage, and with it the count of writes.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/pooled.h"
#include "base/ref.h"
#include "device/runtime.h"
#include "tensor/writes.h"

namespace flambeau {

class Storage final : public RefCounted, public Pooled {
 public:
  // Memory from the caching allocator, for use on the current stream.
  Storage(Device device, size_t bytes)
      : device_(device), bytes_(bytes), memory_(allocate(device, bytes)) {}

  // Page-locked host memory, or memory of somebody else that `drop(context)` gives back.
  struct Pinned {};
  Storage(Pinned, size_t bytes)
      : device_(kCpu), bytes_(bytes), memory_(allocate_pinned(bytes)), pinned_(true) {}
  using Drop = void (*)(void* context);
  Storage(Device device, size_t bytes, void* data, Drop drop, void* context)
      : device_(device), bytes_(bytes), memory_{data, nullptr}, drop_(drop), context_(context) {}

  Device device() const { return device_; }
  size_t bytes() const { return bytes_; }
  void* data() const { return memory_.data; }
  Block* block() const { return memory_.block; }
  bool pinned() const { return pinned_; }
  // Whether its bytes may move: they are the library's, and nobody else points to them.
  bool resizable() const { return (memory_.block || bytes_ == 0 || device_.is_meta()) && !fixed_; }
  void fix() { fixed_ = true; }

  Writes& writes() { return writes_; }

  // Exchanges the bytes of two storages: how resize_ grows a tensor that others share.
  void swap_memory(Storage& o) {
    std::swap(device_, o.device_);
    std::swap(bytes_, o.bytes_);
    std::swap(memory_, o.memory_);
    std::swap(drop_, o.drop_);
    std::swap(context_, o.context_);
    std::swap(pinned_, o.pinned_);
  }

 private:
  ~Storage() override {
    if (memory_.block) deallocate(memory_.block);
    if (drop_) drop_(context_);
  }

  Device device_;
  size_t bytes_;
  Memory memory_;
  Drop drop_ = nullptr;
  void* context_ = nullptr;
  Writes writes_;
  bool pinned_ = false;
  std::atomic<bool> fixed_{false};
};

}  // namespace flambeau
