// Hyperbolic functions, their inverses and angles of double as vector code, for processors with
// fused multiply-add: at most 1.5 ULP (tests/kernels/math_test.cc). Beside math_double.h, which all
// kernels include, because few need these. Branch-free; NaN passes through every comparison.
//
// Methods: sums and quotients of exponentials and logarithms whose roundings are carried along; all
// angles by one arc tangent of a quotient, reduced to at most a sixteenth of a turn by that of
// (n - d) / (n + d), and a minimax polynomial (Muller, "Elementary Functions", 3rd ed., ch. 11).
#pragma once
#include "kernels/math.h"

#if defined(__FMA__) && !defined(__CUDACC__)
namespace flambeau::FLAM_TARGET::wide {

FLAM_FN Pair<double> sum_of_any(double a, double b) {  // whichever is larger
  const double high = a + b, part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}
FLAM_FN Pair<double> square(double x) {
  const double y = x * x;
  return {y, multiply_add(x, x, -y)};
}
FLAM_FN Pair<double> root(Pair<double> x) {
  const double r = ::sqrt(x.high), rest = multiply_add(-r, r, x.high) + x.low;
  return {r, r > 0 ? 0.5 * rest / r : 0};
}

// ---- hyperbolic functions -----------------------------------------------------------------------

FLAM_FN double sinh(double x) {  // of e = exp(|x|) - 1 it is (e + e / (e + 1)) / 2
  const double a = __builtin_fabs(x);
  const Reduced e = reduced(clamp(a, 0, 711));
  const double power = e.power.value > 1000 ? 1000 : e.power.value;
  const double unit = power_of_two(kRound<double> - power);
  const Pair<double> y = minus_one(e, unit), n = sum(y.high, y.low);
  const Pair<double> whole = sum_of_any(unit, n.high);
  const Pair<double> part = {n.high * unit, n.low * unit};
  const Pair<double> q = quotient(part, {whole.high, whole.low + n.low});
  const Pair<double> s = sum(n.high, q.high);
  const double twice = 2 * (s.high + (s.low + (n.low + q.low)));
  return __builtin_copysign(twice * power_of_two(e.power.shifted - 2), x);
}

FLAM_FN double cosh(double x) {  // half the sum of an exponential and its inverse
  const Reduced e = reduced(clamp(__builtin_fabs(x), 0, 711));
  const Pair<double> one = sum(1.0, e.rest);
  const double rest = multiply_add(e.rest * e.rest, exp_tail(e.rest), one.low + e.low);
  const Pair<double> w = sum(one.high, rest), inverse = quotient({1, 0}, w);
  const double power = e.power.value > 40 ? 40 : e.power.value;
  const double unit = power_of_two(kRound<double> - 2 * power);
  const Pair<double> s = sum_of_any(w.high, inverse.high * unit);
  const double twice = 2 * (s.high + (s.low + multiply_add(inverse.low, unit, w.low)));
  return twice * power_of_two(e.power.shifted - 2);
}

FLAM_FN double log1p(Pair<double> x) {  // as of one number, with what it lost
  const Pair<double> u = sum_of_any(1, x.high);
  const Split s = split(u.high);
  const double f = s.mantissa - 1, exponent = s.exponent > 1022 ? 1022 : s.exponent;
  const double lost = (u.low + x.low) * power_of_two(kRound<double> - exponent);
  const double low = lost * multiply_add(f, f, 1 - f);
  const Pair<double> whole = sum_of_any(s.exponent * kLn2Short, f);
  const double rest = multiply_add(s.exponent, kLn2Rest, whole.low) + (low - log_tail(f));
  return whole.high + rest;
}

// Of numbers beyond this one inverses are log(2 x).
inline constexpr double kHuge = 0x1p56;

FLAM_FN double asinh(double x) {
  const double size = __builtin_fabs(x), a = size > kHuge ? kHuge : size;
  const Pair<double> aa = square(a), t = sum_of_any(1, aa.high);
  const Pair<double> r = root({t.high, t.low + aa.low}), d = sum(r.high, 1);
  const Pair<double> q = quotient(aa, {d.high, d.low + r.low});
  const Pair<double> u = sum_of_any(a, q.high);
  const bool huge = size > kHuge;
  const double y = log1p(huge ? Pair<double>{size, -1} : Pair<double>{u.high, u.low + q.low});
  const double arc = huge ? y + kLn2 : y;
  return __builtin_copysign(size < 0x1p-30 || size == __builtin_inf() ? size : arc, x);
}

FLAM_FN double acosh(double x) {
  const double a = x > kHuge ? kHuge : x;
  const Pair<double> aa = square(a), t = sum_of_any(aa.high, -1), above = sum_of_any(a, -1);
  const Pair<double> r = root({t.high, t.low + aa.low}), u = sum(r.high, above.high);
  const bool huge = x > kHuge;
  const double low = u.low + (above.low + r.low);
  const double y = log1p(huge ? Pair<double>{x, -1} : Pair<double>{u.high, low});
  const double arc = huge ? y + kLn2 : y, far = x == __builtin_inf() ? x : arc;
  return x >= 1 ? far : __builtin_nan("");
}

FLAM_FN double atanh(double x) {
  const double a = __builtin_fabs(x), d = 1 - a;
  const Pair<double> n = {2 * a, 0}, q = quotient(n, {d, (1 - d) - a});
  const double y = 0.5 * log1p(q), near = a < 0x1p-30 ? a : y;
  const double arc = a == 1 ? __builtin_inf() : near;
  return a <= 1 ? __builtin_copysign(arc, x) : __builtin_nan("");
}

// ---- angles -------------------------------------------------------------------------------------

// (arctan(t) - t) / t^3 of s = t^2 up to 3 - sqrt(8).
FLAM_FN double atan_tail(double s) {
  return polynomial(s, -0x1.5555555555555p-2, 0x1.9999999999814p-3, -0x1.2492492481b99p-3,
                    0x1.c71c71bc9a945p-4, -0x1.745d156543b15p-4, 0x1.3b137bd5dc451p-4,
                    -0x1.110d29c4df43bp-4, 0x1.e17ec5ff05f03p-5, -0x1.abc8eed40aa83p-5,
                    0x1.720802b0ce324p-5, -0x1.1499206d87078p-5, 0x1.fae5b3f726bb1p-7);
}

inline constexpr double kPi = 0x1.921fb54442d18p+1, kPiLow = 0x1.1a62633145c07p-53;

// The angle whose tangent is n / d, from 0 to a quarter turn; neither is negative or infinite.
FLAM_FN Pair<double> arc(Pair<double> n, Pair<double> d) {
  const bool steep = n.high > 0x1.3504f333f9de6p+1 * d.high;
  const bool low = n.high <= 0x1.a827999fcef32p-2 * d.high;
  const Pair<double> less = sum_of_any(n.high, -d.high), more = sum_of_any(n.high, d.high);
  Pair<double> top = {less.high, less.low + (n.low - d.low)};
  Pair<double> bottom = {more.high, more.low + (n.low + d.low)};
  top = {steep ? -d.high : top.high, steep ? -d.low : top.low};
  bottom = {steep ? n.high : bottom.high, steep ? n.low : bottom.low};
  top = {low ? n.high : top.high, low ? n.low : top.low};
  bottom = {low ? d.high : bottom.high, low ? d.low : bottom.low};
  const Pair<double> t = quotient(top, {bottom.high == 0 ? 1 : bottom.high, bottom.low});
  const double eighths = low ? 0 : steep ? 0.5 : 0.25, s = t.high * t.high;
  const Pair<double> high = sum(eighths * kPi, t.high);
  const double rest = multiply_add(eighths, kPiLow, multiply_add(-s, t.low, t.low));
  return {high.high, high.low + multiply_add(t.high * s, atan_tail(s), rest)};
}
FLAM_FN double turned(Pair<double> angle, bool left) {  // on the other side, pi less the angle
  const Pair<double> other = sum(kPi, -angle.high);
  const double y = other.high + (other.low + (kPiLow - angle.low));
  return left ? y : angle.high + angle.low;
}

FLAM_FN double atan(double x) {
  const double a = __builtin_fabs(x), n = a > 0x1p60 ? 0x1p60 : a;
  const Pair<double> angle = arc({n, 0}, {1, 0});
  return __builtin_copysign(angle.high + angle.low, x);
}

FLAM_FN double asin(double x) {
  const double a = __builtin_fabs(x), up = 1 + a, down = 1 - a;
  const double product = up * down, lost = multiply_add(up, down, -product);
  const double low = multiply_add(up, (1 - down) - a, down * (a - (up - 1)));
  const Pair<double> angle = arc({a, 0}, root({product, lost + low}));
  return a <= 1 ? __builtin_copysign(angle.high + angle.low, x) : __builtin_nan("");
}

FLAM_FN double acos(double x) {
  const double a = __builtin_fabs(x), up = 1 + a, down = 1 - a;
  const double product = up * down, lost = multiply_add(up, down, -product);
  const double low = multiply_add(up, (1 - down) - a, down * (a - (up - 1)));
  const Pair<double> angle = arc(root({product, lost + low}), {a, 0});
  return a <= 1 ? turned(angle, x < 0) : __builtin_nan("");
}

FLAM_FN double atan2(double y, double x) {
  constexpr double inf = __builtin_inf();
  const double ax = __builtin_fabs(x), ay = __builtin_fabs(y), most = ax > ay ? ax : ay;
  const double small = most < 0x1p-900 ? 0x1p110 : 1, scale = most > 0x1p900 ? 0x1p-110 : small;
  const bool far = most == inf;  // then only which ones are infinite matters
  const double n = far ? (ay == inf ? 1 : ay * 0) : ay * scale;
  const double d = far ? (ax == inf ? 1 : ax * 0) : ax * scale;
  const bool left = bits_as<uint64_t>(x) >> 63;  // of -0, too
  return __builtin_copysign(turned(arc({n, 0}, {d, 0}), left), y);
}

}  // namespace flambeau::FLAM_TARGET::wide
#endif

