// Elementary functions of float in float, for processors with fused multiply-add: twice as many
// lanes as math.h's cores in double. At most 1 ULP (tests/kernels/math_test.cc): what a rounding
// loses is carried along where it would show. Branch-free; NaN passes through every comparison.
//
// Methods: reduction to an interval around 0 and a minimax polynomial (Muller, "Elementary
// Functions", 3rd ed., chapters 3 and 11), error-free sums and quotients (Dekker 1971).
#pragma once
#include <cstdint>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET::single {

inline constexpr float kRound =
    0x1.8p23f;  // added, leaves a float's nearest integer in its low bits

FLAM_FN float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

FLAM_FN float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

template <class... C> FLAM_FN float polynomial(float x, float c0, C... rest) {
  if constexpr (sizeof...(C) == 0) {
    return c0;
  } else {
    return multiply_add(x, polynomial(x, rest...), c0);
  }
}

struct Pair {
  float high, low;  // a value, and what rounding it lost
};
FLAM_FN Pair sum(float large, float small) {
  const float high = large + small;
  return {high, small - (high - large)};
}
FLAM_FN Pair product(Pair a, Pair b) {
  const float p = a.high * b.high, lost = multiply_add(a.high, b.high, -p);
  return {p, lost + multiply_add(a.high, b.low, a.low * b.high)};
}
FLAM_FN Pair quotient(Pair n, Pair d) {
  const float inverse = 1 / d.high, q = n.high * inverse;
  return {q, inverse * (multiply_add(-q, d.high, n.high) + multiply_add(-q, d.low, n.low))};
}

FLAM_FN float power_of_two(int32_t k) { return bits_as<float>(uint32_t(k + 127) << 23); }

// x * 2^k, |k| <= 252: by two factors, so that only a result that is denormal is rounded.
FLAM_FN float scaled(float x, int32_t k) {
  const int32_t half = k >> 1;
  return x * power_of_two(half) * power_of_two(k - half);
}

// ---- exponentials -------------------------------------------------------------------------------

struct Nearest {
  float value;
  int32_t number;
};
FLAM_FN Nearest nearest(float x, float factor) {  // to x * factor
  const float shifted = multiply_add(x, factor, kRound);
  return {shifted - kRound, int32_t(bits_as<uint32_t>(shifted) - bits_as<uint32_t>(kRound))};
}

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2 = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
FLAM_FN float exp_tail(float r) {
  return polynomial(r, 0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.555916p-5f, 0x1.123fc6p-7f,
                    0x1.6a1a72p-10f);
}

FLAM_FN float exp(float x) {
  x = clamp(x, -104, 89);
  const Nearest k = nearest(x, kLog2E);
  const float r = multiply_add(k.value, -kLn2Low, multiply_add(k.value, -kLn2, x));
  const Pair one = sum(1, r);
  return scaled(one.high + multiply_add(r * r, exp_tail(r), one.low), k.number);
}

FLAM_FN float exp2(float x) {
  x = clamp(x, -151, 129);
  const Nearest k = nearest(x, 1);
  const float r = x - k.value;
  const float one = multiply_add(r, kLn2, 1), lost = multiply_add(r, kLn2, 1 - one);
  const float rest = r * polynomial(r, kLn2Low, 0x1.ebfbep-3f, 0x1.c6aebep-5f, 0x1.3b29ap-7f,
                                    0x1.5f50b2p-10f, 0x1.4497aep-13f);
  return scaled(one + (lost + rest), k.number);
}

struct Scaled {
  Pair value;
  int32_t power;  // 2^power (high + low)
};

// exp(x + low), for x from -104 on.
FLAM_FN Scaled exponential(float x, float low) {
  const Nearest k = nearest(x, kLog2E);
  const Pair r = sum(multiply_add(k.value, -kLn2, x), multiply_add(k.value, -kLn2Low, low));
  const Pair one = sum(1, r.high);
  const float tail = multiply_add(r.high * r.high, exp_tail(r.high), r.low);
  return {sum(one.high, one.low + tail), k.number};
}

