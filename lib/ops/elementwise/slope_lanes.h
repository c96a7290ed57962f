// What is made of the sigmoid on vectors: the gated linear unit, and slopes, whose errors grow with
// the operand, the same for all types (tests/ops/test_precision.py). A kernel of one of these
// functions falls back on the functor's own arithmetic where the sigmoid does.
#pragma once
#include "ops/elementwise/activation_lanes.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

template <bool> struct LogsigmoidSlopeOnLanes {
  SigmoidOnLanes<false> sigmoid;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> x) const { return sigmoid.usual(-x); }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x) const {
    return dy * sigmoid(-x);
  }
};

template <bool> struct SoftplusSlopeOnLanes {
  double beta, limit;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> x) const {
    return SigmoidOnLanes<false>{}.usual(x * splat(float(beta)));
  }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x) const {
    const auto z = x * float(beta);
    return each(
        [](auto z_, auto limit_, auto dy_, auto below) __attribute__((always_inline)) {
          return chosen(_mm512_cmp_ps_mask(z_, limit_, _CMP_GT_OQ), dy_, below);
        },
        z, float(limit), dy, dy * SigmoidOnLanes<false>{}(z));
  }
};

template <bool kRough> struct GluOnLanes {  // of a value and its gate
  SigmoidOnLanes<kRough> sigmoid;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> gate) const { return sigmoid.usual(gate); }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& x, const Floats<N>& gate) const {
    return x * sigmoid(gate);
  }
};

template <bool> struct GateSlopeOnLanes {
  SigmoidOnLanes<false> sigmoid;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float>, Vector<float> gate) const {
    return sigmoid.usual(gate);
  }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x,
                                                const Floats<N>& gate) const {
    const auto s = sigmoid(gate);
    return dy * x * (s * (1.0f - s));
  }
};

template <bool> struct BceLogitsSlopeOnLanes {
  double factor;
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> x, Vector<float>) const {
    return SigmoidOnLanes<false>{}.usual(x);
  }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x,
                                                const Floats<N>& target) const {
    return dy * float(factor) * (SigmoidOnLanes<false>{}(x)-target);
  }
};

// (e / (2 + e))^2 dy of e = expm1(-2 |x|), which near 0 is not a difference of larger numbers.
template <bool> struct TanhshrinkSlopeOnLanes {
  FLAM_FN uint32_t usual(Vector<float>, Vector<float> x) const {
    return unordered(x) ^ kAllLanes<float>;
  }
  template <int N> FLAM_FN Floats<N> operator()(const Floats<N>& dy, const Floats<N>& x) const {
    constexpr float round = basic::kRound<float>;
    const auto n = size_upto(x, 10.0f) * -2.0f;  // beyond, the slope is 1
    const auto shifted = fused(n, single::kLog2E, round), k = shifted - round;
    const auto r = fused(k, -single::kLn2Low, fused(k, -single::kLn2, n));
    const auto tail =
        series(r, 0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.555916p-5f, 0x1.123fc6p-7f, 0x1.6a1a72p-10f);
    const auto unit = power_of_two(shifted);
    const auto e = fused(unit, fused(r * r, tail, r), unit - 1.0f), sum = e + 2.0f;
    const auto rough = rough_inverse(sum);
    const auto t = e * fused(rough, fused_less(rough, sum, 1.0f), rough);
    return dy * (t * t);
  }
};

#else

// Named only.
template <bool kRough> struct LogsigmoidSlopeOnLanes;
template <bool kRough> struct SoftplusSlopeOnLanes;
template <bool kRough> struct GluOnLanes;
template <bool kRough> struct GateSlopeOnLanes;
template <bool kRough> struct BceLogitsSlopeOnLanes;
template <bool kRough> struct TanhshrinkSlopeOnLanes;

#endif

}  // namespace flambeau::FLAM_TARGET
