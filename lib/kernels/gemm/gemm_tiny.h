// Batches of products of a few multiply-adds each, of which setting up a blocked or a vector
// product would take the most: each element is one chain in the order of k, from operands where
// they lie.
#pragma once
#include <algorithm>

#include "kernels/gemm/gemm_value.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int64_t kTinyWork = 64;

inline bool is_tiny(const GemmArgs& g) { return g.m * g.n * g.k <= kTinyWork && g.k > 0; }

// Operands of consecutive products: a batch's place is found by divisions only where a run of the
// innermost dimension begins.
template <class T> struct TinyOperands {
  const T *a, *b, *c;
  T* out;

  TinyOperands(const GemmArgs& g, int64_t batch)
      : a(at(g, g.a, batch)),
        b(at(g, g.b, batch)),
        c(at(g, g.c, batch)),
        out(at(g, g.out, batch)) {}

  void advance(const GemmArgs& g) {
    const int d = g.batch_ndim - 1;
    a += g.a.batch[d];
    b += g.b.batch[d];
    if (c) c += g.c.batch[d];
    out += g.out.batch[d];
  }

 private:
  static T* at(const GemmArgs& g, const GemmOperand& o, int64_t batch) {
    return o.data ? reinterpret_cast<T*>(o.data) + gemm_batch_offset(g, o, batch) : nullptr;
  }
};

template <class T> class TinyProduct {
  using C = GemmCompute<T>;

 public:
  explicit TinyProduct(const GemmArgs& args)
      : g_(args), alpha_(gemm_scalar<C>(g_.alpha)), beta_(gemm_scalar<C>(g_.beta)) {}

  void run(int64_t batch, int64_t end) const {
    const int64_t run = g_.batch_ndim ? g_.batch_size[g_.batch_ndim - 1] : 1;
    while (batch < end) {
      TinyOperands<T> operands(g_, batch);
      const int64_t stop = std::min(end, batch + run - batch % run);
      for (;;) {
        multiply(operands);
        if (++batch == stop) break;
        operands.advance(g_);
      }
    }
  }

 private:
  void multiply(const TinyOperands<T>& o) const {
    for (int64_t i = 0; i < g_.m; ++i) {
      for (int64_t j = 0; j < g_.n; ++j) {
        const T *x = o.a + i * g_.a.row, *y = o.b + j * g_.b.col;
        C sum = gemm_load(x) * gemm_load(y);
        for (int64_t p = 1; p < g_.k; ++p)
          sum += gemm_load(x + p * g_.a.col) * gemm_load(y + p * g_.b.row);
        C v = alpha_ * sum;
        if (o.c) v += beta_ * gemm_load(o.c + i * g_.c.row + j * g_.c.col);
        o.out[i * g_.out.row + j * g_.out.col] = gemm_finish<T>(v, g_.activation);
      }
    }
  }

  const GemmArgs& g_;
  const C alpha_, beta_;
};

}  // namespace flambeau::FLAM_TARGET
