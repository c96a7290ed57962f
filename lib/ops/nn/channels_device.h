// The kernels of batch norm on GPUs; see channels.h. A block finds its channels' statistics, in
// registers or from what the launch before left of each part, then goes through its own part.
#pragma once
#include "kernels/math.h"
#include "ops/nn/channels_walk.h"

namespace flambeau::FLAM_TARGET {

// ---- statistics ---------------------------------------------------------------------------------

// Mean and squared distances from it (Chan, Golub and LeVeque, as in JoinMoments). The mean is a
// value and how far from it, so that rounding takes nothing from the distances of values that are
// far from 0.
template <class V> struct JoinFarMoments {
  struct Acc {
    V count, centre, off, squares;
    FLAM_FN V mean() const { return centre + off; }
    FLAM_FN V low() const { return off - (mean() - centre); }  // what that rounds off
  };
  FLAM_FN Acc zero() const { return {V(0), V(0), V(0), V(0)}; }
  FLAM_FN Acc join(Acc a, Acc b) const {
    if (b.count == 0) return a;  // large distances times nothing would be NaN
    if (a.count == 0) return b;
    const V count = a.count + b.count, share = b.count / count;
    const V d = (b.centre - a.centre) + (b.off - a.off);
    return {count, a.centre, a.off + d * share, a.squares + b.squares + d * d * (a.count * share)};
  }
};

// Of a thread's channels, which have as many values each.
template <class P> struct ChannelMoments {
  using V = typename P::V;
  using Acc = typename JoinFarMoments<V>::Acc;
  V count = 0, centre[P::kChannels] = {}, off[P::kChannels] = {}, squares[P::kChannels] = {};

  // All values of some pieces at once: from the mean of the first ones, then from their own.
  template <class T, int kVec, int kCount>
  __device__ __forceinline__ void take(const ChannelPieces<T, kVec, kCount>& x) {
    if (x.count == 0) return;
    constexpr int kValues = kCount * P::kEach;
    const V own = V(x.count * P::kEach), all = count + own, each = 1 / own, share = own / all;
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      V away[kValues], sum = 0, square = 0;
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        away[i] = x.value(i / P::kEach, P::kEach == 1 ? c : i % P::kEach);
        sum += away[i];
      }
      if (count == 0) centre[c] = sum * each;
      sum = 0;
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        away[i] = i / P::kEach < x.count ? away[i] - centre[c] : V(0);
        sum += away[i];
      }
      const V mean = sum * each;
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        const V d = i / P::kEach < x.count ? away[i] - mean : V(0);
        square += d * d;
      }
      const V d = mean - off[c];
      off[c] += d * share;
      squares[c] += square + d * d * (count * share);
    }
    count = all;
  }

  // Those of all threads, in each of them.
  __device__ __forceinline__ void join(const P& place, Acc (&all)[P::kChannels]) const {
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) all[c] = {count, centre[c], off[c], squares[c]};
    block_join(JoinFarMoments<V>{}, all, place.a.walk.across);
  }
};

template <class T, bool kPlanes, int kVec>
__global__ void __launch_bounds__(kChannelThreads)
    channel_moments_kernel(const __grid_constant__ ChannelArgs a) {
  using P = ChannelPlace<T, kPlanes, kVec>;
  const P place(a);
  ChannelMoments<P> own;
  for_pieces<kAtOnce<kVec>>(place, [&](uint32_t from, uint32_t end) {
    ChannelPieces<T, kVec, kAtOnce<kVec>> x;
    x.read(place, a.x, from, end);
    own.take(x);
  });
  typename JoinFarMoments<Compute<T>>::Acc all[P::kChannels];
  own.join(place, all);
  put_part(place, all);
}

// ---- y ------------------------------------------------------------------------------------------

// What a running statistic becomes, by torch's lerp.
template <class V> FLAM_FN V moved(V old, V now, V by) {
  return by < V(0.5) ? old + by * (now - old) : now - (now - old) * (1 - by);
}

template <class V> struct ChannelRates {
  V eps, momentum;  // doubles where the kernel's own are
};

template <class P> struct ChannelScale {
  using V = typename P::V;
  V mean[P::kChannels], scale[P::kChannels], shift[P::kChannels];
};

