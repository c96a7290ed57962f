// By the driver's calls, for the runtime has none. A handle is given up as soon as its memory is
// mapped, which keeps it alive; unmapping waits for nothing by itself.
#include "device/cuda/pages.h"

#include "base/error.h"
#include "device/cuda/driver.h"
#include "device/cuda/status.h"

namespace flambeau::cuda {
namespace {

using driver::Address, driver::Pages;
using hal::Status;

constexpr size_t kPage = size_t(2) << 20;  // what the HAL promises

Pages load() {
  Pages p{};
  using driver::bind;
  bind(p.granularity, "cuMemGetAllocationGranularity");
  bind(p.reserve, "cuMemAddressReserve");
  bind(p.release, "cuMemAddressFree");
  bind(p.create, "cuMemCreate");
  bind(p.destroy, "cuMemRelease");
  bind(p.map, "cuMemMap");
  bind(p.unmap, "cuMemUnmap");
  bind(p.set_access, "cuMemSetAccess");
  return p;
}

const Pages& pages() {
  static const Pages p = load();
  return p;
}

Address address(void* data) { return reinterpret_cast<Address>(data); }
cudaError_t error_of(int result) { return static_cast<cudaError_t>(result); }

// What the device's memory is asked for with.
driver::Allocation of(int device) {
  return {driver::kPinned, 0, {driver::kOnDevice, device}, nullptr, {}};
}

int map_handle(int device, Address at, size_t bytes, driver::Handle handle) {
  if (const int e = pages().map(at, bytes, 0, handle, 0); e != driver::kSuccess) return e;
  const driver::Access access{{driver::kOnDevice, device}, driver::kReadWrite};
  const int e = pages().set_access(at, bytes, &access, 1);
  if (e != driver::kSuccess) pages().unmap(at, bytes);
  return e;
}

}  // namespace

// Asking a device for nothing makes its context, without which the driver knows no device.
Status reserve(int device, size_t bytes, void** out) {
  if (!pages().reserve || !pages().set_access)
    return failed(Status::unsupported, "the NVIDIA driver has no virtual memory management");
  const driver::Allocation allocation = of(device);
  size_t page = 0;
  Address at = 0;
  const Status status = on_device(device, [&] {
    const RelaxedCapture relaxed;
    if (const cudaError_t e = cudaFree(nullptr); e != cudaSuccess) return e;
    return error_of(pages().granularity(&page, &allocation, driver::kMinimum));
  });
  if (status != Status::ok) return status;
  if (page == 0 || kPage % page != 0)
    return failed(Status::unsupported, cat_text("its pages have ", page, " bytes"));
  const Status reserved =
      on_device(device, [&] { return error_of(pages().reserve(&at, bytes, kPage, 0, 0)); });
  *out = reinterpret_cast<void*>(at);
  return reserved;
}

Status release(int device, void* data, size_t bytes) {
  return on_device(device, [&] { return error_of(pages().release(address(data), bytes)); });
}

Status map(int device, void* data, size_t bytes) {
  return on_device(device, [&] {
    const RelaxedCapture relaxed;
    const driver::Allocation allocation = of(device);
    driver::Handle handle = 0;
    if (const int e = pages().create(&handle, bytes, &allocation, 0); e != driver::kSuccess)
      return error_of(e);
    const int mapped = map_handle(device, address(data), bytes, handle);
    pages().destroy(handle);
    return error_of(mapped);
  });
}

Status unmap(int device, void* data, size_t bytes) {
  return on_device(device, [&] {
    const cudaError_t waited = cudaDeviceSynchronize();
    return waited != cudaSuccess ? waited : error_of(pages().unmap(address(data), bytes));
  });
}

}  // namespace flambeau::cuda
