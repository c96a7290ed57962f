// GELU on eight floats, by pieces of the normal distribution's tail: at most 1 ULP
// (tests/ops/test_precision.py), without an exponential and a division.
#pragma once
#include "ops/elementwise/normal_far.h"
#include "ops/elementwise/tail_rows.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

struct UnusualGelu {
  FLAM_FN float operator()(float x) const { return x > 0 ? x : single::far_gelu(x); }
};

struct GeluOnEights {
  using Others = UnusualGelu;
  using Rows = NormalTailRows;
  const Rows& rows = normal_tail_rows();

  // Not from the last row but one, beyond which it falls faster than rows say, to where it is 0;
  // nor at infinities, of which a difference would be NaN.
  FLAM_FN __m256 usual(__m256 x) const {
    constexpr float first = -Rows::kEnd + 1.0f / kPiecesOfOne, end = single::kGeluEnd;
    const __m256 apart = size(_mm256_sub_ps(x, all_eight((first + end) / 2)));
    return _mm256_and_ps(_mm256_cmp_ps(apart, all_eight((first - end) / 2), _CMP_GE_OQ),
                         _mm256_cmp_ps(apart, all_eight(__builtin_inff()), _CMP_LT_OQ));
  }
  FLAM_FN __m256i place(__m256 x) const { return place_of(size_of(x)).bytes; }

  // max(x, 0) - |x| tail.
  FLAM_FN __m256 operator()(__m256 x, const uint32_t* place) const {
    const __m256 sign = all_eight(-0.0f), a = size_of(x);
    const PieceValue tail = value_at(rows, place_of(a).step, place);
    const __m256 y = sum_with(_mm256_max_ps(x, _mm256_setzero_ps()), _mm256_xor_ps(a, sign), tail);
    return _mm256_or_ps(y, _mm256_and_ps(x, sign));
  }

 private:
  FLAM_FN static __m256 size(__m256 x) { return _mm256_andnot_ps(all_eight(-0.0f), x); }
  FLAM_FN static __m256 size_of(__m256 x) { return _mm256_min_ps(size(x), all_eight(Rows::kEnd)); }
};

#else

struct GeluOnEights;  // named only

#endif

}  // namespace flambeau::FLAM_TARGET
