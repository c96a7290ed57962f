// Depthwise convolutions of planes whose rows are next to each other under the taps, for processors
// with AVX-512: rows of the image are read where they lie, once for all taps across, which shift
// them in registers, and several rows of outputs share what is read. Lanes outside of the image are
// masked and rows there are passed over, so that no plane is copied; half types are widened and
// rounded in registers. A sum is one chain, row by row and in it tap by tap.
#pragma once
#include <vector>

#include "kernels/conv/conv_taps.h"
#include "kernels/conv/conv_tile.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

template <class C> using LaneMask = std::conditional_t<sizeof(C) == 4, __mmask16, __mmask8>;

// Lanes [low, high) of a vector, both cut to what it has.
template <class C> FLAM_FN LaneMask<C> lanes_between(int64_t low, int64_t high) {
  const auto upto = [](int64_t n) { return (1u << std::clamp<int64_t>(n, 0, kLanes<C>)) - 1; };
  return LaneMask<C>(upto(high) & ~upto(low));
}

template <class T>
FLAM_FN Vector<GemmCompute<T>> load_lanes(const T* p, LaneMask<GemmCompute<T>> mask) {
  if constexpr (std::is_same_v<T, float>) return _mm512_maskz_loadu_ps(mask, p);
  if constexpr (std::is_same_v<T, double>) return _mm512_maskz_loadu_pd(mask, p);
  if constexpr (sizeof(T) == 2) {
    const __m256i bits = _mm256_maskz_loadu_epi16(mask, p);
    if constexpr (std::is_same_v<T, Half>) return _mm512_maskz_cvtph_ps(0xffff, bits);
    return (Vector<float>)((Vector<uint32_t>)_mm512_maskz_cvtepu16_epi32(0xffff, bits) << 16);
  }
}

// Lanes t to t + kLanes of both.
template <class C> FLAM_FN Vector<C> lanes_from(Vector<C> low, Vector<C> high, int64_t t) {
  if constexpr (sizeof(C) == 4) {
    constexpr Vector<int32_t> lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return _mm512_permutex2var_ps(low, (__m512i)(lane + int32_t(t)), high);
  } else {
    constexpr Vector<int64_t> lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return _mm512_permutex2var_pd(low, (__m512i)(lane + t), high);
  }
}

// What is NaN came from a NaN of the type, whose bits no rounding carries on.
template <class T>
FLAM_FN void store_lanes(T* p, Vector<GemmCompute<T>> v, LaneMask<GemmCompute<T>> mask) {
  if constexpr (std::is_same_v<T, float>) {
    _mm512_mask_storeu_ps(p, mask, v);
  } else if constexpr (std::is_same_v<T, double>) {
    _mm512_mask_storeu_pd(p, mask, v);
  } else if constexpr (std::is_same_v<T, Half>) {
    _mm256_mask_storeu_epi16(p, mask, _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT));
  } else {
    const auto bits = (Vector<uint32_t>)v;
    const auto nearest = (__m512i)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    _mm256_mask_storeu_epi16(p, mask, _mm512_maskz_cvtepi32_epi16(0xffff, nearest));
  }
}

inline constexpr int kDirectRows = 4, kDirectVectors = 2;

template <class T> struct DirectRowArgs {
  using C = GemmCompute<T>;
  const T* const* row;                     // of the image, or null outside
  int64_t at;                              // in them, of the first tap
  int64_t width;                           // taps along a row, neighbours
  LaneMask<C> inside[kDirectVectors + 1];  // of the image, a strip's and those behind it
  const C* w;
  C bias;
  T* out;
  int64_t out_row, columns;
  bool relu;
};

// A strip of Rows rows under Height taps.
template <class T, int Rows, int Height, int Vectors>
void direct_rows(const DirectRowArgs<T>& g) {
  using C = GemmCompute<T>;
  constexpr int kL = kLanes<C>;
  Vector<C> sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows * Vectors; ++i) sum[i / Vectors][i % Vectors] = splat(g.bias);
