// A private pool: device memory that nobody else's allocations get, so that a graph which names its
// addresses may be replayed. A thread allocates from it between `use` and what `use` returned; its
// free blocks are kept from other pools and from the device until nobody holds the pool any more.
#pragma once
#include <cstdint>

#include "base/ref.h"
#include "device/runtime.h"

// The ABI's opaque type, hence outside the namespace.
struct flam_memory_pool final : flambeau::RefCounted {
  explicit flam_memory_pool(flambeau::Device d);  // a device other than the cpu, with an index
  const flambeau::Device device;
  const uint32_t id;  // of its device's allocator, from 1

 protected:
  ~flam_memory_pool() override;
};

namespace flambeau {

using MemoryPool = ::flam_memory_pool;

// The pool from which this thread allocates on `d`; 0 is the one that all share.
uint32_t pool_in_use(Device d) noexcept;
// Allocates from that pool from now on; returns the one before.
uint32_t use_pool(Device d, uint32_t id) noexcept;

}  // namespace flambeau
