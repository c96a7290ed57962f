// Products of operands that are packed whole by their caller, who keeps them for several products:
// on the calling thread, each element a sum in the order of k.
#pragma once
#include "kernels/gemm/gemm_block.h"

namespace flambeau::FLAM_TARGET {

template <class C> constexpr int64_t packed_columns(int64_t n) {
  return (n + kLanes<C> - 1) / kLanes<C> * kLanes<C>;
}
template <class C> constexpr int64_t packed_rows(int64_t m) {
  return (m + kStripRows<C> - 1) / kStripRows<C> * kStripRows<C>;
}

// Rows of a: packed_rows(m) * k elements.
template <class A> void pack_rows(typename A::C* to, const A& a, int64_t m, int64_t k) {
  constexpr int64_t strip = kStripRows<typename A::C>;
  for (int64_t row = 0; row < m; row += strip) {
    const int width = int(std::min(strip, m - row));
    a.pack(to + row * k, width, row, width, width, 0, k);
  }
}

// Columns of b: packed_columns(n) * k elements.
template <class B> void pack_columns(typename B::C* to, const B& b, int64_t n, int64_t k) {
  using C = typename B::C;
  constexpr int64_t strip = kMicroColumns<C>;
  for (int64_t column = 0; column < n; column += strip) {
    const int width = int(std::min(strip, n - column)), padded = int(packed_columns<C>(width));
    b.pack(to + column * k, padded, column, width, padded, 0, k);
  }
}

template <class C> struct PackedProduct {
  int64_t m, n, k;
  const C* a;
  int64_t a_rows, a_depth;  // rows packed; or a_depth: a's columns are dense, so far apart
  const C* b;
  int64_t b_depth;  // packed, at least k
  Sum<C>* out;
  int64_t out_row;
};

// A slab of k at a time; packed rows have one, for their strips are as long as k.
template <class C> void multiply_packed(const PackedProduct<C>& g) {
  [[maybe_unused]] const typename Steps<C>::Session session;
  const int64_t depth = g.a_depth ? kDepth : g.k;
  for (int64_t p = 0; p < g.k; p += depth) {
    for (int64_t column = 0; column < g.n; column += kMicroColumns<C>) {
      const int64_t width = std::min<int64_t>(kMicroColumns<C>, g.n - column),
                    padded = packed_columns<C>(width);
      MicroArgs<C> s{};
      s.k = std::min(depth, g.k - p);
      s.last = int(width - padded + kLanes<C>);
      s.b = g.b + column * g.b_depth + p * padded;
      s.b_depth = padded;
      s.out_row = s.init_row = g.out_row;
      for (int64_t row = 0; row < g.m; row += kStripRows<C>) {
        const int64_t height = std::min<int64_t>(kStripRows<C>, g.m - row);
        s.rows = int(height);
        s.a = g.a_depth ? g.a + row + p * g.a_depth : g.a + row * g.k;
        s.a_row = 1;
        s.a_depth = g.a_depth ? g.a_depth : std::min<int64_t>(kStripRows<C>, g.a_rows - row);
        s.out = g.out + row * g.out_row + column;
        s.init = p ? s.out : nullptr;
        Steps<C>::find(int(height), int(padded / kLanes<C>), false)(s);
      }
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
