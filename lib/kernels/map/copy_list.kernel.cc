// See copy_list.h: the blocks of several copies on GPUs. The host copies one after the other.
#include "kernels/map/copy_list.h"

#include "kernels/types.h"

#if defined(FLAM_DEVICE_SOURCE)

#include "kernels/map/transpose_device.h"

namespace flambeau::FLAM_TARGET {

// A block's elements: all are read before the first is written.
template <class T>
__device__ __forceinline__ void copy_elements(const TransposeSpace& s, uint32_t block, uint32_t n) {
  T value[kCopyEach];
  char* to[kCopyEach];
#pragma unroll
  for (int i = 0; i < kCopyEach; ++i) {
    uint32_t rest = (block * kCopyEach + uint32_t(i)) * kCopyThreads + threadIdx.x;
    to[i] = nullptr;
    if (rest >= n) continue;
    int32_t at = 0, from = 0;
#pragma unroll 1
    for (int d = 0; d < s.outer; ++d) {
      const uint32_t next = quotient(rest, s.size[d]);
      const auto index = int32_t(rest - next * s.size[d].divisor);
      at += index * s.to_step[d];
      from += index * s.from_step[d];
      rest = next;
    }
    to[i] = s.to + at;
    value[i] = load_global(reinterpret_cast<const T*>(s.from + from));
  }
#pragma unroll
  for (int i = 0; i < kCopyEach; ++i)
    if (to[i]) store_global(reinterpret_cast<T*>(to[i]), value[i]);
}

template <class T> __global__ void __launch_bounds__(kCopyThreads)
    copy_list_kernel(const __grid_constant__ CopyListArgs list) {
  int part = 0;
  while (part + 1 < list.parts && blockIdx.x >= list.part[part + 1].first_block) ++part;
  const CopyListArgs::Part& p = list.part[part];
  const uint32_t block = blockIdx.x - p.first_block;
  if (p.elements) return copy_elements<T>(p.space, block, p.elements);
  turn_tile<T>(p.space, block);
}

template <class T> void copy_list_entry(void* stream, const void* p) {
  using Tile = TransposeTile<T>;
  static_assert(Tile::kRows == 128 / int(sizeof(T)) && kCopyThreads == kTransposeThreads);
  const CopyListArgs& list = *static_cast<const CopyListArgs*>(p);
  const CopyListArgs::Part& last = list.part[list.parts - 1];
  FLAM_LAUNCH((copy_list_kernel<T>), dim3(last.first_block + last.space.tiles), dim3(kCopyThreads),
              0, stream, list);
}

template <class... T> bool register_copy_lists(TypeList<T...>) {
  (kCopyList.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &copy_list_entry<WordOf<sizeof(T)>>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_copy_lists = register_copy_lists(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET

#endif
