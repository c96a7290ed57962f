// Maxima on the host where windows are regular: outputs of a row side by side, so that the compiler
// makes vectors of them, or channels where those are; and a gradient that is scattered instead of
// searched for. The results are those of pool_element.h bit by bit: windows are seen in the same
// order.
#pragma once
#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_vector.h"
#include "kernels/pool/pool_element.h"

namespace flambeau::FLAM_TARGET {

template <class C> using PoolIndex = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;

// What windows hold so far, and what another element changes: the last NaN stays, as in torch.
template <class C> struct MaxLanes {
  Vector<C> top;
  Vector<PoolIndex<C>> best;
  FLAM_FN void see(Vector<C> v, Vector<PoolIndex<C>> index) {
    const auto taken = (v > top) | (v != v);
    top = taken ? v : top;
    best = taken ? index : best;
  }
};

template <class T> struct MaxPoolRow {
  static constexpr int kOutputs = 128;
  using C = Compute<T>;
  using Index = PoolIndex<C>;
  static constexpr int64_t kWide = kLanes<C>;
  C top[kOutputs];
  Index best[kOutputs];

  // Elements 0, 2, 4 ... without a look behind the last one.
  template <size_t... I>
  static FLAM_FN Vector<C> every_second(const T* from, std::index_sequence<I...>) {
    return __builtin_shufflevector(load_as(from), load_as(from + kWide - 1),
                                   int(2 * I < size_t(kWide) ? 2 * I : 2 * I + 1)...);
  }
  template <size_t... I> static FLAM_FN Vector<Index> counted(std::index_sequence<I...>) {
    return Vector<Index>{Index(I)...};
  }

  // Outputs lo to hi of a tap whose input lies at row[w * stride].
  template <int64_t Stride> void tap(const T* row, Index index, int64_t lo, int64_t hi) {
    constexpr auto lanes = std::make_index_sequence<size_t(kWide)>{};
    const Vector<Index> count = counted(lanes) * Index(Stride) + index;
    for (int64_t w = lo; w < hi; w += kWide) {
      if (hi - lo < kWide) return tap(row, 1, Stride, index, lo, hi);
      const int64_t at = pool_min(w, hi - kWide);  // to see an element twice changes nothing
      MaxLanes<C> m{load_vector(top + at), load_vector(best + at)};
      const T* from = row + at * Stride;
      const Vector<C> v = Stride == 1 ? load_as(from) : every_second(from, lanes);
      m.see(v, count + Index(at * Stride));
      store_vector(top + at, m.top);
      store_vector(best + at, m.best);
    }
  }
  void tap(const T* row, int64_t step, int64_t stride, Index index, int64_t lo, int64_t hi) {
    for (int64_t w = lo; w < hi; ++w) {
      const C v = load(row + w * stride * step);
      const bool taken = (v > top[w]) | (v != v);
      top[w] = taken ? v : top[w];
      best[w] = taken ? index + Index(w * stride) : best[w];
    }
  }

  void taps(const PoolArgs& g, const T* row, int64_t plane_row, int64_t first_output, int64_t n) {
    const int64_t step = g.x.space[2], stride = g.stride[2], dilation = g.dilation[2];
    // Taps inside the image for some output: a window may be far wider than what it lies on.
    const int64_t before = g.padding[2] - first_output * stride,
                  outside = before - (n - 1) * stride;
    const int64_t first = outside > 0 ? (outside + dilation - 1) / dilation : 0;
    for (int64_t k = first; k < g.kernel[2]; ++k) {
      const int64_t at = k * dilation - before, room = g.in[2] - at;
      if (room <= 0) break;
      const int64_t lo = at >= 0 ? 0 : (stride - 1 - at) / stride;
      const int64_t hi = (n - 1) * stride < room ? n : (room + stride - 1) / stride;
      const T* from = row + at * step;
      const Index index = Index(plane_row * g.in[2] + at);
      if (step == 1 && stride == 2) {
        tap<2>(from, index, lo, hi);
      } else if (step == 1 && stride == 1) {
        tap<1>(from, index, lo, hi);
      } else {
        tap(from, step, stride, index, lo, hi);
      }
    }
  }

  void run(const PoolArgs& g, int64_t n, int64_t c, int64_t d, int64_t h, int64_t w,
           int64_t count) {
    const PoolSpan sd = pool_window(g, 0, d), sh = pool_window(g, 1, h);
    const T lowest = pool_lowest<T>();
    const int64_t start = (sd.begin * g.in[1] + sh.begin) * g.in[2];
    const Index from = Index(start + w * g.stride[2] - g.padding[2]), stride = Index(g.stride[2]);
    for (int64_t i = 0; i < count; ++i) {
      top[i] = load(&lowest);
      best[i] = from + Index(i) * stride;
    }
    for (int64_t i = 0; i < count && (w + i) * g.stride[2] < g.padding[2]; ++i) {
      best[i] = Index(start + pool_window(g, 2, w + i).begin);
    }
    const T* x = pool_plane<const T>(g.x, n, c);
    for (int64_t a = sd.begin; a < sd.end; a += g.dilation[0]) {
      for (int64_t b = sh.begin; b < sh.end; b += g.dilation[1]) {
        taps(g, x + pool_at(g.x, a, b, 0), a * g.in[1] + b, w, count);
      }
    }
    T* y = pool_plane<T>(g.y, n, c) + pool_at(g.y, d, h, w);
    for (int64_t i = 0; i < count; ++i) y[i * g.y.space[2]] = narrow<T>(top[i]);
    if (!g.indices.data) return;
    int64_t* indices = pool_plane<int64_t>(g.indices, n, c) + pool_at(g.indices, d, h, w);
    for (int64_t i = 0; i < count; ++i) indices[i * g.indices.space[2]] = best[i];
  }
};

// Elements that the window of an output meets, about: it may be far wider than the image.
inline int64_t pool_window_work(const PoolArgs& g) {
  int64_t work = 1;
  for (int d = 0; d < kConvDims; ++d) work *= pool_min(g.kernel[d], g.in[d]);
  return work;
}

template <class T> void max_rows(const PoolArgs& g) {
  const int64_t lines = g.out[0] * g.out[1];
  const int64_t work = 1 + g.out[2] * pool_window_work(g);
  parallel_for(g.images * g.channels * lines, 1 + 16384 / work, [&](int64_t i, int64_t end) {
    MaxPoolRow<T> row;
    for (; i < end; ++i) {
      const int64_t plane = i / lines, line = i % lines;
      for (int64_t w = 0; w < g.out[2]; w += row.kOutputs) {
        row.run(g, plane / g.channels, plane % g.channels, line / g.out[1], line % g.out[1], w,
                pool_min(row.kOutputs, g.out[2] - w));
      }
    }
  });
}

// Channels that are neighbours, a few registers of them at once.
template <class T> struct MaxPoolPixel {
  using C = Compute<T>;
  using Index = PoolIndex<C>;
  static constexpr int64_t kWide = kLanes<C>;
  PoolSpan d, h, w;

  template <int N>
  FLAM_FN void run(const PoolArgs& g, const T* x, T* y, int64_t* indices) const {
    const T lowest = pool_lowest<T>();
    const Index first = Index((d.begin * g.in[1] + h.begin) * g.in[2] + w.begin);
    MaxLanes<C> m[N];
    for (int i = 0; i < N; ++i) m[i] = {splat(load(&lowest)), Vector<Index>{} + first};
    for (int64_t a = d.begin; a < d.end; a += g.dilation[0]) {
      for (int64_t b = h.begin; b < h.end; b += g.dilation[1]) {
        for (int64_t e = w.begin; e < w.end; e += g.dilation[2]) {
          const T* from = x + pool_at(g.x, a, b, e);
          const Vector<Index> here = Vector<Index>{} + Index((a * g.in[1] + b) * g.in[2] + e);
#pragma GCC unroll 4
          for (int i = 0; i < N; ++i) m[i].see(load_as(from + i * kWide), here);
        }
      }
    }
    C values[N * kWide];
    Index places[N * kWide];
    for (int i = 0; i < N; ++i) {
      store_vector(values + i * kWide, m[i].top);
      store_vector(places + i * kWide, m[i].best);
    }
    for (int64_t i = 0; i < N * kWide; ++i) y[i] = narrow<T>(values[i]);
    if (!indices) return;
    for (int64_t i = 0; i < N * kWide; ++i) indices[i] = places[i];
  }

  void channels(const PoolArgs& g, const T* x, T* y, int64_t* indices) const {
    int64_t c = 0;
    auto at = [&](int64_t i) { return indices ? indices + i : nullptr; };
    for (; c + 4 * kWide <= g.channels; c += 4 * kWide) run<4>(g, x + c, y + c, at(c));
    for (; c + kWide <= g.channels; c += kWide) run<1>(g, x + c, y + c, at(c));
    const int64_t last = g.channels - kWide;
    if (c < g.channels) run<1>(g, x + last, y + last, at(last));
  }
};

template <class T> void max_pixels(const PoolArgs& g) {
  const int64_t lines = g.out[0] * g.out[1];
  const int64_t work = 1 + g.channels * g.out[2] * pool_window_work(g);
  parallel_for(g.images * lines, 1 + 16384 / work, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t n = i / lines, d = i % lines / g.out[1], h = i % g.out[1];
      for (int64_t w = 0; w < g.out[2]; ++w) {
        const MaxPoolPixel<T> pixel{pool_window(g, 0, d), pool_window(g, 1, h),
                                    pool_window(g, 2, w)};
        pixel.channels(
            g, pool_plane<const T>(g.x, n, 0), pool_plane<T>(g.y, n, 0) + pool_at(g.y, d, h, w),
            g.indices.data ? pool_plane<int64_t>(g.indices, n, 0) + pool_at(g.indices, d, h, w)
                           : nullptr);
      }
    }
  });
}

