// One element of each pooling, the same for host and CUDA: a functor with the extent it runs over
// and what it does at a position of one plane (an image's channel).
#pragma once
#include <cmath>

#include "kernels/pool/pool.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

struct PoolSpan {
  int64_t begin, end;
};

FLAM_FN int64_t pool_min(int64_t a, int64_t b) { return a < b ? a : b; }
FLAM_FN int64_t pool_max(int64_t a, int64_t b) { return a > b ? a : b; }

// The inputs of output o: from begin in steps of the dilation, inside the image.
FLAM_FN PoolSpan pool_window(const PoolArgs& g, int d, int64_t o) {
  if (g.adaptive) {
    return {quotient(o * g.in[d], g.by_out[d]),
            quotient((o + 1) * g.in[d] + g.out[d] - 1, g.by_out[d])};
  }
  int64_t begin = o * g.stride[d] - g.padding[d];
  const int64_t end = begin + (g.kernel[d] - 1) * g.dilation[d] + 1;
  if (begin < 0) begin += quotient(-begin + g.dilation[d] - 1, g.by_dilation[d]) * g.dilation[d];
  return {begin, pool_min(end, g.in[d])};
}

// The outputs whose windows may hold input i.
FLAM_FN PoolSpan pool_outputs(const PoolArgs& g, int d, int64_t i) {
  if (g.adaptive) {
    return {quotient(i * g.out[d], g.by_in[d]),
            quotient((i + 1) * g.out[d] + g.in[d] - 1, g.by_in[d])};
  }
  const int64_t reach = i + g.padding[d], first = reach - (g.kernel[d] - 1) * g.dilation[d];
  return {first <= 0 ? 0 : quotient(first + g.stride[d] - 1, g.by_stride[d]),
          pool_min(g.out[d], quotient(reach, g.by_stride[d]) + 1)};
}

// Elements of a window along one dimension, for the average's divisor.
FLAM_FN int64_t pool_count(const PoolArgs& g, int d, int64_t o) {
  if (g.adaptive || !g.count_include_pad) {
    const PoolSpan w = pool_window(g, d, o);
    return w.end - w.begin;
  }
  const int64_t begin = o * g.stride[d] - g.padding[d];
  return pool_min(begin + g.kernel[d], g.in[d] + g.padding[d]) - begin;
}

template <class C> FLAM_FN C pool_divisor(const PoolArgs& g, int64_t d, int64_t h, int64_t w) {
  if (g.divisor) return C(g.divisor);
  return C(pool_count(g, 0, d) * pool_count(g, 1, h) * pool_count(g, 2, w));
}

FLAM_FN int64_t pool_at(const ConvOperand& o, int64_t d, int64_t h, int64_t w) {
  return d * o.space[0] + h * o.space[1] + w * o.space[2];
}

// Whether the channels of a pixel are neighbours and pixels follow each other.
FLAM_FN bool pool_is_last(const ConvOperand& o, int64_t channels) {
  return o.inner == 1 && o.space[2] == channels;
}

// Start of a plane within an operand.
template <class T> FLAM_FN T* pool_plane(const ConvOperand& o, int64_t image, int64_t channel) {
  return reinterpret_cast<T*>(o.data) + image * o.outer + channel * o.inner;
}

template <class T> FLAM_FN T pool_lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? T(uint64_t(1) << (8 * sizeof(T) - 1)) : T(0);
  } else {
    return narrow<T>(-INFINITY);
  }
}

