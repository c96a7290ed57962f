// CUB's radix sort as nvcc compiles it, and as the emulation's stand-in for CUB's header executes
// it. Nothing here for the host.
#include "kernels/cub/radix_sort.h"

#if defined(FLAM_DEVICE_SOURCE)

#define CCCL_DISABLE_NVTX  // its marks for a profiler: ours names the operation
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda_launch.h"

namespace flambeau::FLAM_TARGET {

namespace {

// The stand-in throws by itself.
void check_cub([[maybe_unused]] cudaError_t e) {
#if !defined(FLAM_EMU)
  if (e != cudaSuccess) throw_refused("DeviceRadixSort", e, "of CUB");
#endif
}

template <class K>
void call(void* stream, void* temporary, size_t& bytes, Buffers<K>& keys, Buffers<uint32_t>& places,
          uint32_t n, KeyBits bits) {
  cub::DoubleBuffer<K> k(keys.now, keys.spare);
  cub::DoubleBuffer<uint32_t> p(places.now, places.spare);
  check_cub(cub::DeviceRadixSort::SortPairs(temporary, bytes, k, p, n, bits.first, bits.end,
                                            static_cast<cudaStream_t>(stream)));
  keys = {k.Current(), k.Alternate()};
  places = {p.Current(), p.Alternate()};
}

}  // namespace

template <class K> size_t radix_sort_bytes(uint32_t n, KeyBits bits) {
  size_t bytes = 0;
  Buffers<K> keys{};
  Buffers<uint32_t> places{};
  call(nullptr, nullptr, bytes, keys, places, n, bits);
  return bytes;
}

template <class K>
void radix_sort(void* stream, void* temporary, size_t bytes, Buffers<K>& keys,
                Buffers<uint32_t>& places, uint32_t n, KeyBits bits) {
  call(stream, temporary, bytes, keys, places, n, bits);
}

template size_t radix_sort_bytes<uint32_t>(uint32_t, KeyBits);
template size_t radix_sort_bytes<uint64_t>(uint32_t, KeyBits);
template void radix_sort<uint32_t>(void*, void*, size_t, Buffers<uint32_t>&, Buffers<uint32_t>&,
                                   uint32_t, KeyBits);
template void radix_sort<uint64_t>(void*, void*, size_t, Buffers<uint64_t>&, Buffers<uint32_t>&,
                                   uint32_t, KeyBits);

}  // namespace flambeau::FLAM_TARGET

#endif