template <class T>
  requires(!std::is_integral_v<T>)
struct PoolImages<MaxPoolElement<T>> {
  static bool run(const PoolArgs& g) {
    if (g.in[0] * g.in[1] * g.in[2] >= 1 << 30) return false;
    const bool last = pool_is_last(g.x, g.channels) && pool_is_last(g.y, g.channels) &&
                      (!g.indices.data || pool_is_last(g.indices, g.channels));
    if (last && g.channels >= kLanes<Compute<T>>) return max_pixels<T>(g), true;
    if (g.adaptive) return false;
    return max_rows<T>(g), true;
  }
};

// The gradient of some channels of one image: all that lies where a maximum was.
template <class T> struct MaxScatter {
  using C = Compute<T>;
  const PoolArgs& g;
  const int64_t size;    // of a plane
  std::vector<C> apart;  // sums of what is not dense, or rounded in the end

  explicit MaxScatter(const PoolArgs& args) : g(args), size(g.in[0] * g.in[1] * g.in[2]) {}

  void run(int64_t image, int64_t channel, int64_t n) {
    T* dx = pool_plane<T>(g.x, image, channel);
    const int64_t pixel = g.x.space[2];
    auto follow = [&](int d, int64_t stride) { return g.in[d] == 1 || g.x.space[d] == stride; };
    const bool line = g.x.space[2] == n && (n == 1 || g.x.inner == 1);
    const bool dense = follow(1, g.in[2] * pixel) && follow(0, g.in[1] * g.in[2] * pixel) &&
                       (n == 1 || g.x.inner == 1);
    if constexpr (std::is_same_v<T, C>) {
      if (dense) {
        if (pixel == n) {
          std::fill(dx, dx + size * n, T(0));
        } else {
          for (int64_t i = 0; i < size; ++i) std::fill(dx + i * pixel, dx + i * pixel + n, T(0));
        }
        return scatter(dx, pixel, image, channel, n);
      }
    }
    apart.assign(size_t(size * n), C(0));
    scatter(apart.data(), n, image, channel, n);
    const C* from = apart.data();
    for (int64_t d = 0; d < g.in[0]; ++d) {
      for (int64_t h = 0; h < g.in[1]; ++h) {
        if (line) {
          T* to = dx + pool_at(g.x, d, h, 0);
          for (int64_t i = 0; i < g.in[2] * n; ++i) to[i] = narrow<T>(from[i]);
          from += g.in[2] * n;
          continue;
        }
        for (int64_t w = 0; w < g.in[2]; ++w) {
          T* to = dx + pool_at(g.x, d, h, w);
          for (int64_t c = 0; c < n; ++c) to[c * g.x.inner] = narrow<T>(*from++);
        }
      }
    }
  }

 private:
  void scatter(C* sums, int64_t pixel, int64_t image, int64_t channel, int64_t n) const {
    const T* dy = pool_plane<const T>(g.y, image, channel);
    const int64_t* indices = pool_plane<const int64_t>(g.indices, image, channel);
    const bool dense = n == 1 && pixel == 1 && g.y.space[2] == 1 && g.indices.space[2] == 1;
    for (int64_t d = 0; d < g.out[0]; ++d) {
      for (int64_t h = 0; h < g.out[1]; ++h) {
        const T* slopes = dy + pool_at(g.y, d, h, 0);
        const int64_t* places = indices + pool_at(g.indices, d, h, 0);
        if (dense) {
          for (int64_t w = 0; w < g.out[2]; ++w) add(sums, places[w], load(slopes + w), 1);
          continue;
        }
        for (int64_t w = 0; w < g.out[2]; ++w) {
          const T* slope = slopes + w * g.y.space[2];
          const int64_t* place = places + w * g.indices.space[2];
          for (int64_t c = 0; c < n; ++c) {
            add(sums + c, place[c * g.indices.inner], load(slope + c * g.y.inner), pixel);
          }
        }
      }
    }
  }
  FLAM_FN void add(C* sums, int64_t at, C slope, int64_t pixel) const {
    if (uint64_t(at) < uint64_t(size)) sums[at * pixel] += slope;
  }
};

template <class T> struct PoolImages<MaxPoolBackwardElement<T>> {
  static bool run(const PoolArgs& g) {
    const bool last = pool_is_last(g.x, g.channels) && pool_is_last(g.y, g.channels);
    const int64_t lanes = last ? pool_min(g.channels, 64) : 1,
                  blocks = (g.channels + lanes - 1) / lanes;
    const int64_t work = lanes * g.in[0] * g.in[1] * g.in[2];
    parallel_for(g.images * blocks, 1 + 16384 / work, [&](int64_t i, int64_t end) {
      MaxScatter<T> scatter(g);
      for (; i < end; ++i) {
        const int64_t channel = i % blocks * lanes;
        scatter.run(i / blocks, channel, pool_min(lanes, g.channels - channel));
      }
    });
    return true;
  }
};

}  // namespace flambeau::FLAM_TARGET
