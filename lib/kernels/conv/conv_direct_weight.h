// The gradient of direct convolutions by the weight: a block sums a few taps along w of its
// channels over a part of all positions, which threads have in turn, and adds the threads' sums in
// a tree; parts of several blocks are added in their order by another kernel.
#pragma once
#include "kernels/conv/conv_direct_place.h"
#include "kernels/gemm/gemm_value.h"

namespace flambeau::FLAM_TARGET {

// The taps of a block: `first` and those behind it along w, of a channel that they meet.
struct DirectTaps {
  int met_channel, d, h, first;

  __device__ __forceinline__ DirectTaps(const ConvDirect& g, int index) {
    first = index % g.tap_runs * kDirectTaps;
    index /= g.tap_runs;
    h = index % g.taps[1];
    index /= g.taps[1];
    d = index % g.taps[0];
    met_channel = index / g.taps[0];
  }
};

template <class T, int kWide> struct DirectSlopes {
  using C = GemmCompute<T>;
  C v[kDirectTaps][kWide] = {};

  __device__ __forceinline__ void add(const ConvDirect& g, const DirectTaps& taps, const T* image,
                                      const DirectPlace& p, const T* dy) {
    const int z = met_place(g, 0, p.d, taps.d), y = met_place(g, 1, p.h, taps.h);
    if (unsigned(z) >= unsigned(g.met_size[0]) || unsigned(y) >= unsigned(g.met_size[1])) return;
    const auto slope = DirectTerms<T, kWide>::from(dy);
    const T* row = image + z * int(g.met.space[0]) + y * int(g.met.space[1]);
#pragma unroll
    for (int t = 0; t < kDirectTaps; ++t) {
      const int x = met_place(g, 2, p.w, taps.first + t);
      if (taps.first + t >= g.taps[2] || unsigned(x) >= unsigned(g.met_size[2])) continue;
      const auto terms = DirectTerms<T, kWide>::from(row + x * int(g.met.space[2]));
#pragma unroll
      for (int e = 0; e < kWide; ++e) v[t][e] += terms.v[e] * slope.v[e];
    }
  }
};

// The sum over the threads that share a lane, in the first of them.
template <class C>
__device__ __forceinline__ C sum_of_lane(C* sums, C mine, const DirectThread& me, int lanes) {
  __syncthreads();  // behind what was read of the one before
  sums[me.place * lanes + me.lane] = mine;
  for (int half = kDirectThreads / 2; half >= lanes; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[me.lane];
}

template <class T, int kWide>
__global__ void __launch_bounds__(kDirectThreads) conv_direct_weight_kernel(ConvDirect g) {
  using C = GemmCompute<T>;
  __shared__ C sums[kDirectThreads];
  const DirectThread me(g);
  const DirectTaps taps(g, int(blockIdx.z));
  const int channel = (int(blockIdx.y) * g.lanes + me.lane) * kWide;
  const bool active = channel < g.channels;
  DirectSlopes<T, kWide> slopes;
  if (active) {
    const int group = channel / g.at_channels;
    const T* met = reinterpret_cast<const T*>(g.met.data) +
                   (int64_t(group) * g.met_channels + taps.met_channel) * g.met.inner;
    const T* dy = reinterpret_cast<const T*>(g.at.data);
    for (int item = me.first(); item < g.items; item += me.step()) {
      const DirectPlace p(g, item);
      slopes.add(g, taps, met + int64_t(p.image) * g.met.outer, p, dy + at_offset(g, p, channel));
    }
  }
  const int64_t all = int64_t(g.taps[0]) * g.taps[1] * g.taps[2];
  C* part = reinterpret_cast<C*>(g.parts) +
            int64_t(blockIdx.x) * g.channels * g.met_channels * all +
            (int64_t(channel) * g.met_channels + taps.met_channel) * all +
            (taps.d * g.taps[1] + taps.h) * g.taps[2] + taps.first;
#pragma unroll
  for (int t = 0; t < kDirectTaps; ++t) {
    if (taps.first + t >= g.taps[2]) break;
#pragma unroll
    for (int e = 0; e < kWide; ++e) {
      const C sum = sum_of_lane(sums, slopes.v[t][e], me, g.lanes);
      if (me.place == 0 && active) part[e * g.met_channels * all + t] = sum;
    }
  }
}

template <class T> __global__ void conv_direct_parts_kernel(ConvDirect g, uint32_t n) {
  using C = GemmCompute<T>;
  for (uint32_t i = blockIdx.x * kDirectThreads + threadIdx.x; i < n;
       i += gridDim.x * kDirectThreads) {
    const C* part = reinterpret_cast<const C*>(g.parts) + i;
    C sum = 0;
    for (int s = 0; s < g.splits; ++s) sum += part[int64_t(s) * n];
    uint32_t left = i;
    int64_t at = 0;
    for (int d = kConvDims; d-- > 0; left /= uint32_t(g.taps[d]))
      at += int64_t(left % uint32_t(g.taps[d])) * g.w.space[d];
    at += int64_t(left % uint32_t(g.met_channels)) * g.w.inner +
          int64_t(left / uint32_t(g.met_channels)) * g.w.outer;
    reinterpret_cast<T*>(g.w.data)[at] = gemm_finish<T>(sum, Activation::none);
  }
}

}  // namespace flambeau::FLAM_TARGET
