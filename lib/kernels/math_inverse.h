// Inverse sine, cosine and tangent of float in float arithmetic, on every instruction set: at most
// 2 ULP (tests/kernels/math_test.cc). Branch-free; NaN passes through every comparison.
//
// Methods: reduction to [0, 1] by arctan(x) = pi / 2 - arctan(1 / x) and to [0, 1/2] by arcsin(x) =
// pi / 2 - 2 arcsin(sqrt((1 - x) / 2)), and minimax polynomials (Muller, "Elementary Functions").
#pragma once
#include <cmath>

#include "kernels/math_basic.h"

namespace flambeau::FLAM_TARGET::inverse {

using namespace basic;

inline constexpr float kHalfPi = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f;

// arctan(t) - t for |t| <= 1.
FLAM_FN float atan_tail(float t) {
  const float s = t * t;
  return t * s *
         polynomial(s, -0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.242084p-3f, 0x1.c08c1ap-4f,
                    -0x1.580960p-4f, 0x1.da33d6p-5f, -0x1.fdadecp-6f, 0x1.647ee2p-7f,
                    -0x1.d44916p-10f);
}

FLAM_FN float atan(float x) {
  const float a = __builtin_fabsf(x);
  const bool far = a > 1;
  const float t = far ? -1 / a : a;
  const float high = far ? kHalfPi : 0, low = far ? kHalfPiLow : 0;
  return __builtin_copysignf(high + (t + (low + atan_tail(t))), x);
}

FLAM_FN float atan2(float y, float x) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
  const bool steep = ay > ax;
  const float n = steep ? ax : ay, d = steep ? ay : ax;
  const float ratio = (n == d) & (d != 0) ? 1 : n / (d == 0 ? 1 : d);  // of infinities, too
  const uint32_t left = bits_as<uint32_t>(x) & 0x80000000u;            // of -0, too
  const float t = bits_as<float>(bits_as<uint32_t>(ratio) ^ left ^ (steep ? 0x80000000u : 0));
  const float whole = left ? 2 : 0, turns = steep ? 1 : whole;
  const float angle = turns * kHalfPi + (t + (turns * kHalfPiLow + atan_tail(t)));
  return __builtin_copysignf(angle, y);
}

// arcsin(t) - t for |t| <= 1/2, given t^2.
FLAM_FN float asin_tail(float t, float square) {
  return t * square *
         polynomial(square, 0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bb8p-5f, 0x1.8c3e52p-6f,
                    0x1.595c5cp-5f);
}

// The arc sine of |x|, and beyond one half the one of sqrt((1 - |x|) / 2), half the arc cosine.
FLAM_FN bool is_far(float x) { return __builtin_fabsf(x) > 0.5f; }
FLAM_FN Pair<float> arc(float x) {
  const float a = __builtin_fabsf(x), rest = 0.5f * (1 - a), root = ::sqrtf(rest);
  const float t = is_far(x) ? root : a;
  return {t, asin_tail(t, is_far(x) ? rest : a * a)};
}

FLAM_FN float asin(float x) {
  const Pair<float> a = arc(x);
  const float far = kHalfPi - (2 * a.high + (2 * a.low - kHalfPiLow));
  return __builtin_copysignf(is_far(x) ? far : a.high + a.low, x);
}

FLAM_FN float acos(float x) {
  const Pair<float> a = arc(x);
  const float sign = __builtin_copysignf(1, x), scale = sign * (is_far(x) ? 2.0f : -1.0f);
  const float turns = is_far(x) ? 1 - sign : 1;  // quarter ones
  return turns * kHalfPi + (scale * a.high + (turns * kHalfPiLow + scale * a.low));
}

}  // namespace flambeau::FLAM_TARGET::inverse