// exp(x) - 1 of x from -87 to 0.
FLAM_FN Scaled minus_one(float x) {
  const Nearest k = nearest(x, kLog2E);
  const Pair r = sum(multiply_add(k.value, -kLn2, x), k.value * -kLn2Low);
  const float unit = power_of_two(-k.number), c = 1 - unit, lost = 1 - (c + unit);
  const float q = polynomial(r.high, 0.5f, 0x1.55556cp-3f, 0x1.55548ep-5f, 0x1.10f476p-7f,
                             0x1.6d8e3p-10f, 0x1.c13b6ep-13f);
  const Pair s = sum(c, r.high);
  return {{s.high, multiply_add(r.high * r.high, q, r.low + (s.low + lost))}, k.number};
}

FLAM_FN float tanh(float x) {
  const Scaled e = minus_one(clamp(-2 * __builtin_fabsf(x), -20, 0));
  const float scale = -power_of_two(e.power);
  const Pair n = sum(scale * e.value.high, scale * e.value.low), d = sum(2, -n.high);
  const Pair q = quotient(n, {d.high, d.low - n.low});
  return __builtin_copysignf(q.high + q.low, x);
}

// ---- logarithms ---------------------------------------------------------------------------------

struct Split {
  float exponent, mantissa;  // from sqrt(1/2) to sqrt(2)
};
FLAM_FN Split split(float x) {  // positive and normal
  const uint32_t bits = bits_as<uint32_t>(x);
  const int32_t exponent = int32_t(bits - 0x3f3504f3u) >> 23;
  return {float(exponent), bits_as<float>(bits - (uint32_t(exponent) << 23))};
}

// log(1 + f) - f between those: mostly half the square, which is exact in two parts.
FLAM_FN Pair log_tail(float f) {
  const float square = f * f, lost = multiply_add(f, f, -square);
  const float p =
      polynomial(f, 0x1.555546p-2f, -0x1.ffffeep-3f, 0x1.99a546p-3f, -0x1.5562e4p-3f,
                 0x1.2332bcp-3f, -0x1.fb4302p-4f, 0x1.e650bep-4f, -0x1.e2ea68p-4f, 0x1.1b4338p-4f);
  return {multiply_add(f * square, p, -0.5f * square), -0.5f * lost};
}

FLAM_FN float at_the_ends(float x, float result) {  // of a logarithm
  constexpr float inf = __builtin_inff();
  result = x == inf ? inf : result;
  result = x == 0 ? -inf : result;
  return x >= 0 ? result : __builtin_nanf("");
}

struct Logarithm {
  float exponent, first;  // log(x) = exponent * ln 2 + first + rest
  Pair rest;
};
FLAM_FN Logarithm logarithm(float x) {
  const bool denormal = x < 0x1p-126f;
  const Split s = split(denormal ? x * 0x1p23f : x);
  const float f = s.mantissa - 1;
  return {s.exponent - (denormal ? 23.0f : 0.0f), f, log_tail(f)};
}

// ln 2 in two parts, the first of which an exponent times leaves exact.
inline constexpr float kLn2Short = 0x1.62e4p-1f, kLn2Rest = 0x1.7f7d1cp-20f;

FLAM_FN float log(float x) {
  const Logarithm l = logarithm(x);
  const Pair s = sum(l.exponent * kLn2Short, l.first);
  return at_the_ends(
      x, s.high + (l.rest.high + multiply_add(l.exponent, kLn2Rest, s.low + l.rest.low)));
}

// To another base: the logarithms of 2 and of e, each in two parts.
FLAM_FN float log_to_base(float x, Pair two, Pair e) {
  const Logarithm l = logarithm(x);
  const float first = l.first * e.high, lost = multiply_add(l.first, e.high, -first);
  const Pair s = sum(l.exponent * two.high, first);
  const float small = multiply_add(l.first, e.low, multiply_add(l.rest.low, e.high, lost)) +
                      multiply_add(l.exponent, two.low, s.low);
  return at_the_ends(x, s.high + multiply_add(l.rest.high, e.high, small));
}
FLAM_FN float log2(float x) { return log_to_base(x, {1, 0}, {kLog2E, 0x1.4ae0cp-26f}); }
FLAM_FN float log10(float x) {
  return log_to_base(x, {0x1.344p-2f, 0x1.3509f8p-18f}, {0x1.bcb7b2p-2f, -0x1.5b235ep-27f});
}

