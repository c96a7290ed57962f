// The part of CUDA's driver that is called beside the runtime, declared here so that no header of
// it is needed: values and layouts are those of cuda.h. Every function answers a CUresult, whose
// numbers are those of the runtime's errors.
#pragma once
#include <cstddef>

namespace flambeau::cuda::driver {

using Address = unsigned long long;  // CUdeviceptr
using Handle = unsigned long long;   // CUmemGenericAllocationHandle

enum : int { kSuccess = 0, kPinned = 1, kOnDevice = 1, kReadWrite = 3, kMinimum = 0 };

struct Location {  // CUmemLocation
  int type, id;
};
struct Allocation {  // CUmemAllocationProp
  int type, handle_types;
  Location location;
  void* windows_only;
  unsigned char flags[8];
};
struct Access {  // CUmemAccessDesc
  Location location;
  int flags;
};

// Virtual memory: addresses are reserved, memory is created by handle, mapped, and made accessible.
struct Pages {
  int (*granularity)(size_t*, const Allocation*, int kind);
  int (*reserve)(Address*, size_t bytes, size_t alignment, Address wish, unsigned long long flags);
  int (*release)(Address, size_t bytes);
  int (*create)(Handle*, size_t bytes, const Allocation*, unsigned long long flags);
  int (*destroy)(Handle);
  int (*map)(Address, size_t bytes, size_t offset, Handle, unsigned long long flags);
  int (*unmap)(Address, size_t bytes);
  int (*set_access)(Address, size_t bytes, const Access*, size_t count);
};

// A function by its name; null where the driver has none, or is not there.
void* function(const char* name);

template <class F> void bind(F& f, const char* name) { f = reinterpret_cast<F>(function(name)); }

}  // namespace flambeau::cuda::driver
