// The complement of the error function on eight floats, by pieces: at most 1 ULP
// (tests/ops/test_precision.py), without an exponential and a division.
#pragma once
#include <cmath>

#include "kernels/map/piece_rows.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

// erfc(a) up to 8 and its derivatives, by Taylor's terms, whose rest is 2^-26 of the value there.
inline constexpr int kErfcRows = 8 * kPiecesOfOne + 1;
inline PieceRow erfc_row(double a) {
  return piece_row(std::erfc(a), -1.1283791670955125739 * std::exp(-a * a), 2, a);
}
inline const PieceRows<kErfcRows>& erfc_rows() {
  static const PieceRows<kErfcRows> rows = rows_of<kErfcRows>(erfc_row);
  return rows;
}

struct ErfcOnEights {
  using Rows = PieceRows<kErfcRows>;
  const Rows& rows = erfc_rows();

  FLAM_FN __m256 usual(__m256 x) const {
    return _mm256_cmp_ps(x, all_eight(Rows::kEnd), _CMP_LE_OQ);
  }

  // Below 0 it is 2 - erfc(-x), with what the difference loses.
  FLAM_FN __m256 operator()(__m256 x) const {
    const __m256 sign = _mm256_and_ps(all_eight(-0.0f), x);
    const PieceValue v =
        value_at(rows, _mm256_min_ps(_mm256_xor_ps(x, sign), all_eight(Rows::kEnd)));
    const __m256 base = _mm256_blendv_ps(_mm256_setzero_ps(), all_eight(2), sign);
    const __m256 part = _mm256_xor_ps(v.high, sign), high = _mm256_add_ps(base, part);
    const __m256 lost = _mm256_add_ps(_mm256_sub_ps(base, high), part);
    return _mm256_add_ps(high, _mm256_add_ps(lost, _mm256_xor_ps(v.low, sign)));
  }
};

#else

struct ErfcOnEights;  // named only

#endif

}  // namespace flambeau::FLAM_TARGET