// What functors call: of floats, and without fused multiply-add, these are math.h's.
#if defined(__FMA__) && !defined(__CUDACC__)
#define FLAM_WIDE_CORES wide
#else
#define FLAM_WIDE_CORES FLAM_TARGET
#endif
#define FLAM_IN_LOOPS(name)                                              \
  FLAM_FN float name(float x) { return flambeau::FLAM_TARGET::name(x); } \
  FLAM_FN double name(double x) { return FLAM_WIDE_CORES::name(x); }

namespace flambeau::FLAM_TARGET::in_loops {

FLAM_IN_LOOPS(sinh)
FLAM_IN_LOOPS(cosh)
FLAM_IN_LOOPS(asinh)
FLAM_IN_LOOPS(acosh)
FLAM_IN_LOOPS(atanh)
FLAM_IN_LOOPS(asin)
FLAM_IN_LOOPS(acos)
FLAM_IN_LOOPS(atan)
FLAM_FN float atan2(float y, float x) { return flambeau::FLAM_TARGET::atan2(y, x); }
FLAM_FN double atan2(double y, double x) { return FLAM_WIDE_CORES::atan2(y, x); }

}  // namespace flambeau::FLAM_TARGET::in_loops

#undef FLAM_IN_LOOPS
#undef FLAM_WIDE_CORES