// Mean and variance become a scale and a shift; once for a channel they are kept and move the
// running ones. `low`: what of the mean its dtype cannot hold.
template <class T, class P>
__device__ __forceinline__ ChannelScale<P> scale_of(const P& place, ChannelRates<Compute<T>> rates,
                                                    const Compute<T>* mean, const Compute<T>* low,
                                                    const Compute<T>* variance) {
  using V = Compute<T>;
  const ChannelArgs& a = place.a;
  ChannelScale<P> s;
#pragma unroll
  for (int c = 0; c < P::kChannels; ++c) {
    const int64_t channel = place.channel + c;
    const V rstd = rsqrt(variance[c] + rates.eps);
    s.mean[c] = mean[c];
    s.scale[c] = place.any ? rstd * number_at<T>(a.weight, channel, 1) : V(0);
    s.shift[c] = (place.any ? number_at<T>(a.bias, channel, 0) : V(0)) - low[c] * s.scale[c];
    if (!place.writes_numbers()) continue;
    if (a.mean) store_global(reinterpret_cast<V*>(a.mean) + channel, mean[c]);
    if (a.rstd) store_global(reinterpret_cast<V*>(a.rstd) + channel, rstd);
    if (!a.training) continue;
    if (a.batches && channel == 0) store_global(a.batches, load_global(a.batches) + 1);
    const V unbiased = variance[c] * (V(a.values) / V(a.values - 1));
    put_number<T>(a.running_mean, channel,
                  moved(number_at<T>(a.running_mean, channel, 0), mean[c], rates.momentum));
    put_number<T>(a.running_var, channel,
                  moved(number_at<T>(a.running_var, channel, 0), unbiased, rates.momentum));
  }
  return s;
}

template <class P, class T, int kVec, int kCount>
__device__ __forceinline__ void write_scaled(const P& place, const ChannelScale<P>& s,
                                             const ChannelPieces<T, kVec, kCount>& x,
                                             uint32_t from) {
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    if (u >= x.count) continue;
    Compute<T> y[kVec];
#pragma unroll
    for (int e = 0; e < kVec; ++e) {
      const int c = P::kChannels == 1 ? 0 : e;
      y[e] = (x.value(u, e) - s.mean[c]) * s.scale[c] + s.shift[c];
    }
    write_piece<T, kVec>(place.a.out, place.at(from + uint32_t(u) * place.step), y);
  }
}

template <class T, bool kPlanes, int kVec>
__global__ void __launch_bounds__(kChannelThreads)
    channel_norm_kernel(const __grid_constant__ ChannelArgs a, ChannelRates<Compute<T>> rates) {
  using P = ChannelPlace<T, kPlanes, kVec>;
  using V = Compute<T>;
  const P place(a);
  V mean[P::kChannels], low[P::kChannels] = {}, variance[P::kChannels];
  if (a.training) {
    typename JoinFarMoments<V>::Acc all[P::kChannels];
    join_parts(JoinFarMoments<V>{}, place, all);
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      mean[c] = all[c].mean();
      low[c] = all[c].low();
      variance[c] = all[c].squares / V(a.values);
    }
  } else {
#pragma unroll
    for (int c = 0; c < P::kChannels; ++c) {
      mean[c] = place.any ? number_at<T>(a.running_mean, place.channel + c, 0) : V(0);
      variance[c] = place.any ? number_at<T>(a.running_var, place.channel + c, 0) : V(0);
    }
  }
  const ChannelScale<P> s = scale_of<T>(place, rates, mean, low, variance);
  for_pieces<kAtOnce<kVec>>(place, [&](uint32_t from, uint32_t end) {
    ChannelPieces<T, kVec, kAtOnce<kVec>> x;
    x.read(place, a.x, from, end);
    write_scaled(place, s, x, from);
  });
}

template <class T, bool kPlanes, int kVec>
__global__ void __launch_bounds__(kHeldThreads)
    channel_norm_held_kernel(const __grid_constant__ ChannelArgs a,
                             ChannelRates<Compute<T>> rates) {
  using P = ChannelPlace<T, kPlanes, kVec>;
  using V = Compute<T>;
  const P place(a);
  ChannelPieces<T, kVec, kHeldPieces<kVec>> x;
  x.read(place, a.x, place.first, a.walk.pieces);
  ChannelMoments<P> own;
  own.take(x);
  typename JoinFarMoments<V>::Acc all[P::kChannels];
  own.join(place, all);
  V mean[P::kChannels], low[P::kChannels], variance[P::kChannels];
#pragma unroll
  for (int c = 0; c < P::kChannels; ++c) {
    mean[c] = all[c].mean();
    low[c] = all[c].low();
    variance[c] = all[c].squares / V(a.values);
  }
  write_scaled(place, scale_of<T>(place, rates, mean, low, variance), x, place.first);
}

}  // namespace flambeau::FLAM_TARGET
