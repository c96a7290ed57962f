// Vectors of doubles that floats are folded into: four lanes, or eight where the processor converts
// to eight as fast, lane by lane; AMD's Zen 4 takes twice as long. A sum is a product with one,
// added: products have ports of their own on AMD, where conversions and sums share theirs.
#pragma once
#include "kernels/fold/converts_eight.h"
#include "kernels/fold/fold_common.h"
#if FLAM_ISA_RANK > 0
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK > 0

struct Wide {
  static constexpr int kLanes = 4;
  __m256d v;

  static FLAM_FN Wide all(double x) { return {_mm256_set1_pd(x)}; }
  static FLAM_FN Wide load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static FLAM_FN Wide load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
  static FLAM_FN Wide load(const char* p, int64_t stride) {
    float x[4];
    for (int l = 0; l < 4; ++l, p += stride) memcpy(&x[l], p, sizeof(float));
    return load(x);
  }
  FLAM_FN void store(double* p) const { _mm256_storeu_pd(p, v); }

  friend FLAM_FN Wide operator+(Wide a, Wide b) {
    return {_mm256_fmadd_pd(b.v, _mm256_set1_pd(1), a.v)};
  }
  friend FLAM_FN Wide operator-(Wide a, Wide b) { return {_mm256_sub_pd(a.v, b.v)}; }
  friend FLAM_FN Wide operator*(Wide a, Wide b) { return {_mm256_mul_pd(a.v, b.v)}; }
};

FLAM_FN Wide plus_product(Wide a, Wide x, Wide y) { return {_mm256_fmadd_pd(x.v, y.v, a.v)}; }
FLAM_FN Wide magnitude(Wide x) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), x.v)}; }

#else

struct Wide {
  static constexpr int kLanes = 4;
  double v[4];

  template <class F> static FLAM_FN Wide of(const F& f) { return {{f(0), f(1), f(2), f(3)}}; }
  static FLAM_FN Wide all(double x) { return {{x, x, x, x}}; }
  template <class T> static FLAM_FN Wide load(const T* p) {
    return of([&](int l) { return double(p[l]); });
  }
  static FLAM_FN Wide load(const char* p, int64_t stride) {
    return of([&](int l) { return double(*reinterpret_cast<const float*>(p + l * stride)); });
  }
  FLAM_FN void store(double* p) const { memcpy(p, v, sizeof v); }

  friend FLAM_FN Wide operator+(Wide a, Wide b) {
    return of([&](int l) { return a.v[l] + b.v[l]; });
  }
  friend FLAM_FN Wide operator-(Wide a, Wide b) {
    return of([&](int l) { return a.v[l] - b.v[l]; });
  }
  friend FLAM_FN Wide operator*(Wide a, Wide b) {
    return of([&](int l) { return a.v[l] * b.v[l]; });
  }
};
FLAM_FN Wide plus_product(Wide a, Wide x, Wide y) { return a + x * y; }
FLAM_FN Wide magnitude(Wide x) {
  return Wide::of([&](int l) { return __builtin_fabs(x.v[l]); });
}

#endif

#if FLAM_ISA_RANK == 2

struct Wider {
  static constexpr int kLanes = 8;
  __m512d v;

  static FLAM_FN Wider of(__m256 x) {
    return {_mm512_maskz_cvtps_pd(0xff, x)};  // gcc 12 warns of the plain form's undefined part
  }
  static FLAM_FN Wider all(double x) { return {_mm512_set1_pd(x)}; }
  static FLAM_FN Wider load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static FLAM_FN Wider load(const float* p) { return of(_mm256_loadu_ps(p)); }
  static FLAM_FN Wider load_part(const float* p, int n) {
    return of(_mm256_maskz_loadu_ps(first(n), p));
  }
  static FLAM_FN __mmask8 first(int n) { return __mmask8((1u << n) - 1); }
  // The first n lanes, and the others of what is there.
  FLAM_FN Wider part(int n, Wider others) const {
    return {_mm512_mask_mov_pd(others.v, first(n), v)};
  }
  FLAM_FN void store(double* p) const { _mm512_storeu_pd(p, v); }

  friend FLAM_FN Wider operator+(Wider a, Wider b) {
    return {_mm512_fmadd_pd(b.v, _mm512_set1_pd(1), a.v)};
  }
  friend FLAM_FN Wider operator-(Wider a, Wider b) { return {_mm512_sub_pd(a.v, b.v)}; }
  friend FLAM_FN Wider operator*(Wider a, Wider b) { return {_mm512_mul_pd(a.v, b.v)}; }
};

FLAM_FN Wider plus_product(Wider a, Wider x, Wider y) { return {_mm512_fmadd_pd(x.v, y.v, a.v)}; }
FLAM_FN Wider magnitude(Wider x) { return {_mm512_abs_pd(x.v)}; }

using Widest = Wider;
#else
using Widest = Wide;
#endif

// f(tag of the vectors to fold with).
template <class F> FLAM_FN auto with_wide(const F& f) {
#if FLAM_ISA_RANK == 2
  if (converts_eight) return f(TypeTag<Wider>{});
#endif
  return f(TypeTag<Wide>{});
}

}  // namespace flambeau::FLAM_TARGET
