// The loop over rows of a GPU, around a functor: how many threads share a row, and whether its
// pieces are whole, follow from what the launch is given; sums over all rows come with it where
// rows are held (row_held_sums.h), else by launches of their own behind it (row_sums.h); numbers
// that all rows come to, always with it (row_joined.h).
#pragma once
#include <algorithm>

#include "kernels/row/row_device.h"
#include "kernels/row/row_held_sums.h"
#include "kernels/row/row_joined.h"
#include "kernels/row/row_sums.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kRowThreads = 128, kRowBlocks = 65535;

// Pieces of each operand in a thread's registers. Norms' gradients hold two operands and a weight.
template <class F> inline constexpr int kSlotsOf = requires { F::adds_rows; } ? kHeldSlots : 4;

template <template <class> class F, class T, int kSlots>
__device__ __forceinline__ void each_row(const RowArgs& a, const F<T>& f, int threads, bool whole) {
  using V = Compute<T>;
  [[maybe_unused]] const JoinTwoExact<V> m;
  [[maybe_unused]] auto sums = m.zero();
  const int share = int(threadIdx.x) / threads, thread = int(threadIdx.x) % threads;
  const int64_t at_once = int(blockDim.x) / threads, step = gridDim.x * at_once;
  for (int64_t first = blockIdx.x * at_once; first < a.rows; first += step) {
    const int64_t own = first + share, row = own < a.rows ? own : a.rows - 1;
    const DeviceRow<T, kSlots> place{{a, row, a.n}, threads, thread, whole, own < a.rows};
    if constexpr (kJoinsRows<F<T>>) {
      JoinedRow<F<T>, T, kSlots> r{place};
      f(r);
      if (r.active && thread == 0) sums = m.join(sums, {{r.first, V(0)}, {r.second, V(0)}});
    } else {
      DeviceRow<T, kSlots> r = place;
      f(r);
    }
  }
  if constexpr (kJoinsRows<F<T>>)
    if (a.partial) join_rows<F<T>, V>(a, sums);
}

// Blocks of a multiprocessor where rows are passed: said, so that no register goes to memory for
// the sake of more. Norms' gradients pass too much for two.
template <class F> inline constexpr int kPassingBlocks = requires { F::adds_rows; } ? 1 : 2;

template <template <class> class F, class T, int kSlots>
__global__ void __launch_bounds__(kSlots ? kMostRowThreads : kLongRowThreads,
                                  kSlots ? 0 : kPassingBlocks<F<T>>)
    row_kernel(RowArgs a, F<T> f, int threads, bool whole_pieces) {
  if (kSlots || whole_pieces) {  // each its own loop, which knows how it accesses memory
    each_row<F, T, kSlots>(a, f, threads, true);
  } else {
    each_row<F, T, kSlots>(a, f, threads, false);
  }
}

// Whether every row of every operand begins on a boundary of 16 bytes and ends on one.
template <class T> bool has_whole_pieces(const RowArgs& a) {
  bool whole = a.n % kPieceOf<T> == 0;
  for (int k = 0; k < a.operands; ++k) {
    if (!a.data[k] || (a.role[k] != RowRole::row && a.role[k] != RowRole::shared)) continue;
    whole &= reinterpret_cast<uintptr_t>(a.data[k]) % 16 == 0 && a.stride[k] % 16 == 0;
  }
  return whole;
}

template <class F> F device_functor(const double* p) {
  if constexpr (std::is_empty_v<F>) {
    return F{};
  } else if constexpr (requires { F(p[0], p[1]); }) {
    return F(p[0], p[1]);
  } else {
    return F(p[0]);
  }
}

template <template <class> class F, class T, int kSlots>
void launch_rows(void* stream, const RowArgs& a, const F<T>& f, int threads, bool whole) {
  const int block = threads > 32 ? threads : kRowThreads;  // a group of warps has the block alone
  const int64_t at_once = block / threads, wanted = (a.rows + at_once - 1) / at_once;
  const bool joins = kJoinsRows<F<T>> && a.partial;  // of no rows, too
  const int64_t blocks =
      joins ? std::clamp<int64_t>(wanted, 1, kJoinedBlocks) : std::min<int64_t>(wanted, kRowBlocks);
  if (blocks == 0) return;
  FLAM_LAUNCH((row_kernel<F, T, kSlots>), dim3(unsigned(blocks)), dim3(unsigned(block)), 0, stream,
              a, f, threads, whole);
  if constexpr (kJoinsRows<F<T>>)
    if (joins) launch_row_join<F<T>, Compute<T>>(stream, a, blocks);
}

template <template <class> class F, class T> void row_entry(void* stream, const void* p) {
  const RowArgs& a = *static_cast<const RowArgs*>(p);
  const F<T> f = device_functor<F<T>>(a.params);
  const bool whole = has_whole_pieces<T>(a);
  constexpr int kSlots = kSlotsOf<F<T>>;
  const int threads = threads_of_row((a.n + kPieceOf<T> - 1) / kPieceOf<T>, kSlots);
  if constexpr (requires { F<T>::adds_rows; }) {
    if (whole && sums_held<F<T>>(a)) return launch_held_sums<F, T>(stream, a, f, threads);
  }
  if (whole && threads <= kMostRowThreads) {
    launch_rows<F, T, kSlots>(stream, a, f, threads, whole);
  } else {
    launch_rows<F, T, 0>(stream, a, f, std::min(threads, kLongRowThreads), whole);
  }
  if constexpr (requires { F<T>::adds_rows; }) row_sums<F<T>, T>(stream, a, f, whole);
}

}  // namespace flambeau::FLAM_TARGET
