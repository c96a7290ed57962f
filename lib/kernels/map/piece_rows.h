// Functions by many short pieces, for processors with AVX2: of each piece a row of eight terms lies
// in memory, and the rows of eight numbers are turned into vectors of terms. That costs fewer
// operations than a formula for the whole whose roundings are carried along; AVX-512 has registers
// wide enough for a table of its own (pieces.h). The rows are made at their first use, by whoever
// knows the function's derivatives, in double.
#pragma once
#include "kernels/types.h"
#if FLAM_ISA_RANK == 1
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

inline constexpr int kPiecesOfOne = 32;  // so a step from a piece's middle is at most 1/64

// The value at `step` from the middle is high + (low + step * (slope[0] + step * ...)).
struct PieceRow {
  float high, low, slope[6];
};
template <int kRows> struct PieceRows {
  static constexpr float kEnd = float(kRows - 1) / kPiecesOfOne;
  alignas(32) PieceRow row[kRows];
};

// Of a function whose slope is exp(-scale a^2 / 2) but for a factor: the higher derivatives by
// Hermite's recurrence.
inline PieceRow piece_row(double value, double slope, double scale, double a) {
  PieceRow row;
  row.high = float(value);
  row.low = float(value - double(row.high));
  double before = 0, factorial = 1;
  for (int n = 0; n < 6; ++n) {
    factorial *= n + 1;
    row.slope[n] = float(slope / factorial);
    const double next = -scale * (a * slope + n * before);
    before = slope;
    slope = next;
  }
  return row;
}
template <int kRows> PieceRows<kRows> rows_of(PieceRow (*row)(double a)) {
  PieceRows<kRows> rows;
  for (int i = 0; i < kRows; ++i) rows.row[i] = row(double(i) / kPiecesOfOne);
  return rows;
}

FLAM_FN __m256 all_eight(float x) { return _mm256_set1_ps(x); }

// Four terms of eight rows, from term `at` on; a row's high half lies in a register's high half.
FLAM_FN void turn_terms(const PieceRow* const* row, int at, __m256* term) {
  const auto both = [&](int r) __attribute__((always_inline)) {
    const float *near = &row[r]->high + at, *far = &row[r + 4]->high + at;
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(near)), _mm_load_ps(far), 1);
  };
  const __m256 a = both(0), b = both(1), c = both(2), d = both(3);
  const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
  const __m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
  const __m256d later_ab = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
  const __m256d later_cd = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
  term[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd));
  term[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd));
  term[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(later_ab, later_cd));
  term[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(later_ab, later_cd));
}

struct PieceValue {
  __m256 high, low;  // what rounding the sum lost
};

// At eight numbers from 0 to the rows' end.
template <int kRows> FLAM_FN PieceValue value_at(const PieceRows<kRows>& rows, __m256 a) {
  constexpr float round = 0x1.8p23f;  // added, leaves the nearest integer in the low bits
  const __m256 shifted = _mm256_fmadd_ps(a, all_eight(kPiecesOfOne), all_eight(round));
  const __m256 number = _mm256_sub_ps(shifted, all_eight(round));
  const __m256 step = _mm256_fnmadd_ps(number, all_eight(1.0f / kPiecesOfOne), a);
  alignas(32) uint32_t bits[8];
  _mm256_store_ps(reinterpret_cast<float*>(bits), shifted);
  // Out of memory: gcc would take the numbers out of the register, for which there is one port.
  const volatile uint32_t* const stored = bits;
  const PieceRow* row[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) row[i] = rows.row + (stored[i] & 0x3fff);
  __m256 term[8];
  turn_terms(row, 0, term);
  turn_terms(row, 4, term + 4);
  __m256 rest = term[7];
#pragma GCC unroll 8
  for (int k = 6; k > 0; --k) rest = _mm256_fmadd_ps(step, rest, term[k]);
  const __m256 high = _mm256_add_ps(term[0], rest);
  return {high, _mm256_sub_ps(rest, _mm256_sub_ps(high, term[0]))};
}

#endif

}  // namespace flambeau::FLAM_TARGET