#pragma GCC unroll 16
  for (int r = 0; r < Rows + Height - 1; ++r) {
    if (!g.row[r]) continue;
    Vector<C> x[Vectors + 1];
#pragma GCC unroll 8
    for (int j = 0; j <= Vectors; ++j) x[j] = load_lanes(g.row[r] + g.at + j * kL, g.inside[j]);
    for (int64_t t = 0; t < g.width; ++t) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) {
        const Vector<C> v = lanes_from<C>(x[j], x[j + 1], t);
#pragma GCC unroll 8
        for (int h = 0; h < Height; ++h) {
          if (r >= h && r - h < Rows)
            sum[r - h][j] = multiply_add<C>(splat(g.w[h * g.width + t]), v, sum[r - h][j]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows * Vectors; ++i) {
    const int64_t j = i % Vectors * kL, left = g.columns - j;
    Vector<C> v = sum[i / Vectors][i % Vectors];
    if (g.relu) v = v < 0 ? Vector<C>{} : v;
    T* to = g.out + i / Vectors * g.out_row + j;
    if constexpr (std::is_same_v<T, C>) {
      if (left >= kL) {
        store_vector<C>(to, v);
        continue;
      }
    }
    store_lanes(to, v, lanes_between<C>(0, left));
  }
}

template <class T, int Vectors, int... Rows>
void run_direct_rows(int64_t rows, int64_t height, const DirectRowArgs<T>& g,
                     std::integer_sequence<int, Rows...>) {
  using Micro = void (*)(const DirectRowArgs<T>&);
  static constexpr Micro three[] = {&direct_rows<T, Rows + 1, 3, Vectors>...},
                         five[] = {&direct_rows<T, Rows + 1, 5, Vectors>...};
  (height == 3 ? three : five)[rows - 1](g);
}

template <class T> class PlaneRows {
 public:
  using C = GemmCompute<T>;
  static bool suits(const TapProduct<T>& g) {
    const TapDim &dh = g.dim[1], &dw = g.dim[2];
    return g.rows == 1 && g.channels == 1 && g.dim[0].taps == 1 && dh.step == 1 && dh.delta == 1 &&
           (dh.taps == 3 || dh.taps == 5) && dw.step == 1 && dw.delta == 1 && dw.stride == 1 &&
           dw.taps <= kLanes<C> && g.out_step[2] == 1 && 2 * dw.count >= kLanes<C>;
  }

  explicit PlaneRows(const TapProduct<T>& g) : g_(g), blocks_(g, 2048) {}

  void run() {
    const int64_t work = blocks_.rows() * blocks_.columns() * (g_.taps() + 4);
    parallel_for(blocks_.count(), 1 + (1 << 18) / work, [&](int64_t i, int64_t end) {
      std::vector<C> weights(size_t(g_.taps()));
      std::vector<const T*> rows(size_t(g_.dim[1].length(blocks_.rows())));
      DirectRowArgs<T> m{};
      m.width = g_.dim[2].taps;
      m.w = weights.data();
      m.out_row = g_.out_step[1];
      m.relu = g_.activation == Activation::relu;
      for (int64_t group = -1; i < end; ++i) {
        const TapBlock b = blocks_[i];
        if (b.group != group) load_group(group = b.group, weights.data(), m);
        for_window_rows(g_, b, image_of(g_, b), 0, g_.dim[1].length(b.rows),
                        [&](int64_t k, const T* from) { rows[size_t(k)] = from; });
        block(b, rows.data(), m);
      }
    });
  }

 private:
  void load_group(int64_t group, C* weights, DirectRowArgs<T>& m) const {
    for (int64_t t = 0; t < g_.taps(); ++t)
      weights[t] = gemm_load(g_.w + group * g_.w_group + g_.tap_offset(t));
    m.bias = g_.bias ? gemm_load(g_.bias + group * g_.bias_stride) : C(0);
  }

  void block(const TapBlock& b, const T* const* image, DirectRowArgs<T> m) const {
    constexpr int64_t kStrip = kDirectVectors * kLanes<C>;
    for (int64_t at = 0; at < b.columns; at += kStrip) {
      m.at = g_.dim[2].start(b.column) + at;
      m.columns = b.columns - at;
      for (int64_t i = 0; i <= kDirectVectors; ++i) {
        const int64_t first = m.at + i * kLanes<C>;
        m.inside[i] = lanes_between<C>(-first, g_.dim[2].size - first);
      }
      for (int64_t row = 0; row < b.rows; row += kDirectRows) {
        m.row = image + row;
        m.out = output_of(g_, b) + row * m.out_row + at;
        strip(std::min<int64_t>(kDirectRows, b.rows - row), m);
      }
    }
  }

  void strip(int64_t rows, const DirectRowArgs<T>& m) const {
    using Rows = std::make_integer_sequence<int, kDirectRows>;
    m.columns > kLanes<C> ? run_direct_rows<T, kDirectVectors>(rows, g_.dim[1].taps, m, Rows{})
                          : run_direct_rows<T, 1>(rows, g_.dim[1].taps, m, Rows{});
  }

  const TapProduct<T>& g_;
  const TapBlocks<T> blocks_;
};

#endif

}  // namespace flambeau::FLAM_TARGET
