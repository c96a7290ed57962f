// The matrix product on tensor cores, of f16, bf16, f64 and, where f32 may be rounded to tf32, f32:
// a block makes a tile of the output from slices that come into shared memory while the one before
// is multiplied. It serves machines without cuBLASLt, and what that has no algorithm for; every
// element is one sum in the order of k.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/gemm/gemm_value.h"
#include "kernels/tile/mma.h"
#include "kernels/tile/slice.h"

namespace flambeau::FLAM_TARGET {

// Tiles of kSide x kSide by warps that make kWarpRows x 32 each.
template <class T, int kTileSide> struct TensorTile {
  static constexpr int kSide = kTileSide, kWarpRows = kSide / 2, kWarpColumns = 32,
                       kWarpsAcross = kSide / kWarpColumns, kThreads = 64 * kWarpsAcross,
                       kDepth = sizeof(T) == 8 ? 16 : 32;
  static constexpr int kSliceBytes = kSide * kDepth * int(sizeof(T)), kStageBytes = 2 * kSliceBytes,
                       kStages = kStageBytes > (16 << 10) ? 2 : 3, kBytes = kStages * kStageBytes;
};

template <class T, class Tile> struct TensorSums {
  FragmentSum<T> part[Tile::kWarpRows / 16][Tile::kWarpColumns / 8];
};

// One slice of A times one of B, by the warp whose sums begin at row, column of the tile.
template <class T, class Tile, class SliceA, class SliceB>
__device__ __forceinline__ void multiply_slices(TensorSums<T, Tile>& sums,
                                                const unsigned char* stage, int row, int column) {
#pragma unroll
  for (int step = 0; step < Tile::kDepth / FragmentA<T>::kDepth; ++step) {
    FragmentA<T> a[Tile::kWarpRows / 16];
#pragma unroll
    for (int i = 0; i < Tile::kWarpRows / 16; ++i) a[i] = SliceA::a(stage, row + 16 * i, step);
#pragma unroll
    for (int j = 0; j < Tile::kWarpColumns / 8; j += 2) {
      FragmentB<T> b[2];
      SliceB::b(b, stage + Tile::kSliceBytes, column + 8 * j, step);
#pragma unroll
      for (int i = 0; i < Tile::kWarpRows / 16; ++i) {
        multiply(sums.part[i][j], a[i], b[0]);
        multiply(sums.part[i][j + 1], a[i], b[1]);
      }
    }
  }
}

template <class T, class Tile>
__device__ void store_tensor_sums(const TensorSums<T, Tile>& sums, const GemmArgs& g, int64_t row,
                                  int64_t column, int64_t batch) {
  using C = GemmCompute<T>;
  T* out = reinterpret_cast<T*>(g.out.data) + gemm_batch_offset(g, g.out, batch);
  const T* c =
      reinterpret_cast<const T*>(g.c.data) + (g.c.data ? gemm_batch_offset(g, g.c, batch) : 0);
  const C alpha = gemm_scalar<C>(g.alpha), beta = gemm_scalar<C>(g.beta);
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < Tile::kWarpRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kWarpColumns / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t r = row + 16 * i + sum_row(lane, e), q = column + 8 * j + sum_column(lane, e);
        if (r >= g.m || q >= g.n) continue;
        C v = alpha * sums.part[i][j].v[e];
        if (g.c.data) v += beta * gemm_load(c + r * g.c.row + q * g.c.col);
        out[r * g.out.row + q * g.out.col] = gemm_finish<T>(v, g.activation);
      }
    }
  }
}

template <class T> struct TensorSources {
  SliceSource<T> a, b;
};

template <class T>
__device__ TensorSources<T> tensor_sources(const GemmArgs& g, bool a_chunked, bool b_chunked,
                                           bool a_depth_first, bool b_depth_first, int64_t batch) {
  const auto source = [&](const GemmOperand& o, int64_t outer, int64_t outer_size, int64_t depth,
                          bool depth_first, bool chunked) {
    const T* data = reinterpret_cast<const T*>(o.data) + gemm_batch_offset(g, o, batch);
    return depth_first ? SliceSource<T>{data, outer, depth, outer_size, g.k, chunked}
                       : SliceSource<T>{data, depth, outer, g.k, outer_size, chunked};
  };
  return {source(g.a, g.a.row, g.m, g.a.col, a_depth_first, a_chunked),
          source(g.b, g.b.col, g.n, g.b.row, b_depth_first, b_chunked)};
}

