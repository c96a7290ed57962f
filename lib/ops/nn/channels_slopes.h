// The kernels of batch norm's gradients on GPUs; see channels.h. With k = weight * rstd and n
// values of a channel, dx = k * (dy - sum(dy) / n - (x - mean) * rstd^2 * sum(dy * (x - mean)) / n)
// where the statistics are the batch's, else k * dy; the two sums are also the gradients of bias
// and, times rstd, weight.
#pragma once
#include "kernels/row/row_sums.h"
#include "ops/nn/channels_walk.h"

namespace flambeau::FLAM_TARGET {

// Of dy, and of dy * (x - mean).
template <class T> struct JoinSlopes {
  using M = RowSum<T>;
  struct Acc {
    typename M::Acc sum, dot;
  };
  FLAM_FN Acc zero() const { return {M{}.zero(), M{}.zero()}; }
  FLAM_FN Acc join(Acc a, Acc b) const { return {M{}.join(a.sum, b.sum), M{}.join(a.dot, b.dot)}; }
  static FLAM_FN Acc term(Compute<T> sum, Compute<T> dot) {
    return {sum_term(M{}, sum), sum_term(M{}, dot)};
  }
};

// Makes a chunk's element 0.
template <class T, int kCount> __device__ __forceinline__ void drop(Chunk<T, kCount>& c, int i) {
  if constexpr (sizeof(T) == 8) {
    c.word[2 * i] = c.word[2 * i + 1] = 0;
  } else {
    constexpr int kBits = Chunk<T, kCount>::kBits;
    c.word[i * kBits / 32] &= ~(~uint32_t(0) >> (32 - kBits) << i * kBits % 32);
  }
}

// Some pieces of dy, wherever they are, masked.
template <class T, int kVec, int kCount, class P>
__device__ __forceinline__ void read_slopes(ChannelPieces<T, kVec, kCount>& dy, const P& place,
                                            uint32_t from, uint32_t end) {
  if (P::kOfPlanes && place.a.dy_still) {
    dy.read_still(place, from, end);
  } else {
    dy.read(place, place.a.dy, from, end);
  }
  if (!place.a.mask) return;
  ChannelPieces<T, kVec, kCount> y;
  y.read(place, place.a.mask, from, end);
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
#pragma unroll
    for (int e = 0; e < kVec; ++e)
      if (y.value(u, e) <= 0) drop(dy.piece[u].part[0], e);
  }
}

template <class T, class P> struct ChannelSlopes {
  using V = Compute<T>;
  using Acc = typename JoinSlopes<T>::Acc;
  const P& place;
  V mean[P::kChannels], rstd[P::kChannels];
  Acc sums[P::kChannels];

  __device__ __forceinline__ explicit ChannelSlopes(const P& at) : place(at) {
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      const int64_t channel = place.channel + c;
      mean[c] = place.any ? load_global(reinterpret_cast<const V*>(place.a.mean) + channel) : V(0);
      rstd[c] = place.any ? load_global(reinterpret_cast<const V*>(place.a.rstd) + channel) : V(0);
      sums[c] = JoinSlopes<T>{}.zero();
    }
  }

  template <int kVec, int kCount>
  __device__ __forceinline__ void take(const ChannelPieces<T, kVec, kCount>& dy,
                                       const ChannelPieces<T, kVec, kCount>& x) {
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      V sum = 0, dot = 0;
#pragma unroll
      for (int i = 0; i < kCount * P::kEach; ++i) {
        const int u = i / P::kEach, e = P::kEach == 1 ? c : i % P::kEach;
        const V slope = dy.value(u, e);
        sum += slope;
        dot += u < dy.count ? slope * (x.value(u, e) - mean[c]) : V(0);
      }
      sums[c] = JoinSlopes<T>{}.join(sums[c], JoinSlopes<T>::term(sum, dot));
    }
  }

  __device__ __forceinline__ V sum(int c) const { return sum_total(RowSum<T>{}, sums[c].sum); }
  __device__ __forceinline__ V dot(int c) const { return sum_total(RowSum<T>{}, sums[c].dot); }

  // Once for a channel.
  __device__ __forceinline__ void put() const {
    if (!place.writes_numbers()) return;
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      put_number<T>(place.a.weight_slope, place.channel + c, dot(c) * rstd[c]);
      put_number<T>(place.a.bias_slope, place.channel + c, sum(c));
    }
  }
};

