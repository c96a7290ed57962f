// The outputs of direct convolutions: a thread makes a run of them along h for as many channels as
// it loads at once, so that a row of the image is read once for all outputs that it has part in.
#pragma once
#include "kernels/conv/conv_direct_place.h"
#include "kernels/gemm/gemm_value.h"

namespace flambeau::FLAM_TARGET {

// Weights of a block's channels: [met channel][tap][fours of a vector][lane][four], so that lanes
// that load a four at once meet all banks.
template <int kWide> inline constexpr int kDirectFour = kWide < 4 ? kWide : 4;

template <int kWide, class T, class C>
__device__ __forceinline__ void stage_weights(C* staged, const ConvDirect& g, int first) {
  constexpr int four = kDirectFour<kWide>;
  const T* w = reinterpret_cast<const T*>(g.w.data);
  const int width = g.lanes * kWide, taps = g.taps[0] * g.taps[1] * g.taps[2],
            n = g.met_channels * taps * width;
  for (int i = int(threadIdx.x); i < n; i += kDirectThreads) {
    const int at = i % width, lane = at / four % g.lanes,
              channel = first + lane * kWide + at / (four * g.lanes) * four + at % four;
    int tap = i / width % taps;
    int64_t from = int64_t(channel / g.at_channels) * g.w_group +
                   int64_t(channel % g.at_channels) * g.w.outer +
                   int64_t(i / width / taps) * g.w.inner;
    for (int d = kConvDims; d-- > 0; tap /= g.taps[d])
      from += int64_t(tap % g.taps[d]) * g.w.space[d];
    staged[i] = channel < g.channels ? gemm_load(w + from) : C(0);
  }
  __syncthreads();
}

template <class T, int kWide, int kRun> struct DirectSums {
  using C = GemmCompute<T>;
  C v[kRun][kWide];

  __device__ __forceinline__ DirectSums(const ConvDirect& g, int channel) {
#pragma unroll
    for (int e = 0; e < kWide; ++e) {
      const T* bias = reinterpret_cast<const T*>(g.bias);
      const C b = bias ? gemm_load(bias + (channel + e) * g.bias_stride) : C(0);
#pragma unroll
      for (int r = 0; r < kRun; ++r) v[r][e] = b;
    }
  }

  __device__ __forceinline__ void add(int r, const DirectTerms<T, kWide>& x, const C* w,
                                      int lanes) {
    if constexpr (kWide == 1) {
      v[r][0] += x.v[0] * *w;
    } else {
#pragma unroll
      for (int e = 0; e < kWide; e += 4) {
        const float4 four = *reinterpret_cast<const float4*>(w + e * lanes);
        v[r][e] += x.v[e] * four.x;
        v[r][e + 1] += x.v[e + 1] * four.y;
        v[r][e + 2] += x.v[e + 2] * four.z;
        v[r][e + 3] += x.v[e + 3] * four.w;
      }
    }
  }

  __device__ __forceinline__ void store(T* to, int r, Activation activation) const {
    C y[kWide];
#pragma unroll
    for (int e = 0; e < kWide; ++e) {
      y[e] = activation == Activation::relu && v[r][e] < C(0) ? C(0) : v[r][e];
    }
    if constexpr (kWide == 1) {
      store_global(to, static_cast<T>(y[0]));
    } else {
      Chunk<T, kWide>::rounded(y).to(to);
    }
  }
};

// The taps of one depth, for one output or for a run. A run's taps along h lie next to each other,
// so that rows that its outputs share are read once: output r meets row i by tap i - r * scale.
template <class T, int kWide, int kRun>
__device__ __forceinline__ void add_taps(DirectSums<T, kWide, kRun>& sums, const ConvDirect& g,
                                         const T* plane, const GemmCompute<T>* w,
                                         const DirectPlace& p) {
  constexpr bool kSlides = kRun > 1;
  const int rows = kSlides ? (g.run - 1) * g.scale[1] + g.taps[1] : g.taps[1];
  for (int i = 0; i < rows; ++i) {
    const int y = kSlides ? p.h * g.scale[1] + g.shift[1] + i : met_place(g, 1, p.h, i);
    if (unsigned(y) >= unsigned(g.met_size[1])) continue;
    for (int t = 0; t < g.taps[2]; ++t) {
      const int x = met_place(g, 2, p.w, t);
      if (unsigned(x) >= unsigned(g.met_size[2])) continue;
      const auto terms =
          DirectTerms<T, kWide>::from(plane + y * int(g.met.space[1]) + x * int(g.met.space[2]));
#pragma unroll
      for (int r = 0; r < kRun; ++r) {
        const int row = i - r * g.scale[1];
        if (unsigned(row) < unsigned(g.taps[1]))
          sums.add(r, terms, w + (row * g.taps[2] + t) * g.lanes * kWide, g.lanes);
      }
    }
  }
}

// Blocks of a multiprocessor: said, so that no register goes to memory for the sake of more.
inline constexpr int kDirectResident = 2;

template <class T, int kWide, int kRun>
__global__ void __launch_bounds__(kDirectThreads, kDirectResident)
    conv_direct_kernel(ConvDirect g) {
  using C = GemmCompute<T>;
  FLAM_DYNAMIC_SHARED(C, staged);
  const int width = g.lanes * kWide, first = int(blockIdx.y) * width;
  stage_weights<kWide, T>(staged, g, first);
  const DirectThread me(g);
  const int channel = first + me.lane * kWide;
  if (channel >= g.channels) return;
  const int taps = g.taps[1] * g.taps[2];
  const int64_t from = int64_t(channel / g.at_channels) * g.met_channels * g.met.inner;
  for (int item = me.first(); item < g.items; item += me.step()) {
    const DirectPlace p(g, item);
    const T* image = reinterpret_cast<const T*>(g.met.data) + int64_t(p.image) * g.met.outer + from;
    DirectSums<T, kWide, kRun> sums(g, channel);
    for (int c = 0; c < g.met_channels; ++c, image += g.met.inner) {
      const C* w = staged + c * g.taps[0] * taps * width + me.lane * kDirectFour<kWide>;
      for (int t = 0; t < g.taps[0]; ++t, w += taps * width) {
        const int z = met_place(g, 0, p.d, t);
        if (unsigned(z) >= unsigned(g.met_size[0])) continue;
        add_taps(sums, g, image + z * int(g.met.space[0]), w, p);
      }
    }
    T* to = reinterpret_cast<T*>(g.at.data) + at_offset(g, p, channel);
#pragma unroll
    for (int r = 0; r < kRun; ++r) {
      if (r < g.run && p.h + r < g.height) sums.store(to + r * int(g.at.space[1]), r, g.activation);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
