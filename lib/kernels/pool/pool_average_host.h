// Averages and their gradients on the host as sums by bands: an average divides the sum of its
// window, a gradient sums the quotients of all windows that an element lies in.
#pragma once
#include "kernels/pool/pool_element.h"
#include "kernels/resample/band_host.h"

namespace flambeau::FLAM_TARGET {

// Elements of the other side that element o of one side has to do with.
using PoolSpans = PoolSpan (*)(const PoolArgs& g, int d, int64_t o);

struct PoolTaps {
  std::vector<int64_t> first[kConvDims], count[kConvDims];

  PoolTaps(const PoolArgs& g, const int64_t* extent, PoolSpans spans) {
    for (int d = 0; d < kConvDims; ++d) {
      for (int64_t o = 0; o < extent[d]; ++o) {
        const PoolSpan s = spans(g, d, o);
        first[d].push_back(s.begin);
        count[d].push_back(std::max<int64_t>(s.end - s.begin, 0));
      }
    }
  }

  template <class C> Taps<C> of(int d) const {
    const int64_t most = *std::max_element(count[d].begin(), count[d].end());
    return {first[d].data(), count[d].data(), nullptr, std::max<int64_t>(most, 1)};
  }
};

template <class C> Divisors<C> pool_divisors(const PoolArgs& g) {
  Divisors<C> of{{}, true};
  for (int d = 0; d < kConvDims; ++d) {
    for (int64_t o = 0; o < g.out[d]; ++o) {
      const int64_t n = !g.divisor ? pool_count(g, d, o) : d == kConvDims - 1 ? g.divisor : 1;
      of.at[d].push_back(C(n));
      of.inverse &= ((n < 0 ? -n : n) & ((n < 0 ? -n : n) - 1)) == 0;
    }
  }
  if (!of.inverse) return of;
  for (auto& line : of.at) {
    for (C& n : line) n = 1 / n;
  }
  return of;
}

template <class T> void average_windows(const PoolArgs& g) {
  using C = Compute<T>;
  const PoolTaps taps(g, g.out,
                      [](const PoolArgs& p, int d, int64_t o) { return pool_window(p, d, o); });
  const Divisors<C> divisors = pool_divisors<C>(g);
  BandImage<T>{g.images,
               g.channels,
               {g.in[0], g.in[1], g.in[2]},
               {g.out[0], g.out[1], g.out[2]},
               g.x,
               g.y,
               {taps.of<C>(0), taps.of<C>(1), taps.of<C>(2)},
               nullptr,
               &divisors}
      .run();
}

template <class T> void average_windows_backward(const PoolArgs& g) {
  using C = Compute<T>;
  const PoolTaps taps(g, g.in,
                      [](const PoolArgs& p, int d, int64_t i) { return pool_outputs(p, d, i); });
  const Divisors<C> divisors = pool_divisors<C>(g);
  BandImage<T>{g.images,
               g.channels,
               {g.out[0], g.out[1], g.out[2]},
               {g.in[0], g.in[1], g.in[2]},
               g.y,
               g.x,
               {taps.of<C>(0), taps.of<C>(1), taps.of<C>(2)},
               &divisors,
               nullptr}
      .run();
}

template <class T>
  requires(!std::is_integral_v<T>)
struct PoolImages<AvgPoolElement<T>> {
  static bool run(const PoolArgs& g) { return average_windows<T>(g), true; }
};
template <class T> struct PoolImages<AvgPoolBackwardElement<T>> {
  static bool run(const PoolArgs& g) { return average_windows_backward<T>(g), true; }
};

}  // namespace flambeau::FLAM_TARGET