// dx = k * dy - s - a * (x - mean).
template <class P> struct ChannelFactors {
  using V = typename P::V;
  V mean[P::kChannels], k[P::kChannels], s[P::kChannels], a[P::kChannels];

  template <class T>
  __device__ __forceinline__ explicit ChannelFactors(const ChannelSlopes<T, P>& of) {
    const ChannelArgs& args = of.place.a;
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      mean[c] = of.mean[c];
      k[c] = of.rstd[c];
      if (of.place.any) k[c] *= number_at<T>(args.weight, of.place.channel + c, 1);
      const V share = args.training ? k[c] / V(args.values) : V(0);
      s[c] = share * of.sum(c);
      a[c] = share * of.dot(c) * (of.rstd[c] * of.rstd[c]);
    }
  }
};

template <class T, int kVec, int kCount, class P>
__device__ __forceinline__ void write_slopes(const P& place, const ChannelFactors<P>& f,
                                             const ChannelPieces<T, kVec, kCount>& dy,
                                             const ChannelPieces<T, kVec, kCount>& x,
                                             uint32_t from) {
  const bool training = place.a.training;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    if (u >= dy.count) continue;
    Compute<T> dx[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) {
      const int c = P::kChannels == 1 ? 0 : e;
      dx[e] = f.k[c] * dy.value(u, e);
      if (training) dx[e] = dx[e] - f.s[c] - f.a[c] * (x.value(u, e) - f.mean[c]);
    }
    write_piece<T, kVec>(place.a.out, place.at(from + uint32_t(u) * place.step), dx);
  }
}

template <class T, bool kPlanes, int kVec>
__global__ void __launch_bounds__(kChannelThreads)
    channel_slope_sums_kernel(const __grid_constant__ ChannelArgs a) {
  using P = ChannelPlace<T, kPlanes, kVec>;
  const P place(a);
  ChannelSlopes<T, P> slopes(place);
  constexpr int kCount = kAtOnce<kVec> / 2;  // of both
  for_pieces<kCount>(place, [&](uint32_t from, uint32_t end) {
    ChannelPieces<T, kVec, kCount> dy, x;
    read_slopes(dy, place, from, end);
    x.read(place, a.x, from, end);
    slopes.take(dy, x);
  });
  block_join(JoinSlopes<T>{}, slopes.sums, a.walk.across);
  put_part(place, slopes.sums);
}

template <class T, bool kPlanes, int kVec>
__global__ void __launch_bounds__(kChannelThreads)
    channel_slopes_kernel(const __grid_constant__ ChannelArgs a) {
  using P = ChannelPlace<T, kPlanes, kVec>;
  const P place(a);
  ChannelSlopes<T, P> slopes(place);
  if (a.summed) {
    join_parts(JoinSlopes<T>{}, place, slopes.sums);
    slopes.put();
  }
  if (!a.out) return;
  const ChannelFactors<P> factors(slopes);
  constexpr int kCount = kAtOnce<kVec> / 2;
  for_pieces<kCount>(place, [&](uint32_t from, uint32_t end) {
    ChannelPieces<T, kVec, kCount> dy, x;
    read_slopes(dy, place, from, end);
    x.read(place, a.x, from, a.training ? end : 0);  // which else counts for nothing
    write_slopes(place, factors, dy, x, from);
  });
}

template <class T, bool kPlanes, int kVec>
__global__ void __launch_bounds__(kHeldThreads)
    channel_slopes_held_kernel(const __grid_constant__ ChannelArgs a) {
  using P = ChannelPlace<T, kPlanes, kVec>;
  const P place(a);
  ChannelPieces<T, kVec, kHeldPieces<kVec>> dy, x;
  read_slopes(dy, place, place.first, a.walk.pieces);
  x.read(place, a.x, place.first, a.walk.pieces);
  ChannelSlopes<T, P> slopes(place);
  slopes.take(dy, x);
  block_join(JoinSlopes<T>{}, slopes.sums, a.walk.across);
  slopes.put();
  if (a.out) write_slopes(place, ChannelFactors<P>(slopes), dy, x, place.first);
}

}  // namespace flambeau::FLAM_TARGET
