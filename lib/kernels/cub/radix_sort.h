// CUB's radix sort of pairs on a device: unsigned keys with a place each, ascending, equals in
// their order. The one door to CUB, for two widths of keys, because each more costs a minute of
// nvcc and half a megabyte of machine code; narrower keys sort fewer bits and cost fewer passes.
// The caller brings all memory, temporary storage of the size that was asked for included, so that
// nothing is allocated on a stream.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// Two places of the same size: what is sorted lies in `now`, there and back by passes.
template <class T> struct Buffers {
  T *now, *spare;
};

struct KeyBits {
  int first, end;  // of a key, those that count
};

#if defined(FLAM_DEVICE_SOURCE)

// Bytes of temporary storage for n pairs on the current device.
template <class K> size_t radix_sort_bytes(uint32_t n, KeyBits bits);
template <class K>
void radix_sort(void* stream, void* temporary, size_t bytes, Buffers<K>& keys,
                Buffers<uint32_t>& places, uint32_t n, KeyBits bits);

extern template size_t radix_sort_bytes<uint32_t>(uint32_t, KeyBits);
extern template size_t radix_sort_bytes<uint64_t>(uint32_t, KeyBits);
extern template void radix_sort<uint32_t>(void*, void*, size_t, Buffers<uint32_t>&,
                                          Buffers<uint32_t>&, uint32_t, KeyBits);
extern template void radix_sort<uint64_t>(void*, void*, size_t, Buffers<uint64_t>&,
                                          Buffers<uint32_t>&, uint32_t, KeyBits);

#endif

}  // namespace flambeau::FLAM_TARGET
