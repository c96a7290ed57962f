// A row on a GPU, as a functor sees it. Threads of a warp share a short one, a block a long one;
// each holds kSlots pieces of every operand in registers, so that memory is read once. Rows that
// are longer than a block can hold, or not made of whole pieces, are passed (kSlots 0): read once
// for their sums, whatever a functor takes of them there, and once more for what is written.
#pragma once
#include "kernels/row/row_group.h"
#include "kernels/row/row_piece.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kLongRowThreads = 512;

template <class T, int kSlots> struct DeviceRow : RowPlace {
  using V = Compute<T>;
  using Wide = V;  // arithmetic of elements; sums are trees, which are accurate by themselves
  using Int = std::conditional_t<kSlots != 0, int32_t, int64_t>;
  using Place = PiecePlace<Int>;
  using Index = PieceIndex<T, Int>;
  static constexpr bool kUnrolled = true;  // an option inside a loop costs one test a piece
  static constexpr bool kPasses = kSlots == 0;
  static constexpr int kCount = kPieceOf<T>;
  template <class U> static constexpr bool keeps = !kPasses;

  int threads, thread;        // that share the row, and which of them this is
  bool whole_pieces, active;  // inactive: a copy of another's work, which writes nothing

  // ---- operands ----
  template <class U> __device__ __forceinline__ auto row_of(int k) const {
    if constexpr (!std::is_const_v<U>) {
      return WrittenElements<U>{this->template place<U>(k)};
    } else if constexpr (kPasses) {
      return PassedElements<T, kCount>{this->template place<U>(k)};
    } else {
      HeldElements<T, kSlots> x{this->template place<U>(k), {}};
#pragma unroll
      for (int s = 0; s < kSlots; ++s) x.slot[s] = RowPiece<T, kCount>::read(x.p, piece(s));
      return x;
    }
  }
  template <class U> __device__ __forceinline__ auto shared_of(int k) const {
    using Shared = std::remove_const_t<U>;
    return PassedElements<Shared, kCount>{a.data[k] ? this->template place<const Shared>(k)
                                                    : nullptr};
  }
  template <class U> __device__ __forceinline__ SameValue<U> each_of(int k) const {
    return {a.data[k] ? load_global(this->template place<const U>(k)) : U(0)};
  }
  template <class Y> __device__ __forceinline__ auto keep(const Y&) const {
    return KeptElements<V, kSlots ? kSlots : 1, kCount>{};
  }

  // ---- values of the row ----
  template <class F> __device__ __forceinline__ auto value(const F& f) const {
    return same_value(f(int64_t(0)));
  }
  template <class F> __device__ __forceinline__ void for_rows(const F& f) const {
    threads > 32 ? __syncthreads() : __syncwarp();  // behind what others have written
    if (thread == 0 && active) f(int64_t(0));
  }
  template <class U, class F> __device__ __forceinline__ void put(int k, const F& f) const {
    if (thread == 0 && active && a.data[k])
      store_global(this->template place<U>(k), U(f(int64_t(0))));
  }

  // ---- loops ----
  template <class F> __device__ __forceinline__ void each(const F& f) const {
    pieces([&](int s, const Place& place) {
      WrittenPiece<T> written;
#pragma unroll
      for (int e = 0; e < kCount; ++e) f(Index{s, e, place, written});
      if (active) written.write(place);
    });
  }
  template <class X, class F>
  __device__ __forceinline__ void each_standard(const X& x, SameValue<V> mean, SameValue<V> rstd,
                                                const F& f) const {
    each([&](const Index& i) { f(i, (load(x + i) - mean.v) * rstd.v); });
  }

  template <class F> __device__ __forceinline__ SameValue<V> greatest(const F& f) const {
    const JoinGreatest<V> m;
    V top = m.zero();
    pieces([&](int s, const Place& place) {
      V v[kCount];
      values(s, place, v, m.zero(), f);
      top = m.join(top, tree(m, v));
    });
    return {group_join(m, top, threads)};
  }

  template <class F> __device__ __forceinline__ SameValue<V> sum(const F& f) const {
    if constexpr (kPasses) {
      const JoinExact<V> m;
      auto total = m.zero();
      pieces(
          [&](int s, const Place& place) { total = m.join(total, {piece_sum(s, place, f), 0}); });
      return {m.total(group_join(m, total, threads))};
    } else {
      V total = 0;
      pieces([&](int s, const Place& place) { total += piece_sum(s, place, f); });
      return {group_join(JoinSum<V>{}, total, threads)};
    }
  }
  template <class F, class G>
  __device__ __forceinline__ TwoSums<SameValue<V>> sums(const F& f, const G& g) const {
    TwoSums<V> total{};
    if constexpr (kPasses) {
      const JoinExact<V> m;
      auto first = m.zero(), second = m.zero();
      pieces([&](int s, const Place& place) {
        first = m.join(first, {piece_sum(s, place, f), 0});
        second = m.join(second, {piece_sum(s, place, g), 0});
      });
      total = {m.total(group_join(m, first, threads)), m.total(group_join(m, second, threads))};
    } else {
      pieces([&](int s, const Place& place) {
        total.first += piece_sum(s, place, f);
        total.second += piece_sum(s, place, g);
      });
      total = group_join(JoinTwoSums<V>{}, total, threads);
    }
    return {{total.first}, {total.second}};
  }
  template <class X> __device__ __forceinline__ SameValue<V> sum_of(const X& x) const {
    return sum([&](const Index& i) { return load(x + i); });
  }
  template <class X>
  __device__ __forceinline__ SameValue<V> squares(const X& x, SameValue<V> centre) const {
    return sum([&](const Index& i) {
      const V d = load(x + i) - centre.v;
      return d * d;
    });
  }

  // ---- what would need two passes over a row that is not held ----

  // Of x - greatest: the greatest and the sum of exponentials.
  template <class X, class Exp> __device__ __forceinline__ auto exponentials(const X& x,
                                                                             const Exp& exp) const {
    const JoinExponentials<V, Exp> m{exp};
    const JoinGreatest<V> greater;
    auto all = m.zero();
    pieces([&](int s, const Place& place) {
      V v[kCount];
      values(s, place, v, greater.zero(), [&](const Index& i) { return load(x + i); });
      const V top = greater.join(all.top, tree(greater, v)), base = m.base(top);
#pragma unroll
      for (int e = 0; e < kCount; ++e) v[e] = exp(v[e] - base);
      all = {top, m.scaled(all, top) + tree(JoinSum<V>{}, v)};
    });
    all = group_join(m, all, threads);
    return TwoSums<SameValue<V>>{{all.top}, {all.sum}};
  }

  // Mean and squared distances from it: from the mean of a thread's first piece first, which is as
  // near as it takes.
  template <class X> __device__ __forceinline__ auto moments(const X& x) const {
    const auto element = [&](const Index& i) { return load(x + i); };
    V count = 0, centre = 0, along = 0, squares = 0;
    pieces([&](int s, const Place& place) {
      V own = 0, v[kCount];
#pragma unroll
      for (int e = 0; e < kCount; ++e) own += place.holds(e);
      values(s, place, v, V(0), element);
      if (count == 0) centre = tree(JoinSum<V>{}, v) / own;
      V square[kCount];
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        v[e] = place.holds(e) ? v[e] - centre : V(0);
        square[e] = v[e] * v[e];
      }
      count += own;
      along += tree(JoinSum<V>{}, v);
      squares += tree(JoinSum<V>{}, square);
    });
    const V off = count == 0 ? V(0) : along / count;
    const auto all =
        group_join(JoinMoments<V>{}, {count, centre + off, squares - along * off}, threads);
    return TwoSums<SameValue<V>>{{all.mean}, {all.squares}};
  }

 private:
  // The s-th piece that this thread has.
  __device__ __forceinline__ Place piece(Int s) const {
    if (whole_pieces || !kPasses) return {true, (s * threads + thread) * kCount, 1, Int(n)};
    return {false, s * threads * kCount + thread, Int(threads), Int(n)};
  }

  // f(slot, place) of every piece; of a row that is passed two are under way at once.
  template <class F> __device__ __forceinline__ void pieces(const F& f) const {
    if constexpr (kPasses) {
      if (whole_pieces) {
#pragma unroll 2
        for (Int s = 0; piece(s).any(); ++s) f(0, piece(s));
      } else {
#pragma unroll 1
        for (Int s = 0; piece(s).any(); ++s) f(0, piece(s));
      }
    } else {
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        const Place place = piece(s);
        if (place.any()) f(s, place);
      }
    }
  }

  template <class F>
  __device__ __forceinline__ void values(int s, const Place& place, V (&v)[kCount], V none,
                                         const F& f) const {
    WrittenPiece<T> unused;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      const V own = V(f(Index{s, e, place, unused}));
      v[e] = place.holds(e) ? own : none;
    }
  }
  template <class M> static __device__ __forceinline__ V tree(const M& m, const V (&all)[kCount]) {
    V v[kCount];
    memcpy(v, all, sizeof v);
#pragma unroll
    for (int half = kCount / 2; half; half /= 2) {
#pragma unroll
      for (int e = 0; e < half; ++e) v[e] = m.join(v[e], v[e + half]);
    }
    return v[0];
  }
  template <class F>
  __device__ __forceinline__ V piece_sum(int s, const Place& place, const F& f) const {
    V v[kCount];
    values(s, place, v, V(0), f);
    return tree(JoinSum<V>{}, v);
  }
};

}  // namespace flambeau::FLAM_TARGET
