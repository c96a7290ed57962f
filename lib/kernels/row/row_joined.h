// Numbers that all rows come to, of values that each row has one of, in the launch of the rows on a
// GPU: a thread keeps the sums of its rows, a block joins its threads', and the last block the
// blocks', each by a tree that shapes choose, so that no order of blocks changes a bit of what the
// rows' own give. Where a launch has no tickets, a second one joins the blocks' by the same tree.
#pragma once
#include <algorithm>

#include "kernels/last_block.h"
#include "kernels/row/row_device.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kJoiningThreads = 64;  // as many as every block has

template <class F> inline constexpr bool kJoinsRows = requires { F::first_joined; };

// Two sums and what rounding has taken from them.
template <class V> struct JoinTwoExact {
  using One = JoinExact<V>;
  struct Acc {
    typename One::Acc first, second;
  };
  FLAM_FN Acc zero() const { return {One{}.zero(), One{}.zero()}; }
  FLAM_FN Acc join(Acc a, Acc b) const {
    return {One{}.join(a.first, b.first), One{}.join(a.second, b.second)};
  }
};

// A row whose values are kept, beside being written where somebody wants each of them.
template <class F, class T, int kSlots> struct JoinedRow : DeviceRow<T, kSlots> {
  using V = Compute<T>;
  V first = 0, second = 0;
  template <class U, class G> __device__ __forceinline__ void put(int k, const G& f) {
    DeviceRow<T, kSlots>::template put<U>(k, f);
    if (k == F::first_joined) first = V(f(int64_t(0)));
    if (k == F::second_joined) second = V(f(int64_t(0)));
  }
};

// The blocks' sums, of the first kJoiningThreads threads; in all of them.
template <class V>
__device__ inline typename JoinTwoExact<V>::Acc joined_blocks(const RowArgs& a, int blocks) {
  const JoinTwoExact<V> m;
  const auto* const part = reinterpret_cast<const typename JoinTwoExact<V>::Acc*>(a.partial);
  auto sums = m.zero();
  if (int(threadIdx.x) < kJoiningThreads) {
#pragma unroll 8
    for (int b = int(threadIdx.x); b < blocks; b += kJoiningThreads) sums = m.join(sums, part[b]);
  }
  return group_join(m, sums, int(blockDim.x));
}

template <class F, class V>
__device__ __forceinline__ void put_joined(const RowArgs& a, typename JoinTwoExact<V>::Acc sums) {
  using One = JoinExact<V>;
  if (threadIdx.x == 0) F::put_joined(a, One::total(sums.first), One::total(sums.second));
}

// All threads of all blocks come here, with the sums of the rows that each of them has written.
template <class F, class V>
__device__ inline void join_rows(const RowArgs& a, typename JoinTwoExact<V>::Acc sums) {
  const JoinTwoExact<V> m;
  sums = group_join(m, sums, int(blockDim.x));
  if (gridDim.x > 1) {
    auto* const part = reinterpret_cast<typename JoinTwoExact<V>::Acc*>(a.partial);
    if (threadIdx.x == 0) part[blockIdx.x] = sums;
    if (a.tickets < 0 || !is_last_block(a.tickets, 0, gridDim.x)) return;
    sums = joined_blocks<V>(a, int(gridDim.x));
  }
  put_joined<F, V>(a, sums);
}

template <class F, class V>
__global__ void __launch_bounds__(kJoiningThreads) row_join_kernel(RowArgs a, int blocks) {
  put_joined<F, V>(a, joined_blocks<V>(a, blocks));
}

template <class F, class V> void launch_row_join(void* stream, const RowArgs& a, int64_t blocks) {
  if (blocks == 1 || a.tickets >= 0) return;
  FLAM_LAUNCH((row_join_kernel<F, V>), dim3(1), dim3(kJoiningThreads), 0, stream, a, int(blocks));
}

}  // namespace flambeau::FLAM_TARGET
