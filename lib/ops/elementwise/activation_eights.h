// GELU on eight floats, by pieces of the normal distribution's tail: at most 1 ULP
// (tests/ops/test_precision.py), without an exponential and a division.
#pragma once
#include <cmath>

#include "kernels/map/piece_rows.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

// Phi(-a) up to 9, whose derivatives are the density's: Taylor's terms, whose rest is 2^-26 of the
// value at the far end.
inline constexpr int kTailRows = 9 * kPiecesOfOne + 1;
inline PieceRow normal_tail_row(double a) {
  constexpr double density = 0.39894228040143267794, root = 0x1.6a09e667f3bcdp-1;  // of 1/2
  return piece_row(0.5 * std::erfc(a * root), -density * std::exp(-0.5 * a * a), 1, a);
}
inline const PieceRows<kTailRows>& normal_tail_rows() {
  static const PieceRows<kTailRows> rows = rows_of<kTailRows>(normal_tail_row);
  return rows;
}

struct GeluOnEights {
  using Rows = PieceRows<kTailRows>;
  const Rows& rows = normal_tail_rows();

  // Far below it falls faster than the rows say; at infinity a product would be NaN.
  FLAM_FN __m256 usual(__m256 x) const {
    return _mm256_and_ps(_mm256_cmp_ps(x, all_eight(-Rows::kEnd), _CMP_GE_OQ),
                         _mm256_cmp_ps(x, all_eight(__builtin_inff()), _CMP_LT_OQ));
  }

  // max(x, 0) - |x| tail, with what the product and the difference lose.
  FLAM_FN __m256 operator()(__m256 x) const {
    const __m256 sign = all_eight(-0.0f), a = _mm256_andnot_ps(sign, x);
    const PieceValue tail = value_at(rows, _mm256_min_ps(a, all_eight(Rows::kEnd)));
    const __m256 base = _mm256_max_ps(x, _mm256_setzero_ps());
    const __m256 high = _mm256_fnmadd_ps(a, tail.high, base);
    const __m256 lost = _mm256_fnmadd_ps(a, tail.high, _mm256_sub_ps(base, high));
    const __m256 y = _mm256_add_ps(high, _mm256_fnmadd_ps(a, tail.low, lost));
    return _mm256_or_ps(y, _mm256_and_ps(x, sign));
  }
};

#else

struct GeluOnEights;  // named only

#endif

}  // namespace flambeau::FLAM_TARGET
