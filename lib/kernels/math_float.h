// Elementary functions of float in float, for processors with fused multiply-add: twice as many
// lanes as math.h's cores in double. At most 1 ULP, atanh and softplus 2
// (tests/kernels/math_test.cc): what a rounding loses is carried along where it would show.
// Branch-free; NaN passes through every comparison.
//
// Methods: reduction to an interval around 0 and a minimax polynomial (Muller, "Elementary
// Functions", 3rd ed., chapters 3 and 11), error-free sums and quotients (Dekker 1971).
#pragma once
#include "kernels/math_basic.h"

namespace flambeau::FLAM_TARGET::single {

using namespace basic;
using Pair = basic::Pair<float>;

FLAM_FN Pair product(Pair a, Pair b) {
  const float p = a.high * b.high, lost = multiply_add(a.high, b.high, -p);
  return {p, lost + multiply_add(a.high, b.low, a.low * b.high)};
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
  const float shifted = multiply_add(x, factor, kRound<float>);
  return {shifted - kRound<float>,
          int32_t(bits_as<uint32_t>(shifted) - bits_as<uint32_t>(kRound<float>))};
}

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2 = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
FLAM_FN float exp_tail(float r) {
  return polynomial(r, 0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.555916p-5f, 0x1.123fc6p-7f,
                    0x1.6a1a72p-10f);
}

// x * 2^k where that is a normal number.
FLAM_FN float raised(float x, Nearest k) {
  return bits_as<float>(bits_as<uint32_t>(x) + (uint32_t(k.number) << 23));
}

struct Power {
  float value;
  Nearest power;  // 2^power value
};
FLAM_FN Power exp_of(float x) {
  const Nearest k = nearest(x, kLog2E);
  const float r = multiply_add(k.value, -kLn2Low, multiply_add(k.value, -kLn2, x));
  const Pair one = sum(1.0f, r);
  return {one.high + multiply_add(r * r, exp_tail(r), one.low), k};
}
FLAM_FN Power exp2_of(float x) {
  const Nearest k = nearest(x, 1);
  const float r = x - k.value;
  const float one = multiply_add(r, kLn2, 1), lost = multiply_add(r, kLn2, 1 - one);
  const float rest = r * polynomial(r, kLn2Low, 0x1.ebfbep-3f, 0x1.c6aebep-5f, 0x1.3b29ap-7f,
                                    0x1.5f50b2p-10f, 0x1.4497aep-13f);
  return {one + (lost + rest), k};
}
FLAM_FN float exp(float x) {
  const Power e = exp_of(clamp(x, -104, 89));
  return scaled(e.value, e.power.number);
}
FLAM_FN float exp2(float x) {
  const Power e = exp2_of(clamp(x, -151, 129));
  return scaled(e.value, e.power.number);
}
FLAM_FN float usual_exp(float x) {  // of at most 87
  const Power e = exp_of(x);
  return raised(e.value, e.power);
}
FLAM_FN float usual_exp2(float x) {  // of at most 126
  const Power e = exp2_of(x);
  return raised(e.value, e.power);
}

struct Scaled {
  Pair value;
  int32_t power;  // 2^power (high + low)
};

// exp(x + low), for x from -104 on.
FLAM_FN Scaled exponential(float x, float low) {
  const Nearest k = nearest(x, kLog2E);
  const Pair r = sum(multiply_add(k.value, -kLn2, x), multiply_add(k.value, -kLn2Low, low));
  const Pair one = sum(1.0f, r.high);
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

// 1 / (1 + exp(-x)) with 1 + exp(-x) = (1 + 2^k) + 2^k rest in two parts. Up to 16 the first sum
// loses nothing.
FLAM_FN float sigmoid_of(float x, Nearest k, float unit, float lost) {  // 2^k
  const float r = multiply_add(k.value, -kLn2Low, multiply_add(k.value, -kLn2, -x));
  const float rest = multiply_add(r * r, exp_tail(r), r);
  const float c = 1 + unit, high = multiply_add(unit, rest, c);
  const float low = multiply_add(unit, rest, c - high) + lost, inverse = 1 / high;
  return multiply_add(inverse, multiply_add(-inverse, low, multiply_add(-inverse, high, 1)),
                      inverse);
}
FLAM_FN float usual_sigmoid(float x) {  // of at most 16
  const Nearest k = nearest(-x, kLog2E);
  return sigmoid_of(x, k, raised(1, k), 0);
}

struct Fading {
  float value, scale;  // apart, because small floats have few digits
};
FLAM_FN Fading fading_sigmoid(float x) {  // from -120 on
  const Nearest k = nearest(-x, kLog2E);
  const int32_t beyond = k.number > 126 ? k.number - 126 : 0;
  const float unit = power_of_two(k.number - beyond);
  const float large = unit > 1 ? unit : 1, small = unit > 1 ? 1 : unit;
  return {sigmoid_of(x, k, unit, sum(large, small).low), power_of_two(-beyond)};
}
FLAM_FN float sigmoid(float x) {
  const Fading s = fading_sigmoid(clamp(x, -104, 87));
  return s.value * s.scale;
}

FLAM_FN float tanh(float x) {
  const Scaled e = minus_one(clamp(-2 * __builtin_fabsf(x), -20, 0));
  const float scale = -power_of_two(e.power);
  const Pair n = sum(scale * e.value.high, scale * e.value.low), d = sum(2.0f, -n.high);
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

// Of 1 + x its rounding's loss enters by the first terms of 1 / (1 + f).
FLAM_FN float log1p(float x) {
  const float u = 1 + x, lost = x > 1 ? 1 - (u - x) : x - (u - 1);
  const Split s = split(u);
  const float f = s.mantissa - 1, exponent = s.exponent > 126 ? 126 : s.exponent;
  const float low = lost * power_of_two(-int32_t(exponent)) * multiply_add(f, f, 1 - f);
  const Pair t = sum(s.exponent * kLn2Short, f), tail = log_tail(f);
  const float small = low + multiply_add(s.exponent, kLn2Rest, t.low);
  const float y = at_the_ends(u, t.high + (tail.high + (tail.low + small)));
  return x == 0 ? x : y;
}

// The logarithm of (1 + a) / (1 - a) = 2^k m by the series of the same function at a reduced
// place, (m - 1) / (m + 1).
FLAM_FN float atanh(float x) {
  constexpr float inf = __builtin_inff();
  const float a = __builtin_fabsf(x), up = 1 + a, down = 1 - a;
  const float lost = (a - (up - 1)) + (a - (1 - down));
  const uint32_t apart = bits_as<uint32_t>(up) - bits_as<uint32_t>(down);
  const int32_t k = int32_t(apart + 0x280000u) >> 23;
  const float unit = down * power_of_two(k);
  const float t = ((up - unit) + lost) / (up + unit), s = t * t;
  const float p = polynomial(s, 0x1.555540p-2f, 0x1.99a678p-3f, 0x1.234d60p-3f, 0x1.e40460p-4f,
                             0x1.a69730p-5f, 0x1.6947fep-3f);
  const Pair y = sum(0.5f * kLn2Short * float(k), t);
  const float low = multiply_add(t * s, p, multiply_add(0.5f * kLn2Rest, float(k), y.low));
  const float arc = a == 1 ? inf : y.high + low;
  return a <= 1 ? __builtin_copysignf(arc, x) : __builtin_nanf("");
}

// log(1 + exp(x)), given exp(-|x|).
FLAM_FN float softplus_of(float x, float e) {
  const float half = 0.5f * e * e, s = e / (2 + e), z = s * s;
  const float p = polynomial(z, 0x1.555502p-1f, 0x1.99d1ccp-2f, 0x1.1ec040p-2f, 0x1.1eca1cp-2f);
  const Pair y = sum(e, -multiply_add(-s, multiply_add(z, p, half), half));
  return y.high + ((x > 0 ? x : 0) + y.low);
}
FLAM_FN float softplus(float x) { return softplus_of(x, exp(-__builtin_fabsf(x))); }
FLAM_FN float usual_softplus(float x) { return softplus_of(x, usual_exp(-__builtin_fabsf(x))); }

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

}  // namespace flambeau::FLAM_TARGET::single
