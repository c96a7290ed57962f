// Functions by many short pieces, for processors with AVX2: a row of each piece's terms is one load
// out of memory, and the rows of eight numbers are turned into vectors of terms. That costs fewer
// operations than a formula for the whole whose roundings are carried along; AVX-512 has registers
// wide enough for a table of its own (pieces.h). The rows are made at their first use, in double.
#pragma once
#include <cmath>

#include "kernels/types.h"
#if FLAM_ISA_RANK == 1
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

inline constexpr int kPiecesOfOne = 128;  // so a step from a piece's middle is at most 1/256

// The value at `step` from the middle is high + (low + step * (first + step * (second + ...))). Of
// the third term and of `low` few digits matter, so they share a word: the third one's last 12 bits
// are the first of `low`.
struct PieceRow {
  float high, first, second;
  uint32_t third_low;
};
template <int kRows> struct PieceRows {
  static constexpr float kEnd = float(kRows - 1) / kPiecesOfOne;
  alignas(32) PieceRow row[kRows];
};

inline uint32_t third_with_low(double third, double low) {
  const uint32_t bits = bits_as<uint32_t>(float(third)) & ~0xfffu;
  const uint32_t last = (bits_as<uint32_t>(float(low)) + 0x80000u) >> 20;
  uint32_t nearest = bits | last;
  for (const uint32_t other : {bits + 0x1000u, bits - 0x1000u}) {
    const double off = std::fabs(double(bits_as<float>(other | last)) - third);
    if (off < std::fabs(double(bits_as<float>(nearest)) - third)) nearest = other | last;
  }
  return nearest;
}

// The cubic through the function's values at Chebyshev's points around the middle, by Newton's
// divided differences.
inline PieceRow piece_row(double (*function)(double), double middle) {
  constexpr double kPoint[2] = {0.92387953251128675613, 0.38268343236508977173};
  const double half = 0.5 / kPiecesOfOne;
  const double x[4] = {kPoint[0] * half, kPoint[1] * half, -kPoint[1] * half, -kPoint[0] * half};
  double y[4], term[4] = {};
  for (int i = 0; i < 4; ++i) y[i] = function(middle + x[i]);
  for (int k = 1; k < 4; ++k) {
    for (int i = 3; i >= k; --i) y[i] = (y[i] - y[i - 1]) / (x[i] - x[i - k]);
  }
  for (int i = 3; i >= 0; --i) {
    for (int k = 3; k > 0; --k) term[k] = term[k - 1] - x[i] * term[k];
    term[0] = y[i] - x[i] * term[0];
  }
  const float high = float(term[0]);
  const uint32_t last = third_with_low(term[3], term[0] - double(high));
  return {high, float(term[1]), float(term[2]), last};
}
template <int kRows> PieceRows<kRows> rows_of(double (*function)(double)) {
  PieceRows<kRows> rows;
  for (int i = 0; i < kRows; ++i) rows.row[i] = piece_row(function, double(i) / kPiecesOfOne);
  return rows;
}

FLAM_FN __m256 all_eight(float x) { return _mm256_set1_ps(x); }

// Of eight numbers x the pieces of a = scale x, the scale in two parts: how far the middles are,
// and how many bytes from the first row theirs lie.
struct PiecePlace {
  __m256 step;
  __m256i bytes;
};
FLAM_FN PiecePlace place_of(__m256 x, float scale = 1, float scale_low = 0) {
  constexpr float round = 0x1.8p23f;  // added, leaves the nearest integer in the low bits
  const __m256 shifted = _mm256_fmadd_ps(x, all_eight(kPiecesOfOne * scale), all_eight(round));
  const __m256 number = _mm256_sub_ps(shifted, all_eight(round));
  constexpr float width = 1.0f / kPiecesOfOne;
  __m256 step = _mm256_fnmadd_ps(number, all_eight(width), x);
  if (scale != 1) {
    step = _mm256_fmsub_ps(x, all_eight(scale), _mm256_mul_ps(number, all_eight(width)));
    step = _mm256_fmadd_ps(x, all_eight(scale_low), step);
  }
  return {step, _mm256_srli_epi32(_mm256_slli_epi32(_mm256_castps_si256(shifted), 18), 14)};
}

struct PieceValue {
  __m256 high, rest;  // whose sum is the value
};

// `bytes` lie in memory: gcc would take the numbers out of a register, for which there is one port.
template <int kRows>
FLAM_FN PieceValue value_at(const PieceRows<kRows>& rows, __m256 step, const uint32_t* bytes) {
  const volatile uint32_t* const stored = bytes;
  const char* const start = reinterpret_cast<const char*>(rows.row);
  const auto both = [&](int r) __attribute__((always_inline)) {
    const auto near = reinterpret_cast<const float*>(start + stored[r]);
    const auto far = reinterpret_cast<const float*>(start + stored[r + 4]);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(near)), _mm_load_ps(far), 1);
  };
  const __m256 a = both(0), b = both(1), c = both(2), d = both(3);
  const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
  const __m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
  const __m256d later_ab = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
  const __m256d later_cd = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
  const __m256 high = _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd));
  const __m256 first = _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd));
  const __m256 second = _mm256_castpd_ps(_mm256_unpacklo_pd(later_ab, later_cd));
  const __m256 third = _mm256_castpd_ps(_mm256_unpackhi_pd(later_ab, later_cd));
  const __m256 low = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(third), 20));
  const __m256 slope = _mm256_fmadd_ps(step, _mm256_fmadd_ps(step, third, second), first);
  return {high, _mm256_fmadd_ps(step, slope, low)};
}

// base + factor * value, rounded once but for what is left of the rest; the base is 0 or above the
// product in size.
FLAM_FN __m256 sum_with(__m256 base, __m256 factor, PieceValue value) {
  const __m256 high = _mm256_fmadd_ps(factor, value.high, base);
  const __m256 lost = _mm256_fmadd_ps(factor, value.high, _mm256_sub_ps(base, high));
  return _mm256_add_ps(high, _mm256_fmadd_ps(factor, value.rest, lost));
}

#endif

}  // namespace flambeau::FLAM_TARGET
