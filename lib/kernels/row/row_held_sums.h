// Sums over all rows on a GPU, in the launch of rows that are held: threads add what they hold to
// sums of their own, so that the rows are read once. A block takes a part of the rows, which shapes
// choose; the last block of each group of parts joins that group's sums, and the last of these the
// groups', both in their order, so that no order of blocks changes a bit. Where a launch has no
// tickets, a second one joins them in the same order.
#pragma once
#include "kernels/last_block.h"
#include "kernels/row/row_device.h"
#include "kernels/row/row_sums.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kGroupParts = 16;  // that one block joins

// A held row, of whose operands the functor may ask again without another read.
template <class F, class T> struct SummedRow : DeviceRow<T, kHeldSlots> {
  using Held = HeldElements<T, kHeldSlots>;
  Held first, second;
  template <class U> __device__ __forceinline__ auto row_of(int k) const {
    if constexpr (std::is_const_v<U>) {
      return k == F::first_row ? first : second;
    } else {
      return DeviceRow<T, kHeldSlots>::template row_of<U>(k);
    }
  }
};

// The sums of a thread's elements over the rows that it has had a share of.
template <class F, class T> struct HeldSums {
  static constexpr int kCount = kPieceOf<T>;
  using M = RowSum<T>;
  using Acc = typename M::Acc;
  Acc added[kHeldSlots][kCount], rows[kHeldSlots][kCount];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int s = 0; s < kHeldSlots; ++s) {
#pragma unroll
      for (int e = 0; e < kCount; ++e) added[s][e] = rows[s][e] = M{}.zero();
    }
  }
  __device__ __forceinline__ void take(const F& f, const SummedRow<F, T>& r, const RowTotals& t) {
    const M m;
    if (t.added.operand) {
      const auto term = f.added(r);
      r.each([&](const auto& i) {
        Acc& sum = added[i.slot][i.element];
        sum = m.join(sum, sum_term(m, term(i)));
      });
    }
    if (t.rows.operand) {
      r.each([&](const auto& i) {
        Acc& sum = rows[i.slot][i.element];
        sum = m.join(sum, sum_term(m, load(r.first + i)));
      });
    }
  }
};

template <class V> inline constexpr int kPartWidth = 16 / int(sizeof(V));  // columns at once

template <class T>
__device__ __forceinline__ Compute<T>* part_of(const RowArgs& a, int index, int64_t part) {
  return reinterpret_cast<Compute<T>*>(a.partial) + (index * int64_t(a.held_parts) + part) * a.n;
}

template <class T>
__device__ __forceinline__ void put_total(const RowArgs& a, const RowTotal& total, int64_t column,
                                          Compute<T> v) {
  store_global(reinterpret_cast<T*>(a.data[total.operand]) + column, narrow<T>(v));
}

// What the block's rows come to: a part's sums, or the total where there is one part.
template <class T>
__device__ __forceinline__ void write_part(
    const RowArgs& a, const RowTotal& total, int index, int threads,
    typename RowSum<T>::Acc (&sums)[kHeldSlots][kPieceOf<T>]) {
  using V = Compute<T>;
  constexpr int kCount = kPieceOf<T>, kWidth = kPartWidth<V>;
  const RowSum<T> m;
#pragma unroll
  for (int s = 0; s < kHeldSlots; ++s) {
    if (threads < kSumThreads) join_down(m, sums[s], threads);
    const int64_t column = (s * threads + int(threadIdx.x)) * int64_t(kCount);
    if (int(threadIdx.x) >= threads || column >= a.n) continue;
    V v[kCount];
#pragma unroll
    for (int e = 0; e < kCount; ++e) v[e] = sum_total(m, sums[s][e]);
    if (a.held_parts == 1) {
#pragma unroll
      for (int e = 0; e < kCount; ++e) put_total<T>(a, total, column + e, v[e]);
      continue;
    }
    V* const to = part_of<T>(a, index, blockIdx.x) + column;
#pragma unroll
    for (int e = 0; e < kCount; e += kWidth) {
      Chunk<V, kWidth> c{};
#pragma unroll
      for (int i = 0; i < kWidth; ++i) c.put(i, v[e + i]);
      c.to(to + e);
    }
  }
}

// The sum of parts first, first + step, ... < stop in kPartWidth columns.
template <class T>
__device__ __forceinline__ auto joined_parts(const RowArgs& a, int index, int64_t column, int first,
                                             int stop, int step) {
  using V = Compute<T>;
  constexpr int kWidth = kPartWidth<V>;
  const RowSum<T> m;
  typename RowSum<T>::Acc sums[kWidth];
#pragma unroll
  for (int e = 0; e < kWidth; ++e) sums[e] = m.zero();
#pragma unroll 4
  for (int p = first; p < stop; p += step) {
    const auto part = Chunk<V, kWidth>::from(part_of<T>(a, index, p) + column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) sums[e] = m.join(sums[e], sum_term(m, part.element(e)));
  }
  struct {
    V v[kWidth];
  } all;
#pragma unroll
  for (int e = 0; e < kWidth; ++e) all.v[e] = sum_total(m, sums[e]);
  return all;
}

