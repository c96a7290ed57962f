// The matrix product in plain CUDA C++: a block of 16 x 16 threads makes a 64 x 64 tile of the
// output, 4 x 4 elements a thread, from slices of the operands in shared memory. It serves
// integers, and f32 that must not be rounded to tf32 where cuBLASLt is not there or has no
// algorithm; every element is one sum in the order of k. What tensor cores multiply goes to
// gemm_tensor.h.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/gemm/gemm_tensor.h"
#include "kernels/gemm/gemm_value.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kGemmTile = 64, kGemmDepth = 16, kGemmSide = 16,
                     kGemmEach = kGemmTile / kGemmSide;

template <class T> struct GemmSlices {
  GemmCompute<T> a[kGemmDepth][kGemmTile + 1], b[kGemmDepth][kGemmTile + 1];
};

// Threads walk the operand's denser direction side by side.
template <class T>
__device__ void gemm_load_slices(GemmSlices<T>& s, const T* a, const T* b, const GemmArgs& g,
                                 int64_t row, int64_t col, int64_t depth) {
  const int thread = int(threadIdx.y) * kGemmSide + int(threadIdx.x);
  for (int i = thread; i < kGemmTile * kGemmDepth; i += kGemmSide * kGemmSide) {
    const bool k_first = g.a.col == 1;
    const int p = k_first ? i % kGemmDepth : i / kGemmTile,
              r = k_first ? i / kGemmDepth : i % kGemmTile;
    const bool inside = row + r < g.m && depth + p < g.k;
    s.a[p][r] =
        inside ? gemm_load(a + (row + r) * g.a.row + (depth + p) * g.a.col) : GemmCompute<T>(0);
  }
  for (int i = thread; i < kGemmTile * kGemmDepth; i += kGemmSide * kGemmSide) {
    const bool k_first = g.b.row == 1;
    const int p = k_first ? i % kGemmDepth : i / kGemmTile,
              c = k_first ? i / kGemmDepth : i % kGemmTile;
    const bool inside = col + c < g.n && depth + p < g.k;
    s.b[p][c] =
        inside ? gemm_load(b + (depth + p) * g.b.row + (col + c) * g.b.col) : GemmCompute<T>(0);
  }
}

template <class T>
__device__ void gemm_store_tile(const GemmCompute<T> (&acc)[kGemmEach][kGemmEach],
                                const GemmArgs& g, int64_t row, int64_t col, int64_t batch) {
  using C = GemmCompute<T>;
  T* out = reinterpret_cast<T*>(g.out.data) + gemm_batch_offset(g, g.out, batch);
  const T* c =
      reinterpret_cast<const T*>(g.c.data) + (g.c.data ? gemm_batch_offset(g, g.c, batch) : 0);
  const C alpha = gemm_scalar<C>(g.alpha), beta = gemm_scalar<C>(g.beta);
  for (int i = 0; i < kGemmEach; ++i) {
    for (int j = 0; j < kGemmEach; ++j) {
      const int64_t r = row + threadIdx.y + i * kGemmSide, q = col + threadIdx.x + j * kGemmSide;
      if (r >= g.m || q >= g.n) continue;
      C v = alpha * acc[i][j];
      if (g.c.data) v += beta * gemm_load(c + r * g.c.row + q * g.c.col);
      out[r * g.out.row + q * g.out.col] = gemm_finish<T>(v, g.activation);
    }
  }
}

template <class T> __global__ void gemm_kernel(GemmArgs g) {
  using C = GemmCompute<T>;
  __shared__ GemmSlices<T> s;
  const int64_t rows = (g.m + kGemmTile - 1) / kGemmTile, cols = (g.n + kGemmTile - 1) / kGemmTile;
  for (int64_t tile = blockIdx.x; tile < rows * cols * g.batches; tile += gridDim.x) {
    const int64_t batch = tile / (rows * cols), in_batch = tile % (rows * cols);
    const int64_t row = in_batch / cols * kGemmTile, col = in_batch % cols * kGemmTile;
    const T* a = reinterpret_cast<const T*>(g.a.data) + gemm_batch_offset(g, g.a, batch);
    const T* b = reinterpret_cast<const T*>(g.b.data) + gemm_batch_offset(g, g.b, batch);
    C acc[kGemmEach][kGemmEach] = {};
    for (int64_t depth = 0; depth < g.k; depth += kGemmDepth) {
      gemm_load_slices(s, a, b, g, row, col, depth);
      __syncthreads();
      for (int p = 0; p < kGemmDepth; ++p) {
        for (int i = 0; i < kGemmEach; ++i) {
          for (int j = 0; j < kGemmEach; ++j) {
            acc[i][j] += s.a[p][threadIdx.y + i * kGemmSide] * s.b[p][threadIdx.x + j * kGemmSide];
          }
        }
      }
      __syncthreads();
    }
    gemm_store_tile<T>(acc, g, row, col, batch);
  }
}

template <class T> void launch_plain_gemm(void* stream, const GemmArgs& g) {
  const int64_t tiles =
      ((g.m + kGemmTile - 1) / kGemmTile) * ((g.n + kGemmTile - 1) / kGemmTile) * g.batches;
  FLAM_LAUNCH((gemm_kernel<T>), dim3(unsigned(tiles < (1 << 30) ? tiles : 1 << 30)),
              dim3(kGemmSide, kGemmSide), 0, stream, g);
}

template <class T> void gemm_entry(void* stream, const void* p) {
  const GemmArgs& g = *static_cast<const GemmArgs*>(p);
  if constexpr (std::is_same_v<T, float>) {
    g.tf32 ? launch_tensor_gemm<T>(stream, g) : launch_plain_gemm<T>(stream, g);
  } else if constexpr (std::is_integral_v<T>) {
    launch_plain_gemm<T>(stream, g);
  } else {
    launch_tensor_gemm<T>(stream, g);
  }
}

}  // namespace flambeau::FLAM_TARGET
