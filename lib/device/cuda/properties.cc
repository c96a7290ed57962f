// Clock rates are attributes and no longer properties from CUDA 13 on.
#include "device/cuda/properties.h"

#include <cstdio>

#include "device/cuda/status.h"

namespace flambeau::cuda {
namespace {

// The hexadecimal form in groups of 4, 2, 2, 2 and 6 bytes (RFC 9562, section 4).
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", unsigned(uuid.bytes[i]) & 0xff);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

}  // namespace

hal::Status properties(int device, DeviceProperties* out) {
  cudaDeviceProp p{};
  cudaError_t error = cudaGetDeviceProperties(&p, device);
  *out = {};
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&out->clock_rate, cudaDevAttrClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&out->memory_clock_rate, cudaDevAttrMemoryClockRate, device);
  if (error != cudaSuccess) return status_of(error);
  out->name = p.name;
  out->uuid = uuid_text(p.uuid);
  out->total_memory = p.totalGlobalMem;
  out->major = p.major;
  out->minor = p.minor;
  out->multiprocessors = p.multiProcessorCount;
  out->warp_size = p.warpSize;
  out->shared_memory_per_block = p.sharedMemPerBlock;
  out->shared_memory_per_block_optin = p.sharedMemPerBlockOptin;
  out->shared_memory_per_multiprocessor = p.sharedMemPerMultiprocessor;
  out->l2_cache = size_t(p.l2CacheSize);
  out->max_threads_per_block = p.maxThreadsPerBlock;
  out->max_threads_per_multiprocessor = p.maxThreadsPerMultiProcessor;
  out->registers_per_multiprocessor = p.regsPerMultiprocessor;
  out->memory_bus_width = p.memoryBusWidth;
  out->integrated = p.integrated != 0;
  out->multi_gpu_board = p.isMultiGpuBoard != 0;
  return hal::Status::ok;
}

}  // namespace flambeau::cuda