// One block joins parts: of a group into the place of its first, or groups into the total.
template <class T>
__device__ inline void join_parts(const RowArgs& a, const RowTotal& total, int index, int first,
                                  int stop, int step, bool last) {
  using V = Compute<T>;
  constexpr int kWidth = kPartWidth<V>;
#pragma unroll 1
  for (int64_t c = int(threadIdx.x) * kWidth; c < a.n; c += int(blockDim.x) * kWidth) {
    const auto all = joined_parts<T>(a, index, c, first, stop, step);
    if (last) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) put_total<T>(a, total, c + e, all.v[e]);
    } else {
      Chunk<V, kWidth> joined{};
#pragma unroll
      for (int e = 0; e < kWidth; ++e) joined.put(e, all.v[e]);
      joined.to(part_of<T>(a, index, first) + c);
    }
  }
}

template <class T>
__device__ inline void join_both(const RowArgs& a, const RowTotals& t, int first, int stop,
                                 int step, bool last) {
  if (t.added.operand) join_parts<T>(a, t.added, 0, first, stop, step, last);
  if (t.rows.operand) join_parts<T>(a, t.rows, t.added.operand ? 1 : 0, first, stop, step, last);
}

// By the block that comes last of its group, then by the last of these.
template <class T> __device__ inline void join_by_last(const RowArgs& a, const RowTotals& t) {
  const int parts = a.held_parts, group = int(blockIdx.x) / kGroupParts,
            groups = (parts + kGroupParts - 1) / kGroupParts, first = group * kGroupParts;
  const int stop = first + kGroupParts < parts ? first + kGroupParts : parts;
  if (!is_last_block(a.tickets, group, unsigned(stop - first))) return;
  join_both<T>(a, t, first, stop, 1, groups == 1);
  if (groups == 1 || !is_last_block(a.tickets, kTickets - 1, unsigned(groups))) return;
  join_both<T>(a, t, 0, parts, kGroupParts, true);
}

template <template <class> class F, class T>
__global__ void __launch_bounds__(kMostHeldThreads)
    held_sums_kernel(RowArgs a, F<T> f, RowTotals t, int threads) {
  const int share = int(threadIdx.x) / threads, thread = int(threadIdx.x) % threads;
  const int64_t at_once = int(blockDim.x) / threads,
                part_rows = (a.rows + a.held_parts - 1) / a.held_parts,
                begin = blockIdx.x * part_rows;
  const int64_t stop = begin + part_rows < a.rows ? begin + part_rows : a.rows;
  HeldSums<F<T>, T> sums;
  sums.clear();
#pragma unroll 1
  for (int64_t first = begin; first < stop; first += at_once) {
    const int64_t own = first + share, row = own < stop ? own : stop - 1;
    const DeviceRow<T, kHeldSlots> place{{a, row, a.n}, threads, thread, true, own < stop};
    SummedRow<F<T>, T> r{place, place.template row_of<const T>(F<T>::first_row),
                         place.template row_of<const T>(F<T>::second_row)};
    f(r);
    if (r.active) sums.take(f, r, t);
  }
  if (t.added.operand) write_part<T>(a, t.added, 0, threads, sums.added);
  if (t.rows.operand) write_part<T>(a, t.rows, t.added.operand ? 1 : 0, threads, sums.rows);
  if (a.held_parts > 1 && a.tickets >= 0) join_by_last<T>(a, t);
}

// The same joins without tickets, a thread for kPartWidth columns.
template <class T> __global__ void __launch_bounds__(kSumThreads)
    held_join_kernel(RowArgs a, RowTotals t) {
  using V = Compute<T>;
  constexpr int kWidth = kPartWidth<V>;
  const int64_t column = (blockIdx.x * int64_t(kSumThreads) + threadIdx.x) * kWidth;
  if (column >= a.n) return;
  const RowTotal& total = blockIdx.y || !t.added.operand ? t.rows : t.added;
  const RowSum<T> m;
  typename RowSum<T>::Acc sums[kWidth];
#pragma unroll
  for (int e = 0; e < kWidth; ++e) sums[e] = m.zero();
#pragma unroll 1
  for (int first = 0; first < a.held_parts; first += kGroupParts) {
    const int stop = first + kGroupParts < a.held_parts ? first + kGroupParts : a.held_parts;
    const auto group = joined_parts<T>(a, int(blockIdx.y), column, first, stop, 1);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) sums[e] = m.join(sums[e], sum_term(m, group.v[e]));
  }
#pragma unroll
  for (int e = 0; e < kWidth; ++e) put_total<T>(a, total, column + e, sum_total(m, sums[e]));
}

// Whether a launch wants sums, and of rows that its threads hold.
template <class F> bool sums_held(const RowArgs& a) {
  const RowTotals t = totals_of(a);
  const bool own = !t.rows.operand || t.rows.own == F::first_row;
  return a.held_parts > 0 && (t.added.operand || t.rows.operand) && own;
}

template <template <class> class F, class T>
void launch_held_sums(void* stream, const RowArgs& a, const F<T>& f, int threads) {
  static_assert(kMostHeldThreads % kSumThreads == 0);
  constexpr int kWidth = kPartWidth<Compute<T>>;
  const RowTotals t = totals_of(a);
  FLAM_LAUNCH((held_sums_kernel<F, T>), dim3(unsigned(a.held_parts)),
              dim3(unsigned(std::max(threads, kSumThreads))), 0, stream, a, f, t, threads);
  if (a.held_parts == 1 || a.tickets >= 0) return;
  const int64_t threads_wanted = a.n / kWidth;
  FLAM_LAUNCH((held_join_kernel<T>),
              dim3(unsigned((threads_wanted + kSumThreads - 1) / kSumThreads),
                   t.added.operand && t.rows.operand ? 2 : 1),
              dim3(kSumThreads), 0, stream, a, t);
}

}  // namespace flambeau::FLAM_TARGET
