// Batches of products of a few multiply-adds each, of which setting up a blocked or a vector
// product would take the most: each element is one chain in the order of k, from operands where
// they lie. The product is turned where that makes its rows longer.
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
      : g_(args.n < args.m ? turned(args) : args),
        alpha_(gemm_scalar<C>(g_.alpha)),
        beta_(gemm_scalar<C>(g_.beta)) {}

  // Depths of small matrices are known to the compiler, which keeps a row of a in registers.
  void run(int64_t batch, int64_t end) const {
    switch (g_.k) {
      case 1:
        return run<1>(batch, end);
      case 2:
        return run<2>(batch, end);
      case 3:
        return run<3>(batch, end);
      case 4:
        return run<4>(batch, end);
      default:
        return run<0>(batch, end);
    }
  }

 private:
  static GemmArgs turned(GemmArgs g) {
    std::swap(g.m, g.n);
    std::swap(g.a, g.b);
    for (GemmOperand* o : {&g.a, &g.b, &g.c, &g.out}) std::swap(o->row, o->col);
    return g;
  }

  template <int kDepth> void run(int64_t batch, int64_t end) const {
    const bool plain = g_.alpha == 1 && !g_.c.data && g_.activation == Activation::none;
    plain ? run<kDepth, true>(batch, end) : run<kDepth, false>(batch, end);
  }

  template <int kDepth, bool kPlain> void run(int64_t batch, int64_t end) const {
    const int64_t run = g_.batch_ndim ? g_.batch_size[g_.batch_ndim - 1] : 1;
    while (batch < end) {
      TinyOperands<T> operands(g_, batch);
      const int64_t stop = std::min(end, batch + run - batch % run);
      for (;;) {
        multiply<kDepth, kPlain>(operands);
        if (++batch == stop) break;
        operands.advance(g_);
      }
    }
  }

  template <int kDepth, bool kPlain> void multiply(const TinyOperands<T>& o) const {
    for (int64_t i = 0; i < g_.m; ++i) {
      const T* x = o.a + i * g_.a.row;
      T* out = o.out + i * g_.out.row;
      C row[kDepth ? kDepth : 1];
      for (int p = 0; p < kDepth; ++p) row[p] = gemm_load(x + p * g_.a.col);
      for (int64_t j = 0; j < g_.n; ++j) {
        C v = dot<kDepth>(row, x, o.b + j * g_.b.col);
        if constexpr (!kPlain) {
          v = alpha_ * v;
          if (o.c) v += beta_ * gemm_load(o.c + i * g_.c.row + j * g_.c.col);
        }
        out[j * g_.out.col] = gemm_finish<T>(v, kPlain ? Activation::none : g_.activation);
      }
    }
  }

  // Of `row`, where its length is known, else of x, and a column.
  template <int kDepth> C dot(const C* row, const T* x, const T* y) const {
    if constexpr (kDepth) {
      C sum = row[0] * gemm_load(y);
      for (int p = 1; p < kDepth; ++p) sum += row[p] * gemm_load(y + p * g_.b.row);
      return sum;
    } else {
      C sum = gemm_load(x) * gemm_load(y);
      for (int64_t p = 1; p < g_.k; ++p)
        sum += gemm_load(x + p * g_.a.col) * gemm_load(y + p * g_.b.row);
      return sum;
    }
  }

  const GemmArgs g_;
  const C alpha_, beta_;
};

}  // namespace flambeau::FLAM_TARGET
