// One head of an operand of attention, and the end of a block of its queries: what their weights
// have mixed, divided by the sums of the weights, goes to the output.
#pragma once
#include "kernels/attention/attention.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// One head's part of an operand.
template <class T> struct HeadView {
  const T* data;
  int64_t row, col;

  HeadView(const AttentionOperand& o, int64_t batch, int64_t head)
      : data(reinterpret_cast<const T*>(o.data) + batch * o.batch + head * o.head),
        row(o.row),
        col(o.col) {}
};

// Rows of value_width each; a query that sees no key has a sum of 0.
template <class T>
void give_rows(const AttentionArgs& g, int64_t batch, int64_t head, int64_t from, int64_t n,
               const Compute<T>* mixed, const double* sum) {
  using V = Compute<T>;
  T* out =
      reinterpret_cast<T*>(g.out.data) + batch * g.out.batch + head * g.out.head + from * g.out.row;
  for (int64_t i = 0; i < n; ++i, out += g.out.row, mixed += g.value_width) {
    const V scale = sum[i] == 0 ? V(0) : V(1 / sum[i]);
    if (g.out.col == 1) {
      for (int64_t e = 0; e < g.value_width; ++e) out[e] = narrow<T>(mixed[e] * scale);
    } else {
      for (int64_t e = 0; e < g.value_width; ++e) out[e * g.out.col] = narrow<T>(mixed[e] * scale);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
