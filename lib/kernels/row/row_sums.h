// Sums over all rows on a GPU, behind the launch of rows that are not held (row_held_sums.h has
// those that are): of what a functor adds for each element (its `added`), and of an operand's own
// rows, in one pass over them. A thread keeps to its columns and takes every so many rows; those of
// a block are joined by a tree, and blocks by a second launch in their order.
//
// Which part of the rows a block takes is chosen by shapes alone, so that all bits repeat.
#pragma once
#include "kernels/row/row_group.h"
#include "kernels/row/row_parts.h"
#include "kernels/row/row_piece.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kPartsThreads = 8;

// Float sums keep what rounding takes from them; halves' are rounded to fewer digits than it costs.
template <class T>
using RowSum = std::conditional_t<std::is_same_v<T, float>, JoinExact<float>, JoinSum<Compute<T>>>;

template <class V> FLAM_FN V sum_term(JoinSum<V>, V v) { return v; }
template <class V> FLAM_FN auto sum_term(JoinExact<V>, V v) {
  return typename JoinExact<V>::Acc{v, V(0)};
}
template <class V> FLAM_FN V sum_total(JoinSum<V>, V v) { return v; }
template <class V> FLAM_FN V sum_total(JoinExact<V> m, typename JoinExact<V>::Acc a) {
  return m.total(a);
}

// A row as `added` sees it: of its operands a piece, of which it is asked all elements in order.
template <class T> struct ColumnsRow : RowPlace {
  template <class U> __device__ __forceinline__ auto row_of(int k) const {
    return PassedElements<T, kPieceOf<T>>{this->template place<U>(k)};
  }
  template <class U> __device__ __forceinline__ SameValue<U> each_of(int k) const {
    return {load_global(this->template place<const U>(k))};
  }
};

// A total: the operand that it becomes, and whose own rows it sums, or -1; 0: not wanted.
struct RowTotal {
  int32_t operand = 0, own = -1;
};
struct RowTotals {
  RowTotal added, rows;
  int32_t across;  // threads side by side
};

// The sums of a thread's columns over rows first, first + step, ... < stop.
template <class F, class T> struct ColumnSums {
  static constexpr int kCount = kPieceOf<T>;
  using M = RowSum<T>;
  using Acc = typename M::Acc;
  using Place = PiecePlace<int64_t>;
  Acc added[kCount], rows[kCount];

  __device__ __forceinline__ void take(const RowArgs& a, const F& f, const RowTotals& t,
                                       const Place& place, int64_t first, int64_t stop,
                                       int64_t step) {
    const M m;
    WrittenPiece<T> unused;
#pragma unroll
    for (int e = 0; e < kCount; ++e) added[e] = rows[e] = m.zero();
#pragma unroll 4
    for (int64_t row = first; row < stop; row += step) {
      const ColumnsRow<T> r{{a, row, a.n}};
      if (t.added.operand) {
        const auto term = f.added(r);
#pragma unroll
        for (int e = 0; e < kCount; ++e)
          added[e] =
              m.join(added[e], sum_term(m, term(PieceIndex<T, int64_t>{0, e, place, unused})));
      }
      if (t.rows.operand) {
        const auto own = RowPiece<T, kCount>::read(r.template place<const T>(t.rows.own), place);
#pragma unroll
        for (int e = 0; e < kCount; ++e) rows[e] = m.join(rows[e], sum_term(m, own.value(e)));
      }
    }
  }
};

// Of all threads with the same columns, which are `across` apart; in those below `across`.
template <class M, int kCount>
__device__ inline void join_down(const M& m, typename M::Acc (&own)[kCount], int across) {
  __shared__ typename M::Acc part[kCount * kSumThreads];
  const int thread = int(threadIdx.x);
  __syncthreads();
#pragma unroll
  for (int e = 0; e < kCount; ++e) part[e * kSumThreads + thread] = own[e];
  for (int half = kSumThreads / 2; half >= across; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      own[e] = m.join(own[e], part[e * kSumThreads + thread + half]);
      part[e * kSumThreads + thread] = own[e];
    }
  }
}