template <class T, int kSide, bool kADepthFirst, bool kBDepthFirst>
__global__ void __launch_bounds__(TensorTile<T, kSide>::kThreads)
    tensor_gemm_kernel(GemmArgs g, bool a_chunked, bool b_chunked) {
  using Tile = TensorTile<T, kSide>;
  using SliceA = TileSlice<T, kSide, Tile::kDepth, kADepthFirst, Tile::kThreads>;
  using SliceB = TileSlice<T, kSide, Tile::kDepth, kBDepthFirst, Tile::kThreads>;
  FLAM_DYNAMIC_SHARED(unsigned char, shared);
  const int warp = int(threadIdx.x) / 32, warp_row = warp / Tile::kWarpsAcross * Tile::kWarpRows,
            warp_column = warp % Tile::kWarpsAcross * Tile::kWarpColumns;
  const int64_t rows = (g.m + kSide - 1) / kSide, columns = (g.n + kSide - 1) / kSide;
  const int64_t steps = (g.k + Tile::kDepth - 1) / Tile::kDepth;
  for (int64_t tile = blockIdx.x; tile < rows * columns * g.batches; tile += gridDim.x) {
    const int64_t batch = tile / (rows * columns), in_batch = tile % (rows * columns);
    const int64_t row = in_batch / columns * kSide, column = in_batch % columns * kSide;
    const TensorSources<T> from =
        tensor_sources<T>(g, a_chunked, b_chunked, kADepthFirst, kBDepthFirst, batch);
    const auto fill = [&](int64_t step) {
      if (step < steps) {
        unsigned char* stage = shared + step % Tile::kStages * Tile::kStageBytes;
        SliceA::fill(stage, from.a, row, step * Tile::kDepth);
        SliceB::fill(stage + Tile::kSliceBytes, from.b, column, step * Tile::kDepth);
      }
      commit_copies();
    };
    TensorSums<T, Tile> sums = {};
    // The first rounds only fill: one copy of the code for all stages.
#pragma unroll 1
    for (int64_t step = 1 - Tile::kStages; step < steps; ++step) {
      if (step >= 0) {
        wait_copies<Tile::kStages - 2>();
        __syncthreads();  // this stage is there, and the one before has been read by all
      }
      fill(step + Tile::kStages - 1);
      if (step < 0) continue;
      multiply_slices<T, Tile, SliceA, SliceB>(
          sums, shared + step % Tile::kStages * Tile::kStageBytes, warp_row, warp_column);
    }
    store_tensor_sums<T, Tile>(sums, g, row + warp_row, column + warp_column, batch);
    wait_copies<0>();
    __syncthreads();
  }
}

// Whether chunks along the direction of stride 1 are aligned in every row and batch.
template <class T>
bool chunks_aligned(const GemmArgs& g, const GemmOperand& o, int64_t major, int64_t minor) {
  const auto aligned = [](int64_t stride) { return stride * int64_t(sizeof(T)) % 16 == 0; };
  bool all = minor == 1 && aligned(major) && reinterpret_cast<uintptr_t>(o.data) % 16 == 0;
  for (int d = 0; d < g.batch_ndim; ++d) all = all && aligned(o.batch[d]);
  return all;
}

template <class T, int kSide> void launch_tensor_tiles(void* stream, const GemmArgs& g) {
  using Tile = TensorTile<T, kSide>;
  const int64_t tiles = ((g.m + kSide - 1) / kSide) * ((g.n + kSide - 1) / kSide) * g.batches;
  const dim3 grid(unsigned(tiles < (1 << 30) ? tiles : 1 << 30));
  const auto launch = [&](auto a_first, auto b_first) {
    constexpr bool kA = decltype(a_first)::value, kB = decltype(b_first)::value;
    const bool a = kA ? chunks_aligned<T>(g, g.a, g.a.row, g.a.col)
                      : chunks_aligned<T>(g, g.a, g.a.col, g.a.row),
               b = kB ? chunks_aligned<T>(g, g.b, g.b.col, g.b.row)
                      : chunks_aligned<T>(g, g.b, g.b.row, g.b.col);
    static_assert(Tile::kBytes <= kMostShared);
    FLAM_LAUNCH((tensor_gemm_kernel<T, kSide, kA, kB>), grid, dim3(Tile::kThreads), Tile::kBytes,
                stream, g, a, b);
  };
  const std::true_type yes;
  const std::false_type no;
  const bool a_first = g.a.col == 1 || g.a.row != 1, b_first = g.b.row == 1 || g.b.col != 1;
  if (a_first) {
    b_first ? launch(yes, yes) : launch(yes, no);
  } else {
    b_first ? launch(no, yes) : launch(no, no);
  }
}

// Large tiles once they keep most of a GPU's processors busy.
template <class T> void launch_tensor_gemm(void* stream, const GemmArgs& g) {
  if constexpr (sizeof(T) < 8) {
    if (((g.m + 127) / 128) * ((g.n + 127) / 128) * g.batches >= 96)
      return launch_tensor_tiles<T, 128>(stream, g);
  }
  launch_tensor_tiles<T, 64>(stream, g);
}

}  // namespace flambeau::FLAM_TARGET