template <class T> struct MaxPoolElement {
  static FLAM_FN const int64_t* extent(const PoolArgs& g) { return g.out; }
  static FLAM_FN void run(const PoolArgs& g, int64_t n, int64_t c, int64_t d, int64_t h,
                          int64_t w) {
    using C = Compute<T>;
    const T* x = pool_plane<const T>(g.x, n, c);
    const PoolSpan sd = pool_window(g, 0, d), sh = pool_window(g, 1, h), sw = pool_window(g, 2, w);
    int64_t best =
        pool_at({nullptr, 0, 0, {g.in[1] * g.in[2], g.in[2], 1}}, sd.begin, sh.begin, sw.begin);
    T found = pool_lowest<T>();  // where dilation steps over a small image, a window may be empty
    C top = load(&found);
    bool any = false;
    for (int64_t a = sd.begin; a < sd.end; a += g.dilation[0]) {
      for (int64_t b = sh.begin; b < sh.end; b += g.dilation[1]) {
        for (int64_t e = sw.begin; e < sw.end; e += g.dilation[2]) {
          const T* at = x + pool_at(g.x, a, b, e);
          const C v = load(at);
          if (any && !(v > top || v != v)) continue;  // the last NaN stays, as in torch
          any = true;
          top = v;
          found = *at;
          best = (a * g.in[1] + b) * g.in[2] + e;
        }
      }
    }
    pool_plane<T>(g.y, n, c)[pool_at(g.y, d, h, w)] = found;
    if (g.indices.data) pool_plane<int64_t>(g.indices, n, c)[pool_at(g.indices, d, h, w)] = best;
  }
};

template <class T> struct MaxPoolBackwardElement {
  static FLAM_FN const int64_t* extent(const PoolArgs& g) { return g.in; }
  static FLAM_FN void run(const PoolArgs& g, int64_t n, int64_t c, int64_t d, int64_t h,
                          int64_t w) {
    const T* dy = pool_plane<const T>(g.y, n, c);
    const int64_t* indices = pool_plane<const int64_t>(g.indices, n, c);
    const int64_t self = (d * g.in[1] + h) * g.in[2] + w;
    const PoolSpan sd = pool_outputs(g, 0, d), sh = pool_outputs(g, 1, h),
                   sw = pool_outputs(g, 2, w);
    Compute<T> sum = 0;
    for (int64_t a = sd.begin; a < sd.end; ++a) {
      for (int64_t b = sh.begin; b < sh.end; ++b) {
        for (int64_t e = sw.begin; e < sw.end; ++e) {
          if (indices[pool_at(g.indices, a, b, e)] == self) sum += load(dy + pool_at(g.y, a, b, e));
        }
      }
    }
    pool_plane<T>(g.x, n, c)[pool_at(g.x, d, h, w)] = narrow<T>(sum);
  }
};

template <class T> struct AvgPoolElement {
  static FLAM_FN const int64_t* extent(const PoolArgs& g) { return g.out; }
  static FLAM_FN void run(const PoolArgs& g, int64_t n, int64_t c, int64_t d, int64_t h,
                          int64_t w) {
    const T* x = pool_plane<const T>(g.x, n, c);
    const PoolSpan sd = pool_window(g, 0, d), sh = pool_window(g, 1, h), sw = pool_window(g, 2, w);
    Compute<T> sum = 0;
    for (int64_t a = sd.begin; a < sd.end; ++a) {
      for (int64_t b = sh.begin; b < sh.end; ++b) {
        for (int64_t e = sw.begin; e < sw.end; ++e) sum += load(x + pool_at(g.x, a, b, e));
      }
    }
    pool_plane<T>(g.y, n, c)[pool_at(g.y, d, h, w)] =
        narrow<T>(sum / pool_divisor<Compute<T>>(g, d, h, w));
  }
};

template <class T> struct AvgPoolBackwardElement {
  static FLAM_FN const int64_t* extent(const PoolArgs& g) { return g.in; }
  static FLAM_FN void run(const PoolArgs& g, int64_t n, int64_t c, int64_t d, int64_t h,
                          int64_t w) {
    const T* dy = pool_plane<const T>(g.y, n, c);
    const PoolSpan sd = pool_outputs(g, 0, d), sh = pool_outputs(g, 1, h),
                   sw = pool_outputs(g, 2, w);
    Compute<T> sum = 0;
    for (int64_t a = sd.begin; a < sd.end; ++a) {
      for (int64_t b = sh.begin; b < sh.end; ++b) {
        for (int64_t e = sw.begin; e < sw.end; ++e) {
          sum += load(dy + pool_at(g.y, a, b, e)) / pool_divisor<Compute<T>>(g, a, b, e);
        }
      }
    }
    pool_plane<T>(g.x, n, c)[pool_at(g.x, d, h, w)] = narrow<T>(sum);
  }
};

// A host's own way through all images of a launch; false where it has none for these.
template <class Element> struct PoolImages {
  static bool run(const PoolArgs&) { return false; }
};

}  // namespace flambeau::FLAM_TARGET
