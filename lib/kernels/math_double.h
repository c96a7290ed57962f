// Elementary functions of double as vector code, for processors with fused multiply-add: at most
// 1.3 ULP (tests/kernels/math_test.cc). Branch-free; NaN passes through every comparison.
//
// Methods: as math_float.h's; the logarithm by the series of the inverse hyperbolic tangent
// (Tang, "Table-driven implementation of the logarithm function", 1990, without the table).
#pragma once
#include "kernels/math_basic.h"

namespace flambeau::FLAM_TARGET::wide {

using namespace basic;

// ---- exponentials -------------------------------------------------------------------------------

// A whole number, and the same in the low bits of a number.
struct Nearest {
  double value, shifted;
};
FLAM_FN Nearest nearest(double x, double factor) {  // to x * factor
  const double shifted = multiply_add(x, factor, kRound<double>);
  return {shifted - kRound<double>, shifted};
}
FLAM_FN double power_of_two(double shifted) {
  return bits_as<double>((bits_as<uint64_t>(shifted) << 52) + 0x3ff0000000000000u);
}

// x * 2^k, |k| <= 2044: by two factors, so that only a result that is denormal is rounded.
FLAM_FN double scaled(double x, double k) {
  const Nearest half = nearest(k, 0.5);
  return x * power_of_two(half.shifted) * power_of_two(k - half.value + kRound<double>);
}

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
FLAM_FN double exp_tail(double r) {
  return polynomial(r, 0x1.000000000000ap-1, 0x1.55555555554fap-3, 0x1.55555555507afp-5,
                    0x1.11111111278f5p-7, 0x1.6c16c18459909p-10, 0x1.a01a012bf47c2p-13,
                    0x1.a0199985a7e7ap-16, 0x1.71df2055ac35bp-19, 0x1.28adf43af190cp-22,
                    0x1.ad8983f4aad9dp-26);
}

struct Reduced {
  Nearest power;
  double rest, low;  // exp(x) = 2^power exp(rest + low)
};
FLAM_FN Reduced reduced(double x) {
  const Nearest k = nearest(x, kLog2E);
  const Pair<double> r = sum(multiply_add(k.value, -kLn2, x), k.value * -kLn2Low);
  return {k, r.high, r.low};
}

FLAM_FN double exp(double x) {
  const Reduced e = reduced(clamp(x, -746, 710));
  const Pair<double> one = sum(1.0, e.rest);
  const double rest = multiply_add(e.rest * e.rest, exp_tail(e.rest), one.low + e.low);
  return scaled(one.high + rest, e.power.value);
}

FLAM_FN double exp2(double x) {
  x = clamp(x, -1076, 1025);
  const Nearest k = nearest(x, 1);
  const double r = x - k.value, high = r * kLn2;
  const double low = multiply_add(r, kLn2, -high) + r * kLn2Low;
  return scaled(1 + multiply_add(high * high, exp_tail(high), high) + low, k.value);
}

// (exp(x) - 1) / 2^k for x from -60 on, in two parts.
FLAM_FN Pair<double> minus_one(Reduced e, double unit) {  // 2^-k
  const double c = 1 - unit, lost = 1 - (c + unit);
  const Pair<double> s = sum(c, e.rest);
  return {s.high, multiply_add(e.rest * e.rest, exp_tail(e.rest), s.low + lost + e.low)};
}

FLAM_FN double expm1(double x) {
  const Reduced e = reduced(clamp(x, -60, 710));
  const double power = e.power.value > 1000 ? 1000 : e.power.value;
  const Pair<double> y = minus_one(e, power_of_two(kRound<double> - power));
  const double half = power_of_two(e.power.shifted - 1);
  return __builtin_copysign(half * (y.high + y.low) * 2, x);  // of -0, too
}

FLAM_FN double tanh(double x) {
  const Reduced e = reduced(clamp(-2 * __builtin_fabs(x), -50, 0));
  const double unit = power_of_two(kRound<double> - e.power.value);
  const Pair<double> y = minus_one(e, unit);
  const Pair<double> n = sum(y.high, y.low), d = sum(unit * 2, n.high);
  const Pair<double> q = quotient(n, {d.high, d.low + n.low});
  return __builtin_copysign(q.high + q.low, x);
}

// exp_tail by pairs of terms: the sigmoid's chain of operations is longer than a processor looks
// ahead, so that the polynomial's own length shows.
FLAM_FN double short_exp_tail(double r) {
  const double s = r * r;
  const double first = polynomial_by_pairs(r, s, 0x1.000000000000ap-1, 0x1.55555555554fap-3,
                                           0x1.55555555507afp-5, 0x1.11111111278f5p-7);
  const double others =
      polynomial_by_pairs(r, s, 0x1.6c16c18459909p-10, 0x1.a01a012bf47c2p-13, 0x1.a0199985a7e7ap-16,
                          0x1.71df2055ac35bp-19, 0x1.28adf43af190cp-22, 0x1.ad8983f4aad9dp-26);
  return multiply_add(s * s, others, first);
}

// e / (1 + e) or 1 / (1 + e) of e = exp(-|x|) in two parts, which no sum with 1 loses any of.
FLAM_FN double sigmoid_of(double x, double below, Nearest power, double unit) {  // -|x|, 2^power
  const double r = multiply_add(power.value, -kLn2Low, multiply_add(power.value, -kLn2, below));
  const double rest = multiply_add(r * r, short_exp_tail(r), r);
  const double e = multiply_add(unit, rest, unit), lost = multiply_add(unit, rest, unit - e);
  const double d = 1 + e, d_lost = (e - (d - 1)) + lost;
  const double n = x < 0 ? e : 1, n_lost = x < 0 ? lost : 0;
  const double inverse = 1 / d, q = n * inverse;
  const double left = multiply_add(-q, d_lost, multiply_add(-q, d, n) + n_lost);
  return multiply_add(left, inverse, q);
}
FLAM_FN double usual_sigmoid(double x) {  // of sizes up to 690
  const double below = -__builtin_fabs(x);
  const Nearest k = nearest(below, kLog2E);
  return sigmoid_of(x, below, k, power_of_two(k.shifted));
}
FLAM_FN double sigmoid(double x) {
  const double below = clamp(-__builtin_fabs(x), -746, 0);
  const Nearest k = nearest(below, kLog2E);
  const double near = k.value > -1000 ? k.value : -1000;  // beyond, a factor of its own
  const double beyond = x < 0 ? power_of_two(kRound<double> + (k.value - near)) : 1;
  return sigmoid_of(x, below, k, power_of_two(kRound<double> + near)) * beyond;
}

// ---- logarithms ---------------------------------------------------------------------------------

struct Split {
  double exponent, mantissa;  // from sqrt(1/2) to sqrt(2)
};
FLAM_FN Split split(double x) {  // positive and normal
  const uint64_t bits = bits_as<uint64_t>(x);
  const uint64_t above = bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u;  // biased
  const double exponent = bits_as<double>((above >> 52) | 0x4330000000000000u) - (0x1p52 + 1024);
  return {exponent, bits_as<double>(bits - ((above & 0xfff0000000000000u) - 0x4000000000000000u))};
}

// f - log(1 + f) between those.
FLAM_FN double log_tail(double f) {
  const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  const double p = polynomial(z, 0x1.5555555555593p-1, 0x1.999999997fc65p-2, 0x1.2492494207243p-2,
                              0x1.c71c51f4f9533p-3, 0x1.746643947f212p-3, 0x1.39a13626bf41ap-3,
                              0x1.2f0b0ef0fe2a0p-3);
  return half - s * multiply_add(z, p, half);
}

// ln 2 in two parts, the first of which an exponent times leaves exact.
inline constexpr double kLn2Short = 0x1.62e42fee00000p-1, kLn2Rest = 0x1.a39ef35793c76p-33;

struct Logarithm {
  double exponent, first, tail;  // log(x) = exponent * ln 2 + first - tail
};
FLAM_FN Logarithm logarithm(double x) {
  const bool denormal = x < 0x1p-1022;
  const Split s = split(denormal ? x * 0x1p54 : x);
  const double f = s.mantissa - 1;
  return {s.exponent - (denormal ? 54.0 : 0.0), f, log_tail(f)};
}

FLAM_FN double log(double x) {
  const Logarithm l = logarithm(x);
  const double low = multiply_add(l.exponent, kLn2Rest, -l.tail);
  return at_the_ends(x, multiply_add(l.exponent, kLn2Short, low + l.first));
}
// To another base: the logarithms of 2 and of e, each in two parts.
FLAM_FN double log_to_base(double x, Pair<double> two, Pair<double> e) {
  const Logarithm l = logarithm(x);
  const Pair<double> natural = sum(l.first, -l.tail);
  const double first = natural.high * e.high, lost = multiply_add(natural.high, e.high, -first);
  const double rest = multiply_add(natural.high, e.low, multiply_add(natural.low, e.high, lost));
  const double whole = l.exponent * two.high, high = whole + first;
  const double low = first - (high - whole);
  return at_the_ends(x, high + (low + multiply_add(l.exponent, two.low, rest)));
}
FLAM_FN double log2(double x) { return log_to_base(x, {1, 0}, {kLog2E, 0x1.777d0ffda0d24p-56}); }
FLAM_FN double log10(double x) {
  return log_to_base(x, {0x1.34413509f7800p-2, 0x1.fef311f12b358p-46},
                     {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}

// Of 1 + x its rounding's loss enters by the first terms of 1 / (1 + f).
FLAM_FN double log1p(double x) {
  const double u = 1 + x, lost = x > 1 ? 1 - (u - x) : x - (u - 1);
  const Split s = split(u);
  const double f = s.mantissa - 1, exponent = s.exponent > 1022 ? 1022 : s.exponent;
  const double low = lost * power_of_two(kRound<double> - exponent) * multiply_add(f, f, 1 - f);
  const double rest = low + multiply_add(s.exponent, kLn2Rest, -log_tail(f));
  const double y = at_the_ends(u, multiply_add(s.exponent, kLn2Short, rest + f));
  return x == 0 ? x : y;
}

// ---- error function -----------------------------------------------------------------------------

// exp(z^2) erfc(z) for z from 1 to 6, as near as 1 - erfc(z) needs it.
FLAM_FN double erfc_scaled(double z) {
  const double t = (z - 1.6) / (z + 1.6);
  return polynomial(t, 0x1.394bbdbfab0aap-2, -0x1.e952bda952eb3p-2, 0x1.aafbb632996cep-3,
                    -0x1.932dc917378e1p-6, -0x1.13c3e06375c99p-6, 0x1.3e099d314ac4cp-9,
                    0x1.744aa8027ff2cp-9, 0x1.9059714dce7c1p-13, -0x1.029552d6d26e2p-11,
                    -0x1.b98c3fd6988aep-13, 0x1.e56bd9cdfd1cdp-16, 0x1.03f6aedd7665fp-14,
                    0x1.085fc577c71fep-16);
}

FLAM_FN double erf(double x) {
  const double a = __builtin_fabs(x), z = a > 6 ? 6 : a, s = x * x;
  const Reduced e = reduced(-z * z);
  const double power = power_of_two(e.power.shifted);
  const double tail = multiply_add(e.rest * e.rest, exp_tail(e.rest), e.rest);
  const double far = 1 - multiply_add(power, tail, power) * erfc_scaled(z);
  const double near = polynomial(
      s, 0x1.06eba8214db68p-3, -0x1.812746b0379bdp-2, 0x1.ce2f21a040d15p-4, -0x1.b82ce311fa92ap-6,
      0x1.565bccf92b0dep-8, -0x1.c02db03dd2b6bp-11, 0x1.f9a2baa8a08a1p-14, -0x1.f4ca4d6a1237ep-17,
      0x1.b97fd3aa4864ap-20, -0x1.5c0725e10857cp-23, 0x1.d71b082ec1124p-27, -0x1.abae3576d9dd9p-31);
  return a < 1 ? multiply_add(x, near, x) : __builtin_copysign(far, x);
}

}  // namespace flambeau::FLAM_TARGET::wide