FLAM_FN float log1p(float x) {
  const float u = 1 + x, lost = x > 1 ? 1 - (u - x) : x - (u - 1);
  const Split s = split(u);
  const bool near = s.exponent == 0;
  const float f = near ? x : s.mantissa - 1;
  const float unit = power_of_two(s.exponent > 126 ? -126 : -int32_t(s.exponent));
  const float low = near ? 0 : lost * unit;
  const Pair t = sum(s.exponent * kLn2Short, f);
  const float small =
      multiply_add(low, multiply_add(f, f, 1 - f), multiply_add(s.exponent, kLn2Rest, t.low));
  const Pair tail = log_tail(f);
  const float y = at_the_ends(u, t.high + (tail.high + (tail.low + small)));
  return x == 0 ? x : y;
}

// ---- error function -----------------------------------------------------------------------------

// exp(z^2) erfc(z) for z >= 1/2, which falls about as 1 / (z + 1.5).
FLAM_FN Pair erfc_scaled(float z) {
  constexpr float a = 1.5f;
  const Pair d = sum(z > a ? z : a, z > a ? a : z);
  const float t = multiply_add(-2 * a, 1 / d.high, 1);  // (z - a) / (z + a)
  const float rest = t * polynomial(t, -0x1.0404eep-1f, 0x1.35bf38p-4f, 0x1.8759cap-5f,
                                    -0x1.0a0ffap-7f, -0x1.379594p-7f, -0x1.a2d5bp-11f,
                                    0x1.05752p-9f, 0x1.92efd8p-11f, -0x1.c64924p-12f);
  const Pair v = sum(0x1.edf488p-1f, rest);
  return quotient({v.high, v.low - 0x1.17f7c8p-30f}, d);
}

FLAM_FN float erf(float x) {
  const float a = __builtin_fabsf(x), s = x * x;
  const float z = a > 4.5f ? 4.5f : a, square = z * z;
  const Scaled e = exponential(-square, -multiply_add(z, z, -square));
  const Pair tail = product(e.value, erfc_scaled(z));
  const float far = multiply_add(-(tail.high + tail.low), power_of_two(e.power), 1);
  const float near = polynomial(s, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90cp-6f,
                                0x1.5405b2p-8f, -0x1.a3f7p-11f, 0x1.496a3p-14f);
  return a < 1 ? multiply_add(x, near, x) : __builtin_copysignf(far, x);
}

// ---- angles -------------------------------------------------------------------------------------

// Up to here a nearest quarter turn is known well enough, and its multiples to 72 bits.
inline constexpr float kUsualAngle = 1e5f;

struct Quarter {
  Pair angle;  // from the nearest multiple of a quarter turn
  int32_t number;
};
FLAM_FN Quarter quarter(float x) {  // by Cody and Waite's reduction in three parts of pi / 2
  const Nearest k = nearest(x, 0x1.45f306p-1f);
  const float middle = 0x1.777a5cp-25f, p = k.value * middle;
  const float r = multiply_add(k.value, -0x1.921fb6p+0f, x), high = r + p, back = high - r;
  const float lost = (r - (high - back)) + (p - back);
  const float rest = multiply_add(k.value, middle, -p) + k.value * 0x1.ee59dap-50f;
  return {sum(high, lost + rest), k.number};
}

FLAM_FN float sine_of(Quarter q) {
  const float r = q.angle.high, low = q.angle.low, s = r * r, half = 0.5f * s, one = 1 - half;
  const float p = polynomial(s, -0x1.555546p-3f, 0x1.110756p-7f, -0x1.994b4p-13f);
  const float sine = r + multiply_add(r * s, p, low);
  const float c = polynomial(s, 0x1.55554ap-5f, -0x1.6c0c82p-10f, 0x1.99ff4p-16f);
  const float cosine = one + multiply_add(s * s, c, multiply_add(-r, low, (1 - one) - half));
  const float y = q.number & 1 ? cosine : sine;
  return bits_as<float>(bits_as<uint32_t>(y) ^ (uint32_t(q.number & 2) << 30));
}

FLAM_FN float sin(float x) { return x == 0 ? x : sine_of(quarter(x)); }  // of usual angles
FLAM_FN float cos(float x) {
  Quarter q = quarter(x);
  ++q.number;
  return sine_of(q);
}

}  // namespace flambeau::FLAM_TARGET::single
