// The elementwise loop around a form of a functor on vectors, `OnLanes<kRough>`, rough for results
// of a half type, which is converted in registers. The form says by `usual` in which lanes it
// holds; the others are the functor's own, so that no result depends on a number's neighbours.
#pragma once
#include "kernels/map/map_element.h"
#include "kernels/map/pieces.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

template <class F, class... T>
inline constexpr bool kHasLanes =
    requires { typename F::template OnLanes<true>; } && (std::is_same_v<Compute<T>, float> && ...);

inline constexpr int kLaneCount = kLanes<float>;

// What a loop takes at once: a vector of floats; of a half type two, for bfloat16 the even and the
// odd elements, which need no permutation.
template <class T> struct Batch {
  static constexpr int kVectors = sizeof(T) == 2 ? 2 : 1, kCount = kVectors * kLaneCount;
  Lanes v[kVectors];

  FLAM_FN explicit Batch(const T* p) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      const __m512i both = _mm512_loadu_si512(p);
      v[0] = (Lanes)((Vector<uint32_t>)both << 16);
      v[1] = (Lanes)_mm512_and_si512(both, _mm512_set1_epi32(int32_t(0xffff0000)));
    } else {
      for (int i = 0; i < kVectors; ++i) v[i] = load_as(p + i * kLaneCount);
    }
  }
  template <class F> FLAM_FN explicit Batch(const F& f) {
    for (int i = 0; i < kVectors; ++i) v[i] = f(i);
  }

  FLAM_FN void store(T* p) const {  // NaN is the usual one, or has no bits that rounding carries
    if constexpr (std::is_same_v<T, float>) {
      store_vector<float>(p, v[0]);
    } else if constexpr (std::is_same_v<T, Half>) {
      for (int i = 0; i < kVectors; ++i) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + i * kLaneCount),
                            _mm512_maskz_cvtps_ph(0xffff, v[i], _MM_FROUND_TO_NEAREST_INT));
      }
    } else {
      const auto even = (__m512i)(to_nearest(v[0]) >> 16), odd = (__m512i)to_nearest(v[1]);
      _mm512_storeu_si512(p, _mm512_mask_blend_epi16(0xaaaaaaaa, even, odd));
    }
  }

 private:
  FLAM_FN static Vector<uint32_t> to_nearest(Lanes x) {  // in the upper half
    const auto bits = (Vector<uint32_t>)x;
    return bits + 0x7fffu + ((bits >> 16) & 1u);
  }
};

template <class T> struct Padded {
  alignas(64) T at[Batch<T>::kCount] = {};
  Padded(const T* p, int64_t n) { memcpy(at, p, size_t(n) * sizeof(T)); }
  const T* begin() const { return at; }
};

// The functor's own results, in a loop that the compiler vectorises.
template <class F, class... In>
__attribute__((noinline)) void functor_apart(const F& f, int64_t n, float* __restrict out,
                                             const In*... in) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]...);
}

inline constexpr int64_t kApart = 256;  // at most, and whole batches

// The first n of any numbers: the form's results in its lanes, the functor's in the others.
template <class Out, class... In, class F, class OnLanes, size_t... I>
__attribute__((noinline)) void lanes_apart(std::index_sequence<I...>, const F& f,
                                           const OnLanes& lanes, int64_t n, Out* to,
                                           const In*... from) {
  constexpr int kCount = Batch<Out>::kCount;
  alignas(64) float in[sizeof...(In)][kApart], own[kApart];
  uint32_t usual = 0xffff;
  for (int64_t i = 0; i < n; i += kCount) {
    const int64_t m = std::min<int64_t>(kCount, n - i);
    const std::tuple<Batch<In>...> x{Batch<In>(Padded<In>(from + i, m).begin())...};
    for (int v = 0; v < Batch<Out>::kVectors; ++v) {
      usual &= lanes.usual(std::get<I>(x).v[v]...);
      (store_vector<float>(in[I] + i + v * kLaneCount, std::get<I>(x).v[v]), ...);
    }
  }
  const bool all = usual == 0xffff;
  if (!all) functor_apart<F>(f, (n + kCount - 1) / kCount * kCount, own, in[I]...);
  for (int64_t i = 0; i < n; i += kCount) {
    Out y[kCount];
    Batch<Out>([&](int v) {
      const int64_t at = i + v * kLaneCount;
      const Lanes form = lanes(load_vector(in[I] + at)...);
      if (all) return form;
      const Lanes other = load_vector(own + at);
      const __mmask16 nan = _mm512_cmp_ps_mask(other, other, _CMP_UNORD_Q);
      return _mm512_mask_mov_ps(_mm512_mask_mov_ps(other, nan, splat(__builtin_nanf(""))),
                                lanes.usual(load_vector(in[I] + at)...), form);
    }).store(y);
    memcpy(to + i, y, size_t(std::min<int64_t>(kCount, n - i)) * sizeof(Out));
  }
}

// From element i on, up to the first batch that is not whole or not usual, whose place it returns.
template <class Out, class... In, class OnLanes>
__attribute__((noinline)) int64_t usual_lanes(const OnLanes& lanes, int64_t i, int64_t n, Out* out,
                                              const In*... in) {
  constexpr int kCount = Batch<Out>::kCount;
  for (; i + kCount <= n; i += kCount) {
    const std::tuple<Batch<In>...> x{Batch<In>(in + i)...};
    const auto each = [&](int v, const auto& form) __attribute__((always_inline)) {
      return std::apply(
          [&](const auto&... b) __attribute__((always_inline)) { return form(b.v[v]...); }, x);
    };
    uint32_t usual = 0xffff;
    for (int v = 0; v < Batch<Out>::kVectors; ++v)
      usual &=
          each(v, [&](auto... x_) __attribute__((always_inline)) { return lanes.usual(x_...); });
    if (usual != 0xffff) break;
    Batch<Out>([&](int v) __attribute__((always_inline)) { return each(v, lanes); }).store(out + i);
  }
  return i;
}

template <class Out, class... In, class F, class OnLanes>
void lanes_loop(const F& f, const OnLanes& lanes, int64_t n, Out* out, const In*... in) {
  constexpr int64_t kCount = Batch<Out>::kCount;
  for (int64_t i = 0, most = kCount; i < n;) {  // the more, the longer others follow one another
    const int64_t first = i;
    i = usual_lanes<Out, In...>(lanes, i, n, out, in...);
    most = i - first > 4 * kCount ? kCount : std::min(2 * most, kApart);
    const int64_t m = std::min(most, n - i);
    if (m) lanes_apart(std::index_sequence_for<In...>{}, f, lanes, m, out + i, (in + i)...);
    i += m;
  }
}

#else

template <class F, class... T> inline constexpr bool kHasLanes = false;

#endif

}  // namespace flambeau::FLAM_TARGET
