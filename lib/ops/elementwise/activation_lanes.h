// The sigmoid and SiLU on vectors, and GELU by pieces of the normal distribution's tail: at most 1
// ULP, SiLU 2 (tests/ops/test_precision.py), 2^-14 for results of a half type; slopes, whose errors
// grow with the operand, are the same for all types. Where these end they are the functions of one
// number.
#pragma once
#include "kernels/math.h"
#include "ops/elementwise/pieces_normal.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

template <int N> using Floats = Several<float, N>;

FLAM_FN __mmask16 is_positive(Vector<float> x) {  // as 0 is and -0 is not
  return _mm512_cmp_epi32_mask((__m512i)x, __m512i{}, _MM_CMPINT_NLT);
}

// F(x) = 1 - F(-x) with the sign of x, in two parts, by pieces of -F(-a).
template <int N> struct Parts {
  Floats<N> high, low;
};
template <int N> FLAM_FN Piece<N> signed_piece(const Floats<N>& x, Piece<N> p) {
  p.first = each(
      [](auto x_, auto first) __attribute__((always_inline)) {
        return _mm512_mask_add_ps(first, is_positive(x_), first, splat(1.0f));
      },
      x, p.first);
  return p;
}
// What the product with the first term loses matters as well: it is as large as the first is.
template <int N> FLAM_FN Parts<N> parts_of(const Piece<N>& p) {
  const auto slope = fused(p.step, p.rest, p.second);
  const auto lost = fused(p.step, p.rest, p.second - slope);
  const auto high = fused(p.step, slope, p.first);
  const auto low = fused(p.step, slope, p.first - high);
  return {high, fused(p.step, lost, low)};
}

// As math_float.h has it; the estimate of the inverse is to 2^-14, its square is lost in the end.
template <bool kRough> struct SigmoidOnLanes {
  FLAM_FN uint32_t usual(Vector<float> x) const { return at_least(x, -16); }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& number) const {
    constexpr float round = basic::kRound<float>;
    const auto x = lesser(number, 87.0f);
    const auto shifted = fused(x, -single::kLog2E, round), k = shifted - round;
    const auto unit = power_of_two(shifted);
    const auto whole = unit + 1.0f, first = fused(k, -single::kLn2, -x);
    if constexpr (kRough) {
      const auto tail = series(first, 0x1.0006b4p-1f, 0x1.571ddap-3f, 0x1.522c46p-5f);
      return rough_inverse(fused(unit, fused(first * first, tail, first), whole));
    } else {
      const auto r = fused(k, -single::kLn2Low, first);
      const auto tail = series(r, 0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.555916p-5f, 0x1.123fc6p-7f,
                               0x1.6a1a72p-10f);
      const auto rest = fused(r * r, tail, r), high = fused(unit, rest, whole);
      const auto low = fused(unit, rest, whole - high) + (unit - (whole - 1.0f));
      const auto inverse = rough_inverse(high);
      const auto lost = fused_less(inverse, high, 1.0f);
      return fused(inverse, fused_less(inverse, low, lost), inverse);
    }
  }
};

template <bool kRough> struct SiluOnLanes : SigmoidOnLanes<kRough> {
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& x) const {
    return x * SigmoidOnLanes<kRough>::operator()(x);
  }
};

template <bool> struct SiluSlopeOnLanes {
  SigmoidOnLanes<false> sigmoid;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> x) const { return sigmoid.usual(x); }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x) const {
    const auto s = sigmoid(x);
    return dy * (s * fused(x, 1.0f - s, 1.0f));
  }
};

template <bool kRough> struct GeluOnLanes {
  static constexpr float kEnd = kNormalTail.end;
  FLAM_FN uint32_t usual(Vector<float> x) const { return at_least(x, -kEnd); }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& x) const {
    const auto a = size_upto(x, kEnd);
    const auto p = signed_piece(x, piece<kRough ? 6 : 8>(kNormalTail, a));
    if constexpr (kRough) {
      return size_of(x) * value_of(p);
    } else {
      const auto f = parts_of(p);
      return fused(size_of(x), f.high, a * f.low);
    }
  }
};

// The slope at -a is a tail, too: 1 less it is the one at a.
template <bool> struct GeluSlopeOnLanes {
  static constexpr float kEnd = kGeluSlopeTail.end;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> x) const {  // at infinity it is NaN
    return _mm512_mask_cmp_ps_mask(__mmask16(at_least(x, -kEnd)), x, splat(__builtin_inff()),
                                   _CMP_LT_OQ);
  }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x) const {
    const auto tail = value_of(piece<8>(kGeluSlopeTail, size_upto(x, kEnd)));
    return dy * each(
                    [](auto x_, auto t) __attribute__((always_inline)) {
                      return _mm512_mask_sub_ps(t, is_positive(x_), splat(1.0f), t);
                    },
                    x, tail);
  }
};

#else

// Named only.
template <bool kRough> struct SigmoidOnLanes;
template <bool kRough> struct SiluOnLanes;
template <bool kRough> struct SiluSlopeOnLanes;
template <bool kRough> struct GeluOnLanes;
template <bool kRough> struct GeluSlopeOnLanes;

#endif

}  // namespace flambeau::FLAM_TARGET
