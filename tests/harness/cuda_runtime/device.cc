// Devices of the stand-in: as many as are simulated, a current one per thread, their properties,
// and the texts of errors.
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "contract.h"
#include "driver.h"

using namespace cuda_runtime;

namespace {

// 13.0, or what a test names.
int version_in(const char* variable) {
  const char* named = std::getenv(variable);
  return named ? std::atoi(named) : CUDART_VERSION;
}

int count() { return standin_devices(nullptr); }
bool exists(int device) { return device >= 0 && device < count(); }

// What NVML tells of the same devices.
void facts(int device, size_t* free_bytes, size_t* total_bytes) {
  devices().memory_info(device, free_bytes, total_bytes);
}
[[maybe_unused]] const bool offered =
    (standin_offers_machine([] { return devices().device_count(); }, facts), true);

std::set<std::pair<int, int>> g_peers;  // from, to: copies go directly

}  // namespace

namespace cuda_runtime {
const std::set<std::pair<int, int>>& peers() { return g_peers; }
}  // namespace cuda_runtime

cudaError_t cudaDriverGetVersion(int* version) {
  *version = version_in("FLAMBEAU_STANDIN_DRIVER");
  return Call("cudaDriverGetVersion", false).returns(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = version_in("FLAMBEAU_STANDIN_RUNTIME");
  return Call("cudaRuntimeGetVersion", false).returns(cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* out) {
  *out = count();
  return Call("cudaGetDeviceCount").returns(*out ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return Call("cudaGetDevice").returns(cudaSuccess);
}

// As from CUDA 12 on, naming a device makes its context.
cudaError_t cudaSetDevice(int device) {
  if (!exists(device)) return Call("cudaSetDevice").returns(cudaErrorInvalidDevice);
  current_device = device;
  const Call call("cudaSetDevice");
  call.needs_context();
  return call.returns(cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  const Call call("cudaGetDeviceProperties");
  if (!exists(device)) return call.returns(cudaErrorInvalidDevice);
  flambeau::DeviceProperties p;
  const auto status = devices().properties(device, &p);
  *out = {};
  std::strncpy(out->name, p.name.c_str(), sizeof out->name - 1);
  out->totalGlobalMem = p.total_memory;
  out->sharedMemPerBlock = p.shared_memory_per_block;
  out->major = 9;
  out->multiProcessorCount = p.multiprocessors;
  out->warpSize = p.warp_size;
  out->l2CacheSize = int(p.l2_cache);
  out->sharedMemPerBlockOptin = p.shared_memory_per_block_optin;
  out->sharedMemPerMultiprocessor = p.shared_memory_per_multiprocessor;
  out->maxThreadsPerBlock = p.max_threads_per_block;
  out->maxThreadsPerMultiProcessor = p.max_threads_per_multiprocessor;
  out->regsPerMultiprocessor = 65536;
  out->memoryBusWidth = 5120;
  int machine[most_devices];
  standin_devices(machine);
  standin_uuid(machine[device], reinterpret_cast<unsigned char*>(out->uuid.bytes));
  return call.answer(status);
}

cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int device) {
  const Call call("cudaDeviceGetAttribute");
  if (!exists(device)) return call.returns(cudaErrorInvalidDevice);
  *out = attribute == cudaDevAttrClockRate ? 1980000 : 2619000;
  return call.returns(cudaSuccess);
}

cudaError_t cudaDeviceCanAccessPeer(int* out, int device, int peer) {
  const Call call("cudaDeviceCanAccessPeer");
  if (!exists(device) || !exists(peer)) return call.returns(cudaErrorInvalidDevice);
  *out = device != peer;
  return call.returns(cudaSuccess);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  const Call call("cudaDeviceEnablePeerAccess");
  call.needs_context();
  if (!exists(peer) || peer == call.current || flags) return call.returns(cudaErrorInvalidDevice);
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  if (!g_peers.insert({call.current, peer}).second)
    return call.breaks(cudaErrorPeerAccessAlreadyEnabled, "of device ", peer, " already");
  return call.returns(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  const Call call("cudaDeviceGetStreamPriorityRange");
  call.needs_context();
  return call.returns(cudaSuccess);
}

cudaError_t cudaDeviceSynchronize() {
  const Call call("cudaDeviceSynchronize");
  call.needs_context();
  if (call.is_unsafe()) return call.returns(cudaErrorStreamCaptureUnsupported);
  return call.answer(devices().synchronize(call.current));
}

#define CUDA_ERRORS(X)                                                                   \
  X(cudaErrorInvalidValue, "invalid argument")                                           \
  X(cudaErrorMemoryAllocation, "out of memory")                                          \
  X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime") \
  X(cudaErrorNoDevice, "no CUDA-capable device is detected")                             \
  X(cudaErrorInvalidDevice, "invalid device ordinal")                                    \
  X(cudaErrorInvalidResourceHandle, "invalid resource handle")                           \
  X(cudaErrorNotReady, "device not ready")                                               \
  X(cudaErrorNotPermitted, "operation not permitted")                                    \
  X(cudaErrorNotSupported, "operation not supported")                                    \
  X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution")       \
  X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")

// Of these NVIDIA says that the process has to be started again.
#define CUDA_LOSSES(X)                                                                      \
  X(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                       \
  X(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected")                    \
  X(cudaErrorContained, "Invalid access of peer GPU memory over nvlink, or of hardware")    \
  X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                    \
  X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                      \
  X(cudaErrorContextIsDestroyed, "context is destroyed")                                    \
  X(cudaErrorAssert, "device-side assert triggered")                                        \
  X(cudaErrorHardwareStackError, "hardware stack error")                                    \
  X(cudaErrorIllegalInstruction, "an illegal instruction was encountered")                  \
  X(cudaErrorMisalignedAddress, "misaligned address")                                       \
  X(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space") \
  X(cudaErrorInvalidPc, "invalid program counter")                                          \
  X(cudaErrorLaunchFailure, "unspecified launch failure")                                   \
  X(cudaErrorTensorMemoryLeak, "tensor memory not completely freed")                        \
  X(cudaErrorMpsClientTerminated, "MPS client terminated")                                  \
  X(cudaErrorExternalDevice, "an async error has occurred in an external entity")

bool cuda_runtime::is_sticky(cudaError_t error) {
  switch (error) {
#define X(name, text) case name:
    CUDA_LOSSES(X)
#undef X
    return true;
    default:
      return false;
  }
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define X(name, text) \
  case name:          \
    return #name;
    CUDA_ERRORS(X)
    CUDA_LOSSES(X)
#undef X
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define X(name, text) \
  case name:          \
    return text;
    CUDA_ERRORS(X)
    CUDA_LOSSES(X)
#undef X
    default:
      return "unknown error";
  }
}
