// The error function and its complement on eight floats, by pieces: at most 1 ULP
// (tests/ops/test_precision.py), without an exponential and a division.
#pragma once
#include "ops/elementwise/normal_far.h"
#include "ops/elementwise/tail_rows.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

struct UnusualErfc {
  FLAM_FN float operator()(float x) const { return single::far_erfc(x); }
};

struct ErfcOnEights {
  using Others = UnusualErfc;
  static constexpr float kEnd = 6.25f;
  const NormalTailRows& rows = normal_tail_rows();

  FLAM_FN __m256 usual(__m256 x) const { return _mm256_cmp_ps(x, all_eight(kEnd), _CMP_LE_OQ); }
  FLAM_FN __m256i place(__m256 x) const { return place_of_size(x).bytes; }

  // Below 0 it is 2 - erfc(-x).
  FLAM_FN __m256 operator()(__m256 x, const uint32_t* place) const {
    const __m256 sign = _mm256_and_ps(all_eight(-0.0f), x);
    const __m256 base = _mm256_blendv_ps(_mm256_setzero_ps(), all_eight(2), sign);
    const PieceValue tail = value_at(rows, place_of_size(x).step, place);
    return sum_with(base, _mm256_or_ps(all_eight(2), sign), tail);
  }

 private:
  FLAM_FN static PiecePlace place_of_size(__m256 x) {
    const __m256 a = _mm256_min_ps(_mm256_andnot_ps(all_eight(-0.0f), x), all_eight(kEnd));
    return place_of(a, 0x1.6a09e6p+0f, 0x1.9fcef4p-26f);  // sqrt(2)
  }
};

// Up to 1 the rows are of what erf(a) is above a, so that small numbers keep their digits. From 4
// on it is 1.
using ErfRows = PieceRows<4 * kPiecesOfOne + 1>;
inline double erf_above(double a) { return std::erf(a) - a; }
inline double erf_itself(double a) { return std::erf(a); }
inline const ErfRows& erf_rows() {
  static const ErfRows rows = [] {
    ErfRows r = rows_of<4 * kPiecesOfOne + 1>(erf_itself);
    for (int i = 0; i < kPiecesOfOne; ++i)
      r.row[i] = piece_row(erf_above, double(i) / kPiecesOfOne);
    r.row[0].high = r.row[0].second = 0;  // an odd function
    r.row[0].third_low &= ~0xfffu;
    return r;
  }();
  return rows;
}

struct ErfOnEights {
  const ErfRows& rows = erf_rows();

  FLAM_FN __m256 usual(__m256 x) const { return _mm256_cmp_ps(x, x, _CMP_ORD_Q); }
  FLAM_FN __m256i place(__m256 x) const { return place_of(size_of(x)).bytes; }

  FLAM_FN __m256 operator()(__m256 x, const uint32_t* place) const {
    constexpr int32_t kWhole = kPiecesOfOne * int32_t(sizeof(PieceRow));
    const __m256 sign = all_eight(-0.0f), a = size_of(x);
    const PieceValue v = value_at(rows, place_of(a).step, place);
    const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(place));
    const __m256i above = _mm256_cmpgt_epi32(_mm256_set1_epi32(kWhole), bytes);
    const __m256 base = _mm256_and_ps(a, _mm256_castsi256_ps(above));
    const __m256 high = _mm256_add_ps(base, v.high);
    const __m256 lost = _mm256_add_ps(_mm256_sub_ps(base, high), v.high);
    const __m256 y = _mm256_add_ps(high, _mm256_add_ps(lost, v.rest));
    return _mm256_or_ps(y, _mm256_and_ps(x, sign));
  }

 private:
  FLAM_FN static __m256 size_of(__m256 x) {
    return _mm256_min_ps(_mm256_andnot_ps(all_eight(-0.0f), x), all_eight(ErfRows::kEnd));
  }
};

#else

// Named only.
struct ErfcOnEights;
struct ErfOnEights;

#endif

}  // namespace flambeau::FLAM_TARGET
