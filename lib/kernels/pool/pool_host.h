// Maxima on the host where windows are regular: outputs of a row side by side, so that the compiler
// makes vectors of them, and a gradient that is scattered instead of searched for. The results are
// those of pool_element.h bit by bit: windows are seen in the same order.
#pragma once
#include "kernels/pool/pool_element.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct MaxPoolRow {
  static constexpr int kLanes = 128;
  using C = Compute<T>;
  C top[kLanes];
  int32_t best[kLanes];

  // Outputs w + lo to w + hi of a tap whose input lies at row[i * step], i = first + w * stride.
  template <int64_t Stride>
  void tap(const T* row, int64_t step, int64_t stride, int32_t index, int64_t lo, int64_t hi) {
    const int64_t s = Stride ? Stride : stride, jump = Stride ? s : s * step;
    for (int64_t w = lo; w < hi; ++w) {
      const C v = load(row + w * jump);
      const bool taken = (v > top[w]) | (v != v);
      top[w] = taken ? v : top[w];
      best[w] = taken ? index + int32_t(w * s) : best[w];
    }
  }

  void taps(const PoolArgs& g, const T* row, int64_t plane_row, int64_t first_output, int64_t n) {
    const int64_t step = g.x.space[2], stride = g.stride[2], dilation = g.dilation[2];
    // Taps inside the image for some output: a window may be far wider than what it lies on.
    const int64_t before = g.padding[2] - first_output * stride,
                  outside = before - (n - 1) * stride;
    const int64_t first = outside > 0 ? (outside + dilation - 1) / dilation : 0;
    const int64_t end = pool_min(g.kernel[2], (before + g.in[2] + dilation - 1) / dilation);
    for (int64_t k = first; k < end; ++k) {
      const int64_t at = k * g.dilation[2] - g.padding[2] + first_output * stride;
      const int64_t lo = at >= 0 ? 0 : (stride - 1 - at) / stride, room = g.in[2] - at;
      const int64_t hi = room <= 0 ? 0 : pool_min(n, (room + stride - 1) / stride);
      const T* from = row + at * step;
      const int32_t index = int32_t(plane_row * g.in[2] + at);
      if (step == 1 && stride == 2) {
        tap<2>(from, step, stride, index, lo, hi);
      } else if (step == 1 && stride == 1) {
        tap<1>(from, step, stride, index, lo, hi);
      } else {
        tap<0>(from, step, stride, index, lo, hi);
      }
    }
  }

  void run(const PoolArgs& g, int64_t n, int64_t c, int64_t d, int64_t h, int64_t w,
           int64_t count) {
    const PoolSpan sd = pool_window(g, 0, d), sh = pool_window(g, 1, h);
    const T lowest = pool_lowest<T>();
    for (int64_t i = 0; i < count; ++i) {
      top[i] = load(&lowest);
      best[i] = int32_t((sd.begin * g.in[1] + sh.begin) * g.in[2] + pool_window(g, 2, w + i).begin);
    }
    const T* x = pool_plane<const T>(g.x, n, c);
    for (int64_t a = sd.begin; a < sd.end; a += g.dilation[0]) {
      for (int64_t b = sh.begin; b < sh.end; b += g.dilation[1]) {
        taps(g, x + pool_at(g.x, a, b, 0), a * g.in[1] + b, w, count);
      }
    }
    T* y = pool_plane<T>(g.y, n, c) + pool_at(g.y, d, h, w);
    int64_t* indices = pool_plane<int64_t>(g.indices, n, c) + pool_at(g.indices, d, h, w);
    for (int64_t i = 0; i < count; ++i) {
      y[i * g.y.space[2]] = narrow<T>(top[i]);
      indices[i * g.indices.space[2]] = best[i];
    }
  }
};

// A whole plane; false where it has to be done element by element.
template <class Element> struct PoolPlane {
  static bool run(const PoolArgs&, int64_t, int64_t) { return false; }
};

template <class T>
  requires(!std::is_integral_v<T>)
struct PoolPlane<MaxPoolElement<T>> {
  static bool run(const PoolArgs& g, int64_t n, int64_t c) {
    if (g.adaptive || g.in[0] * g.in[1] * g.in[2] >= 1 << 30) return false;
    MaxPoolRow<T> row;
    for (int64_t d = 0; d < g.out[0]; ++d) {
      for (int64_t h = 0; h < g.out[1]; ++h) {
        for (int64_t w = 0; w < g.out[2]; w += row.kLanes) {
          row.run(g, n, c, d, h, w, pool_min(row.kLanes, g.out[2] - w));
        }
      }
    }
    return true;
  }
};

template <class T>
  requires(std::is_same_v<T, Compute<T>>)
struct PoolPlane<MaxPoolBackwardElement<T>> {
  static bool run(const PoolArgs& g, int64_t n, int64_t c) {
    const int64_t step = g.x.space[2], size = g.in[0] * g.in[1] * g.in[2];
    if (g.x.space[1] != g.in[2] * step || (g.in[0] > 1 && g.x.space[0] != g.in[1] * g.x.space[1]))
      return false;
    T* dx = pool_plane<T>(g.x, n, c);
    for (int64_t i = 0; i < size; ++i) dx[i * step] = 0;
    const T* dy = pool_plane<const T>(g.y, n, c);
    const int64_t* indices = pool_plane<const int64_t>(g.indices, n, c);
    for (int64_t d = 0; d < g.out[0]; ++d) {
      for (int64_t h = 0; h < g.out[1]; ++h) {
        for (int64_t w = 0; w < g.out[2]; ++w) {
          const int64_t at = indices[pool_at(g.indices, d, h, w)];
          if (uint64_t(at) < uint64_t(size)) dx[at * step] += dy[pool_at(g.y, d, h, w)];
        }
      }
    }
    return true;
  }
};

}  // namespace flambeau::FLAM_TARGET
