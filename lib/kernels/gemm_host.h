// The matrix product of the host: rows of the output in parallel, each element one sum in the order of k.
#pragma once
#include "base/thread_pool.h"
#include "kernels/gemm_value.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int64_t kGemmColumns = 64;

template <class T> void gemm_row(const GemmArgs& g, int64_t batch, int64_t row) {
  using C = GemmCompute<T>;
  const T* a = reinterpret_cast<const T*>(g.a.data) + gemm_batch_offset(g, g.a, batch) + row * g.a.row;
  const T* b = reinterpret_cast<const T*>(g.b.data) + gemm_batch_offset(g, g.b, batch);
  T* out = reinterpret_cast<T*>(g.out.data) + gemm_batch_offset(g, g.out, batch) + row * g.out.row;
  const T* c = nullptr;
  if (g.c.data) c = reinterpret_cast<const T*>(g.c.data) + gemm_batch_offset(g, g.c, batch) + row * g.c.row;
  const C alpha = gemm_scalar<C>(g.alpha), beta = gemm_scalar<C>(g.beta);
  for (int64_t first = 0; first < g.n; first += kGemmColumns) {
    const int64_t n = g.n - first < kGemmColumns ? g.n - first : kGemmColumns;
    C acc[kGemmColumns] = {};
    for (int64_t p = 0; p < g.k; ++p) {
      const C x = gemm_load(a + p * g.a.col);
      const T* y = b + p * g.b.row + first * g.b.col;
      for (int64_t j = 0; j < n; ++j) acc[j] += x * gemm_load(y + j * g.b.col);
    }
    for (int64_t j = 0; j < n; ++j) {
      C v = alpha * acc[j];
      if (c) v += beta * gemm_load(c + (first + j) * g.c.col);
      out[(first + j) * g.out.col] = gemm_finish<T>(v, g.activation);
    }
  }
}

template <class T> void gemm_entry(void*, const void* p) {
  const GemmArgs& g = *static_cast<const GemmArgs*>(p);
  const int64_t grain = 1 + 32768 / (g.n * (g.k + 1));
  parallel_for(g.batches * g.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) gemm_row<T>(g, i / g.m, i % g.m);
  });
}

}  // namespace flambeau::FLAM_TARGET
