// Convolutions as products: a block of eight warps makes 128 rows of the result by 64 or 128
// columns, from tiles that are copied two steps ahead. Sums are f32 in the order of the depth; of
// the gradient by the weight they are parts, which are added in order at the end.
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

// Steps `from` to `to` of a block's tiles. Each step waits for its own copies alone; the barrier
// also frees the stage of the step before, into which the copies two steps ahead then go.
template <class L, class Sums, class Copies>
__device__ __forceinline__ void conv_steps(Sums& sums, const ConvProduct& g, const Copies& copies,
                                           int from, int to, char* stages) {
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
template <class T, ConvResult kResult, int kColumns>
__global__ void __launch_bounds__(kConvThreads, kConvBlocks<T>) conv_product_kernel(ConvProduct g) {
  using L = ConvLayout<T, kResult, kColumns>;
  FLAM_DYNAMIC_SHARED(char, stages);
  const int row = int(blockIdx.x) / g.column_tiles * kConvRows,
            column = int(blockIdx.x) % g.column_tiles * kColumns, group = int(blockIdx.y),
            split = int(blockIdx.z);
  const int each = (g.steps + g.splits - 1) / g.splits, from = split * each,
            to = from + each < g.steps ? from + each : g.steps;
  typename ConvSumsOf<T, L>::type sums;
  const ConvCopies<T, kResult, kColumns> copies(g, row, column, group);
  conv_steps<L>(sums, g, copies, from, to, stages);
  if constexpr (kResult == ConvResult::weight) {
    conv_store_part(sums, g, row + L::row(), column + L::column(), group, split);
  } else {
    conv_store<T, L>(sums, g, row + L::row(), column + L::column(), group, stages);
  }
}

// Elements of the gradient by the weight: the sum of their parts, first to last.
template <class T> __global__ void conv_parts_kernel(ConvProduct g, uint32_t n) {
  const int64_t part = int64_t(g.groups) * g.rows * g.columns;
  const uint32_t channels = uint32_t(g.met.channels), padded = g.chunks.divisor * kConvChunk<T>,
                 taps = uint32_t(g.columns) / padded;
  for (uint32_t i = blockIdx.x * kConvThreads + threadIdx.x; i < n; i += gridDim.x * kConvThreads) {
    uint32_t tap = i / channels;  // of [output channel][tap][channel]
    const uint32_t channel = i - tap * channels, o = tap / taps;
    const float* p = g.parts + int64_t(tap) * padded + channel;
    float sum = 0;
    for (int s = 0; s < g.splits; ++s) sum += p[s * part];
    int64_t at = int64_t(o) * g.out.outer + int64_t(channel) * g.out.inner;
    tap -= o * taps;
    for (int d = kConvDims; d-- > 0;) {
      const uint32_t outer = divide(tap, g.taps[d]);
      at += int64_t(tap) * g.out.space[d];
      tap = outer;
    }
    reinterpret_cast<T*>(g.out.data)[at] = T(sum);
  }
}

template <class T, ConvResult kResult, int kColumns>
void conv_product_launch(void* stream, const ConvProduct& g) {
  using L = ConvLayout<T, kResult, kColumns>;
  const dim3 grid(unsigned(g.row_tiles) * unsigned(g.column_tiles), unsigned(g.groups),
                  unsigned(g.splits));
  FLAM_LAUNCH((conv_product_kernel<T, kResult, kColumns>), grid, dim3(kConvThreads),
              L::kStages * L::kBytes, stream, g);
}

template <class T, ConvResult kResult> void conv_product_entry(void* stream, const void* p) {
  const ConvProduct& g = *static_cast<const ConvProduct*>(p);
  g.columns <= 64 ? conv_product_launch<T, kResult, 64>(stream, g)
                  : conv_product_launch<T, kResult, 128>(stream, g);
  if constexpr (kResult == ConvResult::weight) {
    const int64_t taps = g.columns / int64_t(g.chunks.divisor * kConvChunk<T>),
                  n = int64_t(g.groups) * g.rows * taps * g.met.channels;
    const int64_t blocks = (n + kConvThreads - 1) / kConvThreads;
    FLAM_LAUNCH((conv_parts_kernel<T>), dim3(unsigned(blocks < 4096 ? blocks : 4096)),
                dim3(kConvThreads), 0, stream, g, uint32_t(n));
  }
}

}  // namespace flambeau::FLAM_TARGET
