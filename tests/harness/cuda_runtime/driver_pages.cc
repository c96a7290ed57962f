// The driver's functions of virtual memory, which the stand-in for the runtime answers: pages.cc.
#include "device/cuda/driver.h"
#include "driver.h"

using namespace flambeau::cuda::driver;

namespace {
Pages given;
}

extern "C" {
#pragma GCC visibility push(default)

void standin_offers_pages(const Pages* pages) { given = *pages; }

int cuMemGetAllocationGranularity(size_t* out, const Allocation* what, int kind) {
  return given.granularity(out, what, kind);
}
int cuMemAddressReserve(Address* out, size_t bytes, size_t alignment, Address wish,
                        unsigned long long flags) {
  return given.reserve(out, bytes, alignment, wish, flags);
}
int cuMemAddressFree(Address at, size_t bytes) { return given.release(at, bytes); }
int cuMemCreate(Handle* out, size_t bytes, const Allocation* what, unsigned long long flags) {
  return given.create(out, bytes, what, flags);
}
int cuMemRelease(Handle handle) { return given.destroy(handle); }
int cuMemMap(Address at, size_t bytes, size_t offset, Handle handle, unsigned long long flags) {
  return given.map(at, bytes, offset, handle, flags);
}
int cuMemUnmap(Address at, size_t bytes) { return given.unmap(at, bytes); }
int cuMemSetAccess(Address at, size_t bytes, const Access* access, size_t count) {
  return given.set_access(at, bytes, access, count);
}

#pragma GCC visibility pop
}
