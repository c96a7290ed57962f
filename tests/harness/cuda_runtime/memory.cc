// Memory of the stand-in and copies within it: every pointer must lie in one live allocation of the
// space that the call names, with all the bytes that it moves.
#include <algorithm>
#include <map>
#include <mutex>

#include "contract.h"
#include "device/sim/arena.h"
#include "driver.h"

using namespace cuda_runtime;
using flambeau::hal::Copy;
using flambeau::hal::Direction;

namespace {

constexpr int kPinned = -1, kRegistered = -2, kManaged = -3;

struct Piece {
  size_t bytes;
  int device;  // page-locked memory of the host: kPinned, or kRegistered where it was ordinary;
               // kManaged: the host's and every device's
  bool mapped = false;  // by pages, beside others
};

std::mutex g_mutex;
std::map<uintptr_t, Piece>& pieces() {
  static auto& all = *new std::map<uintptr_t, Piece>;
  return all;
}

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

void add(const void* p, Piece piece) {
  const std::lock_guard lock(g_mutex);
  pieces()[address(p)] = piece;
}

// The allocation that holds all the bytes; none where there is none.
const Piece* piece_of(const void* p, size_t bytes) {
  const std::lock_guard lock(g_mutex);
  auto at = pieces().upper_bound(address(p));
  if (at == pieces().begin()) return nullptr;
  const Piece& first = (--at)->second;
  uintptr_t end = at->first + first.bytes;
  for (++at; first.mapped && at != pieces().end() && at->first == end; ++at) {
    if (!at->second.mapped || at->second.device != first.device) break;
    end += at->second.bytes;
  }
  return address(p) + bytes <= end ? &first : nullptr;
}

bool is_on(const void* p, size_t bytes, int device) {
  const Piece* piece = piece_of(p, bytes);
  return piece && (piece->device == device || piece->device == kManaged);
}
bool is_locked(const void* p, size_t bytes) {
  const Piece* piece = piece_of(p, bytes);
  return piece && piece->device < 0;
}
[[maybe_unused]] const bool offered = (standin_offers_memory([](const void* p, size_t n) {
                                         return int(is_on(p, n, current_device));
                                       }),
                                       true);
bool is_device(const void* p) { return flambeau::sim::Arena::instance().contains(p); }

// Takes an allocation of the kind out, kPinned, kRegistered, kManaged, or 0 for any device's; its
// size, or 0 where `p` is the start of none.
size_t take(const void* p, int kind) {
  const std::lock_guard lock(g_mutex);
  const auto at = pieces().find(address(p));
  if (at == pieces().end() || std::min(at->second.device, 0) != kind || at->second.mapped) return 0;
  const size_t bytes = at->second.bytes;
  pieces().erase(at);
  return bytes;
}

cudaError_t move(const Call& call, cudaStream_t stream, const Copy& c) {
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  return call.answer(devices().copy(call.current, stream, c));
}

}  // namespace

namespace cuda_runtime {

void add_pages(const void* p, size_t bytes, int device) { add(p, {bytes, device, true}); }
void remove_pages(const void* p) {
  const std::lock_guard lock(g_mutex);
  pieces().erase(address(p));
}

size_t registered() {
  const std::lock_guard lock(g_mutex);
  return size_t(std::ranges::count_if(
      pieces(), [](const auto& piece) { return piece.second.device == kRegistered; }));
}

}  // namespace cuda_runtime

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const Call call("cudaMemGetInfo");
  call.needs_context();
  return call.answer(devices().memory_info(call.current, free_bytes, total_bytes));
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  const Call call("cudaMalloc");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  const auto status = devices().allocate(call.current, bytes, out);
  if (status == flambeau::hal::Status::ok) add(*out, {bytes, call.current});
  return call.answer(status);
}

cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
  const Call call("cudaMallocManaged");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  const auto status = devices().allocate_host(call.current, bytes, out);
  if (status == flambeau::hal::Status::ok) add(*out, {bytes, kManaged});
  return call.answer(status);
}

