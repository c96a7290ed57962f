// The sigmoid and SiLU on vectors, and GELU by pieces of the normal distribution's tail: at most 1
// ULP, SiLU 2 (tests/ops/test_precision.py), 2^-14 for results of a half type; slopes, whose errors
// grow with the operand, are the same for all types. Where these end they are the functions of one
// number.
#pragma once
#include "kernels/math.h"
#include "ops/elementwise/pieces_normal.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

FLAM_FN __mmask16 at_least(Lanes x, float least) {  // which NaN is not
  return _mm512_cmp_ps_mask(x, splat(least), _CMP_GE_OQ);
}

FLAM_FN __mmask16 is_positive(Lanes x) {  // as 0 is and -0 is not
  return _mm512_cmp_epi32_mask((__m512i)x, __m512i{}, _MM_CMPINT_NLT);
}

// F(x) = 1 - F(-x) with the sign of x, in two parts, by pieces of -F(-a).
struct Parts {
  Lanes high, low;
};
FLAM_FN Piece signed_piece(Lanes x, Piece p) {
  p.first = _mm512_mask_add_ps(p.first, is_positive(x), p.first, splat(1.0f));
  return p;
}
// What the product with the first term loses matters as well: it is as large as the first is.
FLAM_FN Parts parts_of(Piece p) {
  const Lanes slope = multiply_add<float>(p.step, p.rest, p.second);
  const Lanes lost = multiply_add<float>(p.step, p.rest, p.second - slope);
  const Lanes high = multiply_add<float>(p.step, slope, p.first);
  const Lanes low = multiply_add<float>(p.step, slope, p.first - high);
  return {high, multiply_add<float>(p.step, lost, low)};
}

FLAM_FN Lanes series(Lanes, float c0) { return splat(c0); }
template <class... C> FLAM_FN Lanes series(Lanes x, float c0, C... rest) {
  return multiply_add<float>(x, series(x, rest...), splat(c0));
}

// As math_float.h has it; the estimate of the inverse is to 2^-14, its square is lost in the end.
template <bool kRough> struct SigmoidOnLanes {
  FLAM_FN __mmask16 usual(Lanes x) const { return at_least(x, -16); }
  FLAM_FN Lanes operator()(Lanes x) const {
    constexpr float round = basic::kRound<float>;
    x = _mm512_maskz_min_ps(0xffff, x, splat(87.0f));
    const Lanes shifted = multiply_add<float>(x, splat(-single::kLog2E), splat(round));
    const Lanes k = shifted - round;
    const auto unit = (Lanes)(((Vector<uint32_t>)shifted << 23) + 0x3f800000u);
    Lanes r = _mm512_fnmsub_ps(k, splat(single::kLn2), x);
    const Lanes whole = 1 + unit;
    if constexpr (kRough) {
      const Lanes tail = series(r, 0x1.0006b4p-1f, 0x1.571ddap-3f, 0x1.522c46p-5f);
      const Lanes rest = multiply_add<float>(r * r, tail, r);
      return _mm512_maskz_rcp14_ps(0xffff, multiply_add<float>(unit, rest, whole));
    }
    r = _mm512_fnmadd_ps(k, splat(single::kLn2Low), r);
    const Lanes tail =
        series(r, 0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.555916p-5f, 0x1.123fc6p-7f, 0x1.6a1a72p-10f);
    const Lanes rest = multiply_add<float>(r * r, tail, r);
    const Lanes high = multiply_add<float>(unit, rest, whole);
    const Lanes low = multiply_add<float>(unit, rest, whole - high) + (unit - (whole - 1));
    const Lanes inverse = _mm512_maskz_rcp14_ps(0xffff, high);
    const Lanes lost = _mm512_fnmadd_ps(inverse, high, splat(1.0f));
    return multiply_add<float>(inverse, _mm512_fnmadd_ps(inverse, low, lost), inverse);
  }
};

template <bool kRough> struct SiluOnLanes : SigmoidOnLanes<kRough> {
  FLAM_FN Lanes operator()(Lanes x) const { return x * SigmoidOnLanes<kRough>::operator()(x); }
};

template <bool> struct SiluSlopeOnLanes {
  SigmoidOnLanes<false> sigmoid;
  FLAM_FN __mmask16 usual(Lanes, Lanes x) const { return sigmoid.usual(x); }
  FLAM_FN Lanes operator()(Lanes dy, Lanes x) const {
    const Lanes s = sigmoid(x);
    return dy * (s * multiply_add<float>(x, 1 - s, splat(1.0f)));
  }
};

template <bool kRough> struct GeluOnLanes {
  static constexpr float kEnd = kNormalTail.end;
  FLAM_FN __mmask16 usual(Lanes x) const { return at_least(x, -kEnd); }
  FLAM_FN Lanes operator()(Lanes x) const {
    const Lanes a = size_upto(x, kEnd);
    const Piece p = signed_piece(x, piece<kRough ? 6 : 8>(kNormalTail, a));
    if constexpr (kRough) return size_of(x) * value_of(p);
    const Parts f = parts_of(p);
    return multiply_add<float>(size_of(x), f.high, a * f.low);
  }
};

// The slope at -a is a tail, too: 1 less it is the one at a.
template <bool> struct GeluSlopeOnLanes {
  static constexpr float kEnd = kGeluSlopeTail.end;
  FLAM_FN __mmask16 usual(Lanes, Lanes x) const {  // at infinity it is NaN
    return _mm512_mask_cmp_ps_mask(at_least(x, -kEnd), x, splat(__builtin_inff()), _CMP_LT_OQ);
  }
  FLAM_FN Lanes operator()(Lanes dy, Lanes x) const {
    const Lanes tail = value_of(piece<8>(kGeluSlopeTail, size_upto(x, kEnd)));
    return dy * _mm512_mask_sub_ps(tail, is_positive(x), splat(1.0f), tail);
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
