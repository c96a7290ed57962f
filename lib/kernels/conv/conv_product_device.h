// Convolutions as products: a block of eight warps makes 128 rows of the result by 64 or 128
// columns, from tiles that are copied two steps ahead. Sums are f32 in the order of the depth; the
// gradient by the weight may be split along it.
#pragma once
#include "kernels/conv/conv_product_exact.h"
#include "kernels/conv/conv_product_store.h"
#include "kernels/conv/conv_product_tile.h"

namespace flambeau::FLAM_TARGET {

template <class T, class L> struct ConvSumsOf {
  using type = ConvUnits<T, L>;
};
template <class L> struct ConvSumsOf<float, L> {
  using type = ConvExact<L>;
};
// Multiply-adds of one block keep a multiprocessor busy, matrix units want two.
template <class T> inline constexpr int kConvBlocks = sizeof(T) == 4 ? 1 : 2;

// What copies both tiles of a step.
template <class T, ConvResult kResult, int kColumns> struct ConvCopies {
  ConvWindowRows<T, kResult == ConvResult::data> rows;
  int column, group;

  __device__ ConvCopies(const ConvProduct& g, int row, int column_, int group_)
      : rows(g, row, group_), column(column_), group(group_) {}
  __device__ void copy(char* a, char* b, const ConvProduct& g, int step) const {
    const int chunk = step * kConvStepChunks + int(threadIdx.x) % kConvStepChunks;
    const ConvTap tap = conv_tap<T>(g, uint32_t(chunk));
    rows.copy(a, g, tap);
    if constexpr (kResult == ConvResult::forward) {
      conv_copy_weight_rows<T, kColumns>(b, g, column, group, chunk, tap);
    } else {
      conv_copy_turned_weights<T, kColumns>(b, g, column, group, step);
    }
  }
};

template <class T, int kColumns> struct ConvCopies<T, ConvResult::weight, kColumns> {
  ConvTapColumns<T, kColumns> columns;
  int row, group;

  __device__ ConvCopies(const ConvProduct& g, int row_, int column, int group_)
      : columns(g, column), row(row_), group(group_) {}
  __device__ void copy(char* a, char* b, const ConvProduct& g, int step) const {
    conv_copy_positions<T>(a, g, row, group, step);
    columns.copy(b, g, group, step);
  }
};

// By what the kernel takes: of pixels, or of planes (conv_product_planes.h).
template <class G, class T, ConvResult kResult, int kColumns> struct ConvCopiesOf {
  using type = ConvCopies<T, kResult, kColumns>;
};

// Steps `from` to `to` of a block's tiles. Each step waits for its own copies alone; the barrier
// also frees the stage of the step before, into which the copies two steps ahead then go.
template <class L, class Sums, class Copies, class G>
__device__ __forceinline__ void conv_steps(Sums& sums, const G& g, const Copies& copies, int from,
                                           int to, char* stages) {
  const auto copy = [&](int stage, int step) {
    char* const a = stages + stage * L::kBytes;
    if (step < to) copies.copy(a, a + L::kBytesA, g, step);
    commit_copies();
  };
  for (int s = 0; s < L::kStages - 1; ++s) copy(s, from + s);
  int now = 0, next = L::kStages - 1;
  for (int step = from; step < to; ++step) {
    wait_copies<L::kStages - 2>();
    __syncthreads();
    copy(next, step + L::kStages - 1);
    sums.add(stages + now * L::kBytes);
    now = now + 1 == L::kStages ? 0 : now + 1;
    next = next + 1 == L::kStages ? 0 : next + 1;
  }
  wait_copies<0>();
}

// Blocks: tiles of the result, columns first, whose rows are in cache then; groups; splits.
template <class T, ConvResult kResult, int kColumns, class G>
__global__ void __launch_bounds__(kConvThreads, kConvBlocks<T>) conv_product_kernel(G g) {
  using L = ConvLayout<T, kResult, kColumns, std::is_same_v<G, ConvPlanes>>;
  FLAM_DYNAMIC_SHARED(char, stages);
  const int row = int(blockIdx.x) / g.column_tiles * kConvRows,
            column = int(blockIdx.x) % g.column_tiles * kColumns, group = int(blockIdx.y),
            split = int(blockIdx.z);
  const int each = (g.steps + g.splits - 1) / g.splits, from = split * each,
            to = from + each < g.steps ? from + each : g.steps;
  typename ConvSumsOf<T, L>::type sums;
  const typename ConvCopiesOf<G, T, kResult, kColumns>::type copies(g, row, column, group);
  conv_steps<L>(sums, g, copies, from, to, stages);
  if constexpr (kResult == ConvResult::weight) {
    if (g.splits == 1)
      return conv_store_weight<T>(sums, g, row + L::row(), column + L::column(), group);
    conv_store_part(sums, g, row + L::row(), column + L::column(), group, split);
    if (g.tickets >= 0) conv_add_by_last<T, kColumns>(g);
  } else {
    conv_store<T, L>(sums, g, row + L::row(), column + L::column(), group, stages);
  }
}

// The gradient by the weight where its parts are many, or a launch has no tickets.
template <class T, class G> __global__ void conv_parts_kernel(G g, uint32_t n) {
  for (uint32_t i = blockIdx.x * kConvThreads + threadIdx.x; i < n; i += gridDim.x * kConvThreads) {
    const int row = int(i / uint32_t(g.columns)), column = int(i % uint32_t(g.columns));
    conv_add_parts<T>(g, row / g.rows, row % g.rows, column);
  }
}

template <class T, ConvResult kResult, int kColumns, class G>
void conv_product_launch(void* stream, const G& g) {
  using L = ConvLayout<T, kResult, kColumns>;
  const dim3 grid(unsigned(g.row_tiles) * unsigned(g.column_tiles), unsigned(g.groups),
                  unsigned(g.splits));
  FLAM_LAUNCH((conv_product_kernel<T, kResult, kColumns, G>), grid, dim3(kConvThreads),
              L::kStages * L::kBytes, stream, g);
}

template <class T, ConvResult kResult, class G, int kWidest = 128>
void conv_product_entry(void* stream, const void* p) {
  const G& g = *static_cast<const G*>(p);
  g.columns <= 64 ? conv_product_launch<T, kResult, 64>(stream, g)
                  : conv_product_launch<T, kResult, kWidest>(stream, g);
  if constexpr (kResult == ConvResult::weight) {
    if (g.splits == 1 || g.tickets >= 0) return;
    const int64_t n = int64_t(g.groups) * g.rows * g.columns;
    const int64_t blocks = (n + kConvThreads - 1) / kConvThreads;
    FLAM_LAUNCH((conv_parts_kernel<T, G>), dim3(unsigned(blocks < 4096 ? blocks : 4096)),
                dim3(kConvThreads), 0, stream, g, uint32_t(n));
  }
}

}  // namespace flambeau::FLAM_TARGET
