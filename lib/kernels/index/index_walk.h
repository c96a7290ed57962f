// Where an element of an indexed walk stands on both sides, and how far the index lists move it.
// An index is checked wherever it is looked at, so that none that is out of range is followed.
#pragma once
#include "kernels/index/index.h"
#include "kernels/index/index_update.h"

namespace flambeau::FLAM_TARGET {

// Bytes by which the lists move the target, at `place[l]` bytes into list l.
FLAM_KERNEL_FN int64_t listed_offset(const IndexArgs& a, const int64_t* place) {
  int64_t offset = 0;
  for (int l = 0; l < a.lists; ++l) {
    const IndexList& list = a.list[l];
    const int64_t index = *reinterpret_cast<const int64_t*>(list.data + place[l]);
    const int64_t at = index < 0 && list.from_end ? index + list.size : index;
    offset += in_range(a.op, a.report, at, index, list.dim, list.size) * list.step;
  }
  return offset;
}

// Where element i of the walk stands on both sides and in every list.
struct WalkPlace {
  int64_t dst = 0, src = 0, list[kIndexLists] = {};
};
// Dimensions first to last - 1 of the walk, at their element i.
FLAM_KERNEL_FN WalkPlace walk_place(const IndexArgs& a, int64_t i, int first, int last) {
  WalkPlace p;
  for (int d = last - 1; d >= first; --d) {
    const int64_t outer = d > first ? i / a.size[d] : 0, at = i - outer * a.size[d];
    p.dst += at * a.dst_stride[d];
    p.src += at * a.src_stride[d];
    for (int l = 0; l < a.lists; ++l) p.list[l] += at * a.list[l].stride[d];
    i = outer;
  }
  return p;
}

FLAM_KERNEL_FN WalkPlace walk_place(const IndexArgs& a, int64_t i) {
  return walk_place(a, i, 0, a.ndim);
}

// What elements of a size are moved as.
struct alignas(16) Word16 {
  uint64_t half[2];
};
template <size_t Bytes>
using Word = std::conditional_t<
    Bytes == 1, uint8_t,
    std::conditional_t<Bytes == 2, uint16_t,
                       std::conditional_t<Bytes == 4, uint32_t,
                                          std::conditional_t<Bytes == 8, uint64_t, Word16>>>>;

// Read moves the source, everything else the destination.
struct ReadPlace : SetPlace {};
template <class F> inline constexpr bool kReads = std::is_same_v<F, ReadPlace>;
template <class F> using Update = std::conditional_t<kReads<F>, SetPlace, F>;

}  // namespace flambeau::FLAM_TARGET