// Sums of a part of the rows go to a.partial, [total, part, n] in the compute type.
template <class F, class T>
__device__ __forceinline__ void write_sums(const RowArgs& a, const RowTotal& total, int index,
                                           const PiecePlace<int64_t>& place,
                                           typename RowSum<T>::Acc (&own)[kPieceOf<T>],
                                           int across) {
  using V = Compute<T>;
  const RowSum<T> m;
  join_down(m, own, across);
  if (int(threadIdx.x) >= across || !place.any()) return;
  V* const partial =
      reinterpret_cast<V*>(a.partial) + (index * int64_t(a.parts) + blockIdx.y) * a.n;
#pragma unroll
  for (int e = 0; e < kPieceOf<T>; ++e) {
    if (!place.holds(e)) continue;
    const V v = sum_total(m, own[e]);
    if (a.parts > 1) {
      store_global(partial + place.at(e), v);
    } else {
      store_global(reinterpret_cast<T*>(a.data[total.operand]) + place.at(e), narrow<T>(v));
    }
  }
}

template <class F, class T>
__global__ void __launch_bounds__(kSumThreads)
    row_sums_kernel(RowArgs a, F f, RowTotals t, bool whole_pieces) {
  constexpr int kCount = kPieceOf<T>;
  const int lane = int(threadIdx.x) % t.across, down = int(threadIdx.x) / t.across;
  const int64_t part_rows = (a.rows + a.parts - 1) / a.parts, begin = blockIdx.y * part_rows;
  const int64_t stop = begin + part_rows < a.rows ? begin + part_rows : a.rows;
  const int64_t step = kSumThreads / t.across, column = blockIdx.x * int64_t(t.across) * kCount;
  ColumnSums<F, T> sums;
  PiecePlace<int64_t> place{whole_pieces, column + (whole_pieces ? lane * kCount : lane),
                            whole_pieces ? 1 : t.across, a.n};
  const int64_t end = place.any() ? stop : 0;
  if (whole_pieces) {  // each its own loop, so that several rows' pieces are asked for at once
    place.whole = true;
    sums.take(a, f, t, place, begin + down, end, step);
  } else {
    place.whole = false;
    sums.take(a, f, t, place, begin + down, end, step);
  }
  if (t.added.operand) write_sums<F, T>(a, t.added, 0, place, sums.added, t.across);
  if (t.rows.operand)
    write_sums<F, T>(a, t.rows, t.added.operand ? 1 : 0, place, sums.rows, t.across);
}

// 32 columns a block, kPartsThreads threads for each.
template <class T>
__global__ void __launch_bounds__(32 * kPartsThreads) row_parts_kernel(RowArgs a, int2 operand) {
  using V = Compute<T>;
  const RowSum<T> m;
  __shared__ typename RowSum<T>::Acc part[kPartsThreads][32];
  const int64_t column = blockIdx.x * int64_t(32) + threadIdx.x;
  const V* from = reinterpret_cast<const V*>(a.partial) + blockIdx.y * int64_t(a.parts) * a.n;
  auto total = m.zero();
#pragma unroll 4
  for (int p = int(threadIdx.y); p < (column < a.n ? a.parts : 0); p += kPartsThreads)
    total = m.join(total, sum_term(m, load_global(from + p * a.n + column)));
  part[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y || column >= a.n) return;
  for (int p = 1; p < kPartsThreads; ++p) total = m.join(total, part[p][threadIdx.x]);
  T* const to = reinterpret_cast<T*>(a.data[blockIdx.y ? operand.y : operand.x]);
  store_global(to + column, narrow<T>(sum_total(m, total)));
}

inline RowTotals totals_of(const RowArgs& a) {
  RowTotals t{};
  for (int k = 0; k < a.operands; ++k) {
    if (a.role[k] != RowRole::total || !a.data[k]) continue;
    (a.of[k] < 0 ? t.added : t.rows) = {k, a.of[k]};
  }
  return t;
}

template <class F, class T>
void row_sums(void* stream, const RowArgs& a, const F& f, bool whole_pieces) {
  RowTotals t = totals_of(a);
  const bool both = t.added.operand && t.rows.operand;
  if (!t.added.operand && !t.rows.operand) return;
  t.across = row_sums_across(a.n, int(sizeof(T)));
  const int64_t columns = t.across * kPieceOf<T>;
  FLAM_LAUNCH((row_sums_kernel<F, T>),
              dim3(unsigned((a.n + columns - 1) / columns), unsigned(a.parts)), dim3(kSumThreads),
              0, stream, a, f, t, whole_pieces);
  if (a.parts == 1) return;
  const int first = t.added.operand ? t.added.operand : t.rows.operand;
  FLAM_LAUNCH((row_parts_kernel<T>), dim3(unsigned((a.n + 31) / 32), both ? 2 : 1),
              dim3(32, kPartsThreads), 0, stream, a, make_int2(first, t.rows.operand));
}

}  // namespace flambeau::FLAM_TARGET
