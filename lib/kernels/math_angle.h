// Sine, cosine and tangent of float and double in their own arithmetic, for processors with fused
// multiply-add and angles of usual size: at most 1 ULP, the tangent 2 (tests/kernels/math_test.cc).
//
// Method: Cody and Waite's reduction in three parts of pi / 2 to a pair of numbers, and minimax
// polynomials (Muller, "Elementary Functions", 3rd ed., chapters 3 and 11).
#pragma once
#include "kernels/math_basic.h"

namespace flambeau::FLAM_TARGET::angle {

using namespace basic;

// Up to here a nearest quarter turn is known well enough, and its multiples to what a pair holds.
template <class T> inline constexpr T kUsual = sizeof(T) == 4 ? T(1e5) : T(1e9);
template <class T> FLAM_FN bool is_usual(T x) { return (x >= -kUsual<T>)&(x <= kUsual<T>); }

template <class T> struct Bits;
template <> struct Bits<float> {
  using type = uint32_t;
};
template <> struct Bits<double> {
  using type = uint64_t;
};

template <class T> struct Quarter {
  Pair<T> angle;  // from the nearest multiple of a quarter turn
  typename Bits<T>::type number;
};
template <class T> struct QuarterTurn {
  T inverse, high, middle, low;  // of pi / 2 in three parts
};
template <class T>
inline constexpr QuarterTurn<T> kQuarterTurn =
    sizeof(T) == 4
        ? QuarterTurn<T>{T(0x1.45f306p-1), T(0x1.921fb6p+0), T(-0x1.777a5cp-25), T(-0x1.ee59dap-50)}
        : QuarterTurn<T>{T(0x1.45f306dc9c883p-1), T(0x1.921fb54442d18p+0), T(0x1.1a62633145c07p-54),
                         T(-0x1.f1976b7ed8fbcp-110)};

template <class T> FLAM_FN Quarter<T> quarter(T x) {
  constexpr QuarterTurn<T> c = kQuarterTurn<T>;
  const T shifted = multiply_add(x, c.inverse, kRound<T>), k = shifted - kRound<T>;
  const T r = multiply_add(k, -c.high, x), p = k * -c.middle, high = r + p, back = high - r;
  const T lost = (r - (high - back)) + (p - back);
  const T rest = multiply_add(k, -c.middle, -p) - k * c.low;
  return {sum(high, lost + rest), bits_as<typename Bits<T>::type>(shifted)};
}

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 of s = r^2, |r| <= pi / 4.
FLAM_FN float sine_tail(float s) {
  return polynomial(s, -0x1.555546p-3f, 0x1.110756p-7f, -0x1.994b4p-13f);
}
FLAM_FN float cosine_tail(float s) {
  return polynomial(s, 0x1.55554ap-5f, -0x1.6c0c82p-10f, 0x1.99ff4p-16f);
}
FLAM_FN double sine_tail(double s) {
  return polynomial(s, -0x1.5555555555548p-3, 0x1.111111110f7b0p-7, -0x1.a01a019bf9b53p-13,
                    0x1.71de356407f42p-19, -0x1.ae5e578097a07p-26, 0x1.5d8ee7708c2b5p-33);
}
FLAM_FN double cosine_tail(double s) {
  return polynomial(s, 0x1.555555555554bp-5, -0x1.6c16c16c14f6cp-10, 0x1.a01a019c8096bp-16,
                    -0x1.27e4f7e802ad2p-22, 0x1.1ee9d5c93e4c6p-29, -0x1.8fa3959a180dfp-37);
}

template <class T> struct Circle {
  Pair<T> sine, cosine;
};
template <class T> FLAM_FN Circle<T> circle(Pair<T> angle) {
  const T r = angle.high, low = angle.low, s = r * r, half = T(0.5) * s, one = 1 - half;
  const T rest = multiply_add(-r, low, (1 - one) - half);
  return {sum(r, multiply_add(r * s, sine_tail(s), low)),
          sum(one, multiply_add(s * s, cosine_tail(s), rest))};
}

template <class T> FLAM_FN T sine_of(Quarter<T> q) {
  constexpr int top = 8 * sizeof(T) - 2;
  using U = typename Bits<T>::type;
  const Circle<T> c = circle(q.angle);
  const T y = q.number & 1 ? c.cosine.high : c.sine.high;
  return bits_as<T>(bits_as<U>(y) ^ ((q.number & 2) << top));
}

template <class T> FLAM_FN T sin(T x) { return x == 0 ? x : sine_of(quarter(x)); }
template <class T> FLAM_FN T cos(T x) {
  Quarter<T> q = quarter(x);
  ++q.number;
  return sine_of(q);
}
template <class T> FLAM_FN T tan(T x) {
  const Quarter<T> q = quarter(x);
  const Circle<T> c = circle(q.angle);
  const bool odd = q.number & 1;
  const Pair<T> n = {odd ? -c.cosine.high : c.sine.high, odd ? -c.cosine.low : c.sine.low};
  const Pair<T> d = {odd ? c.sine.high : c.cosine.high, odd ? c.sine.low : c.cosine.low};
  const Pair<T> y = quotient(n, d);
  return x == 0 ? x : y.high + y.low;
}

}  // namespace flambeau::FLAM_TARGET::angle
