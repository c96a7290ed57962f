// What kernels get for CUB's header of this name: its calls with their contract, executed on the
// CPU in the order of a stream. Stricter than CUB where CUB leaves something open: temporary
// storage has exactly the size that was asked for, all of it is written to, and so are the buffers
// that the result is not in, so that who counts on what they held, or lets buffers overlap, reads
// rubbish.
#pragma once
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

namespace cub {

template <class T> struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;

  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

// Both buffers of the keys and of the values, and what is sorted by which bits.
struct RadixSort {
  void *keys[2], *values[2], *temporary;
  size_t temporary_bytes;
  int key_bytes, value_bytes;
  int64_t n;
  int begin_bit, end_bit;

  size_t wanted() const;
  void check(size_t given) const;  // throws KernelError
  void enqueue(void* stream) const;
};

struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* temporary, size_t& bytes, DoubleBuffer<K>& keys,
                               DoubleBuffer<V>& values, N n, int begin_bit = 0,
                               int end_bit = int(sizeof(K)) * 8, cudaStream_t stream = nullptr) {
    static_assert(K(-1) > K(0), "a stand-in for unsigned keys");
    const RadixSort sort{{keys.Current(), keys.Alternate()},
                         {values.Current(), values.Alternate()},
                         temporary,
                         bytes,
                         int(sizeof(K)),
                         int(sizeof(V)),
                         int64_t(n),
                         begin_bit,
                         end_bit};
    if (!temporary) {
      bytes = sort.wanted();
      return cudaSuccess;
    }
    sort.check(bytes);
    sort.enqueue(stream);
    keys.selector ^= 1;
    values.selector ^= 1;
    return cudaSuccess;
  }
};

}  // namespace cub