cudaError_t cudaFree(void* data) {
  const Call call("cudaFree");
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  if (!data) return call.returns(cudaSuccess);
  if (const size_t managed = take(data, kManaged)) {
    const auto done = devices().synchronize(call.current);
    devices().deallocate_host(call.current, data, managed);
    return call.answer(done);
  }
  const Piece* piece = piece_of(data, 1);
  const int device = piece ? piece->device : -1;
  const size_t bytes = take(data, 0);
  if (!bytes) return call.breaks(cudaErrorInvalidValue, data, " is no allocation of a device");
  return call.answer(devices().deallocate(device, data, bytes));
}

cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  const Call call("cudaHostAlloc");
  if (call.injected != cudaSuccess) return call.returns(call.injected);
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  const auto status = devices().allocate_host(call.current, bytes, out);
  if (status == flambeau::hal::Status::ok) add(*out, {bytes, kPinned});
  return call.answer(status);
}

cudaError_t cudaFreeHost(void* data) {
  const Call call("cudaFreeHost");
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  if (!data) return call.returns(cudaSuccess);
  const size_t bytes = take(data, kPinned);
  if (!bytes) return call.breaks(cudaErrorInvalidValue, data, " is no page-locked memory");
  return call.answer(devices().deallocate_host(call.current, data, bytes));
}

cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned) {
  const Call call("cudaHostRegister");
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  if (piece_of(data, 1)) return call.breaks(cudaErrorInvalidValue, data, " is CUDA's already");
  add(data, {bytes, kRegistered});
  return call.returns(cudaSuccess);
}

cudaError_t cudaHostUnregister(void* data) {
  const Call call("cudaHostUnregister");
  call.needs_context();
  if (!take(data, kRegistered))
    return call.breaks(cudaErrorInvalidValue, data, " is not registered");
  return call.returns(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* data) {
  const Call call("cudaPointerGetAttributes");
  const Piece* piece = piece_of(data, 1);
  *out = {cudaMemoryTypeUnregistered, -1, nullptr, const_cast<void*>(data)};
  if (piece) out->type = piece->device < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  if (piece && piece->device == kManaged) out->type = cudaMemoryTypeManaged;
  if (piece) out->device = piece->device < 0 ? call.current : piece->device;
  return call.returns(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call("cudaMemcpyAsync");
  call.needs_context();
  if (bytes == 0) return call.returns(cudaSuccess);
  const bool from_host = kind == cudaMemcpyHostToDevice, to_host = kind == cudaMemcpyDeviceToHost;
  if (!from_host && !to_host && kind != cudaMemcpyDeviceToDevice)
    return call.breaks(cudaErrorInvalidMemcpyDirection, "direction ", int(kind));
  const void* const host = from_host ? src : to_host ? dst : nullptr;
  if (host && is_device(host))
    return call.breaks(cudaErrorInvalidValue, "a device's memory is named as the host's");
  const void* const near[] = {from_host ? nullptr : src, to_host ? nullptr : dst};
  for (const void* p : near) {
    if (p && !is_on(p, bytes, call.current))
      return call.breaks(cudaErrorInvalidValue, bytes, " bytes at ", p, " are not this device's");
  }
  Copy c{dst, src, bytes, from_host ? Direction::to_device : Direction::to_host};
  if (!host) c.direction = Direction::on_device;
  c.pageable = host && !is_locked(host, bytes);
  if (c.pageable && to_host && call.is_unsafe())
    return call.returns(cudaErrorStreamCaptureUnsupported);
  return move(call, stream, c);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device,
                                size_t bytes, cudaStream_t stream) {
  const Call call("cudaMemcpyPeerAsync");
  call.needs_context();
  if (!is_on(dst, bytes, dst_device) || !is_on(src, bytes, src_device))
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes at ", dst, " and ", src,
                       " are not those of devices ", dst_device, " and ", src_device);
  return move(call, stream, {dst, src, bytes, Direction::to_peer, false, dst_device});
}

cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream) {
  const Call call("cudaMemsetAsync");
  call.needs_context();
  if (bytes && !is_on(dst, bytes, call.current))
    return call.breaks(cudaErrorInvalidValue, bytes, " bytes at ", dst, " are not this device's");
  if (const cudaError_t e = check_stream(call, stream); e != cudaSuccess) return e;
  return call.answer(devices().fill(call.current, stream, dst, value, bytes));
}
