// Parts of one tensor copied by GPUs in one launch: blocks take equal shares of bytes of the parts
// one after the other, by units of 16 bytes or as many as divide a part's rows and addresses.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/fast_divide.h"
#include "kernels/map/join.h"
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kJoinThreads = 256;
inline constexpr uint32_t kJoinUnits = 4 * kJoinThreads;  // of a block

struct JoinSpace {
  int32_t parts;
  struct Part {
    char* to;
    const char* from;
    int64_t to_row, from_row;
    FastDivide of_row;                   // units
    uint32_t units, first_block, bytes;  // bytes of a unit
  } part[kJoinParts];
};
static_assert(sizeof(JoinSpace) <= 4096, "what CUDA takes as a kernel's arguments");

// Part i of all, from block `first` on.
inline JoinSpace::Part join_part(const JoinArgs& a, int i, uint32_t first) {
  const JoinArgs::Part& p = a.part[i];
  const auto together = uint64_t(uintptr_t(p.to)) | uint64_t(uintptr_t(p.from)) |
                        uint64_t(p.to_row) | uint64_t(p.from_row) | uint64_t(p.bytes);
  uint32_t bytes = 16;
  while (together % bytes) bytes /= 2;
  return {p.to,
          p.from,
          p.to_row,
          p.from_row,
          FastDivide(p.bytes / bytes),
          uint32_t(a.rows * p.bytes / bytes),
          first,
          bytes};
}

template <class Unit>
__device__ __forceinline__ void copy_units(const JoinSpace::Part& p, uint32_t first) {
  Unit unit[4];
  char* to[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t at = first + uint32_t(i * kJoinThreads), row = quotient(at, p.of_row),
                   bytes = (at - row * p.of_row.divisor) * uint32_t(sizeof(Unit));
    to[i] = at < p.units ? p.to + row * p.to_row + bytes : nullptr;
    if (to[i])
      unit[i] = load_global(reinterpret_cast<const Unit*>(p.from + row * p.from_row + bytes));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (to[i]) store_global(reinterpret_cast<Unit*>(to[i]), unit[i]);
}

__global__ void __launch_bounds__(kJoinThreads) join_kernel(const JoinSpace s) {
  int low = 0, high = s.parts - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    s.part[middle].first_block <= blockIdx.x ? low = middle : high = middle - 1;
  }
  const JoinSpace::Part p = s.part[low];
  const uint32_t first = (blockIdx.x - p.first_block) * kJoinUnits + threadIdx.x;
  switch (p.bytes) {
    case 16:
      return copy_units<uint4>(p, first);
    case 8:
      return copy_units<uint2>(p, first);
    case 4:
      return copy_units<uint32_t>(p, first);
    case 2:
      return copy_units<uint16_t>(p, first);
    default:
      return copy_units<uint8_t>(p, first);
  }
}

inline void join_parts(void* stream, const void* args) {
  const JoinArgs& a = *static_cast<const JoinArgs*>(args);
  JoinSpace s{};
  s.parts = a.parts;
  uint32_t blocks = 0;
  for (int i = 0; i < a.parts; ++i) {
    s.part[i] = join_part(a, i, blocks);
    blocks += (s.part[i].units + kJoinUnits - 1) / kJoinUnits;
  }
  FLAM_LAUNCH((join_kernel), dim3(blocks), dim3(kJoinThreads), 0, stream, s);
}

}  // namespace flambeau::FLAM_TARGET
