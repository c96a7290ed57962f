// The matrix product of the host. One matrix: turned so that its output's rows are dense, then a
// vector product or a blocked one, straight into the output where its type and strides allow, else
// through a matrix of the arithmetic type that a last pass scales, adds c to, activates and
// converts.
#pragma once
#include "kernels/gemm/gemm_block.h"
#include "kernels/gemm/gemm_vector_product.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct MatrixView {
  T* data;
  int64_t row, col;
};

template <class T> struct HostProduct {
  int64_t m, n, k;
  MatrixView<const T> a, b, c;
  MatrixView<T> out;
};

template <class T> HostProduct<T> transposed(const HostProduct<T>& g) {
  auto turn = [](auto v) { return decltype(v){v.data, v.col, v.row}; };
  return {g.n, g.m, g.k, turn(g.b), turn(g.a), turn(g.c), turn(g.out)};
}

template <class T>
void multiply_into(const HostProduct<T>& g, const Target<GemmCompute<T>>& target) {
  const MatrixSource<T> a{g.a.data, g.a.row, g.a.col}, b{g.b.data, g.b.col, g.b.row};
  if (g.m == 1 && vector_product<T>(g.n, g.k, a, b, target)) return;
  BlockedProduct<MatrixSource<T>, MatrixSource<T>>(g.m, g.n, g.k, a, b, target).run();
}

template <class T>
void finish_rows(const HostProduct<T>& g, const GemmArgs& args, const GemmCompute<T>* sums) {
  using C = GemmCompute<T>;
  const C alpha = gemm_scalar<C>(args.alpha), beta = gemm_scalar<C>(args.beta);
  const bool dense = g.out.col == 1;
  parallel_for(g.m, 1 + 16384 / g.n, [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      const C* from = sums + row * g.n;
      const T* c = g.c.data + row * g.c.row;
      T* to = g.out.data + row * g.out.row;
      if (!g.c.data && dense) {
        for (int64_t j = 0; j < g.n; ++j) to[j] = gemm_finish<T>(alpha * from[j], args.activation);
      } else if (dense && g.c.col == 1) {
        for (int64_t j = 0; j < g.n; ++j) {
          to[j] = gemm_finish<T>(alpha * from[j] + beta * gemm_load(c + j), args.activation);
        }
      } else {
        for (int64_t j = 0; j < g.n; ++j) {
          C v = alpha * from[j];
          if (g.c.data) v += beta * gemm_load(c + j * g.c.col);
          to[j * g.out.col] = gemm_finish<T>(v, args.activation);
        }
      }
    }
  });
}

template <class T> void multiply_matrix(HostProduct<T> g, const GemmArgs& args) {
  using C = GemmCompute<T>;
  const bool relu = args.activation == Activation::relu;
  if ((g.out.col != 1 && g.out.row == 1) || (g.n == 1 && g.m > 1 && g.out.row == 1))
    g = transposed(g);
  if constexpr (std::is_same_v<T, C>) {
    const bool plain_c = !g.c.data || (args.beta == 1 && (g.c.col == 1 || g.c.col == 0));
    if ((g.out.col == 1 || g.n == 1) && args.alpha == 1 && plain_c) {
      const bool column = g.c.data && g.c.col == 0;
      return multiply_into(g, {g.out.data, g.out.row, g.c.data, g.c.row, column, relu});
    }
  }
  const Scratch sums(size_t(g.m * g.n) * sizeof(C));
  multiply_into(g, {sums.as<C>(), g.n, nullptr, 0, false, false});
  finish_rows(g, args, sums.as<C>());
}

template <class T> HostProduct<T> product_of(const GemmArgs& g, int64_t batch) {
  auto view = [&](const GemmOperand& o) -> MatrixView<T> {
    T* data = reinterpret_cast<T*>(o.data);
    return {data ? data + gemm_batch_offset(g, o, batch) : nullptr, o.row, o.col};
  };
  auto input = [&](const GemmOperand& o) -> MatrixView<const T> {
    const MatrixView<T> v = view(o);
    return {v.data, v.row, v.col};
  };
  return {g.m, g.n, g.k, input(g.a), input(g.b), input(g.c), view(g.out)};
}

template <class T> void gemm_entry(void*, const void* p) {
  const GemmArgs& g = *static_cast<const GemmArgs*>(p);
  constexpr int64_t large = 1 << 22;  // such matrices are shared out one by one, smaller ones whole
  const int64_t work = g.m * g.n * (g.k + 1);
  const int64_t grain = work >= large ? g.batches : 1 + (1 << 18) / work;
  parallel_for(g.batches, grain, [&](int64_t batch, int64_t end) {
    for (; batch < end; ++batch) multiply_matrix(product_of<T>(g, batch), g);
  });
}

}  // namespace flambeau::FLAM_TARGET
