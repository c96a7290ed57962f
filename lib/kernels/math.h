// Elementary functions for functors: the same name for float and double, branch-free, so that loops
// around them become vector code; NaN, infinities and -0 as C demands.
//
//   exp exp2 expm1 log log2 log10 log1p pow   sigmoid tanh sinh cosh asinh acosh atanh
//   sin cos tan asin acos atan atan2          sqrt rsqrt fabs floor ceil trunc rint fmod
//   erf erfc normal_cdf softplus
//
// On the host the functions of math_float.h and math_double.h are taken where the processor
// multiplies and adds in one rounding. The other functions of floats, and all where it does not,
// compute in double and round once: half the lanes, but about 0.5 ULP on every instruction set;
// the other functions of doubles are the C library's, and device code has CUDA's. Needs
// -fno-trapping-math -fno-math-errno: with them a comparison is a select, without them a branch.
#pragma once
#include <cmath>
#include <cstdint>

#include "kernels/math_basic.h"
#include "kernels/math_inverse.h"
#if defined(__FMA__) && !defined(__CUDACC__)
#include "kernels/math_angle.h"
#include "kernels/math_double.h"
#include "kernels/math_float.h"
#define FLAM_FLOAT_CORES single
#define FLAM_DOUBLE_CORES wide
#else
#define FLAM_FLOAT_CORES core
#define FLAM_DOUBLE_CORES
#endif

namespace flambeau::FLAM_TARGET {

// ---- cores in double, for float arguments -------------------------------------------------------

namespace core {

using namespace basic;

struct Exponential {
  double power, minus_one;  // exp(x) = power * (1 + minus_one)
};

FLAM_FN Exponential exponential(double x) {
  const double shifted = multiply_add(x, 0x1.71547652b82fep0, kRound<double>),
               k = shifted - kRound<double>;
  const double r = multiply_add(k, -0x1.62e42fefa39efp-1, x);
  const double q =
      polynomial(r, 0.50000000451800929, 0.166666664011682171, 0.0416663576980877712,
                 0.00833338181381196362, 0.00139408506294480529, 0.000198502304982910233);
  const uint64_t power = (bits_as<uint64_t>(shifted) << 52) + 0x3ff0000000000000u;
  return {bits_as<double>(power), multiply_add(r * r, q, r)};
}

FLAM_FN double exp(double x) {
  const Exponential e = exponential(clamp(x, -200, 200));
  return multiply_add(e.power, e.minus_one, e.power);
}

FLAM_FN double exp2(double x) { return exp(x * 0x1.62e42fefa39efp-1); }  // of a float

FLAM_FN double expm1(double x) {
  const Exponential e = exponential(clamp(x, -200, 200));
  return __builtin_copysign(multiply_add(e.power, e.minus_one, e.power - 1), x);  // of -0, too
}

// Exponent and log of the mantissa, for positive normal x.
struct Logarithm {
  double exponent, rest;  // log(x) = exponent * ln 2 + rest
};

FLAM_FN Logarithm logarithm(double x) {
  const uint64_t bits = bits_as<uint64_t>(x);
  const uint64_t above =
      bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u;  // 0 at sqrt(1/2), biased
  const double exponent = bits_as<double>((above >> 52) | 0x4330000000000000u) - (0x1p52 + 1024);
  const uint64_t mantissa = bits - ((above & 0xfff0000000000000u) - 0x4000000000000000u);
  const double f = bits_as<double>(mantissa) - 1;
  const double q = polynomial(f, -0.499999999937359601, 0.333333334254670395, -0.250000020140991171,
                              0.199999873619164678, -0.166664899728655571, 0.142862090821537106,
                              -0.12506625474996435, 0.111057966200049365, -0.0988040962898173648,
                              0.0902963483452836324, -0.0931820263575691992, 0.0917669368633437591,
                              -0.0484270045470364857);
  return {exponent, multiply_add(f * f, q, f)};
}

FLAM_FN double log(double x, double ln2 = 0x1.62e42fefa39efp-1, double scale = 1) {
  const Logarithm l = logarithm(x);
  return at_the_ends(x, l.exponent * ln2 + l.rest * scale);
}
FLAM_FN double log2(double x) { return log(x, 1, 0x1.71547652b82fep0); }
FLAM_FN double log10(double x) { return log(x, 0x1.34413509f79ffp-2, 0x1.bcb7b1526e50ep-2); }

FLAM_FN double log1p(double x) {
  const double tiny = x - x * x * (0.5 - x * (1.0 / 3));
  return __builtin_fabs(x) < 0x1p-20 ? tiny : log(1 + x);
}

FLAM_FN double tanh(double x) {
  const double e = expm1(2 * clamp(x, -20, 20));
  return e / (e + 2);
}

FLAM_FN double sigmoid(double x) { return 1 / (1 + exp(-x)); }

FLAM_FN double sinh(double x) {
  const double e = expm1(__builtin_fabs(x));
  return __builtin_copysign(0.5 * (e + e / (e + 1)), x);
}
FLAM_FN double cosh(double x) {
  const double e = exp(x);
  return 0.5 * (e + 1 / e);
}

FLAM_FN double asinh(double x) {  // of squares that are finite
  const double a = __builtin_fabs(x), y = log1p(a + a * a / (1 + ::sqrt(1 + a * a)));
  return __builtin_copysign(a > 0x1p128 ? a : y, x);
}
FLAM_FN double acosh(double x) {
  const double above = x - 1, y = log1p(above + ::sqrt(above * (above + 2)));
  return x >= 1 ? y : __builtin_nan("");
}
FLAM_FN double atanh(double x) { return 0.5 * log1p(2 * x / (1 - x)); }

// exp(z * z) * erfc(z) for z >= 0.
FLAM_FN double erfc_scaled(double z) {
  z = z > 10.2 ? 10.2 : z;
  const double t = (z - 3) / (z + 3);
  return polynomial(t, 0.179001151180928664, -0.326233560145987259, 0.245603801953287296,
                    -0.150115931031381071, 0.0716658288551366101, -0.0243925838488803322,
                    0.00426921470550530137, 0.000708326866922044068, -0.000597291547389155742,
                    0.000043260004006894155, 0.0000639528817433306387, -9.54921865192618198e-6,
                    -6.69543526886966333e-6);
}

// erfc(z) for z >= 0, given z * z: relative accuracy down to the smallest floats.
FLAM_FN double erfc_positive(double z, double square) {
  square = square > 105 ? 105 : square;
  return exp(-square) * erfc_scaled(z);
}

FLAM_FN double erf(double x) {
  const double a = __builtin_fabs(x), square = x * x;
  const double tail = 1 - erfc_positive(a, square);
  const double s = square > 1 ? 1 : square;
  const double near =
      x * polynomial(s, 1.12837916705801087, -0.376126384345433227, 0.112837819724244528,
                     -0.0268653999431593248, 0.00522094515415062527, -0.000848282480667531486,
                     0.000112569188254168332, -9.64143367418483943e-6);
  return a < 1 ? near : __builtin_copysign(tail, x);
}

FLAM_FN double erfc(double x) {
  const double tail = erfc_positive(__builtin_fabs(x), x * x);
  return x < 0 ? 2 - tail : tail;
}

FLAM_FN double normal_cdf(double x) {
  const double tail = 0.5 * erfc_positive(__builtin_fabs(x) * 0x1.6a09e667f3bcdp-1, 0.5 * x * x);
  return x > 0 ? 1 - tail : tail;
}

FLAM_FN double round_even(double x) { return (x + kRound<double>)-kRound<double>; }

// Of floats: a logarithm near 2^-38 leaves enough for y * log2(x) < 150.
FLAM_FN double usual_pow(double x, double y) {  // of x above 0, both finite
  const Logarithm l = logarithm(x);
  return exp2(y * (l.exponent + l.rest * 0x1.71547652b82fep0));
}

// The sign and the special
// cases are arithmetic on 0 and 1, because a short-circuit would be a branch.
FLAM_FN double pow(double x, double y) {
  constexpr double inf = __builtin_inf();
  const double a = __builtin_fabs(x), t = y * log2(a);
  double r = exp(0x1.62e42fefa39efp-1 * clamp(t, -280, 280));
  const double w = clamp(y, -0x1p25, 0x1p25),
               half = 0.5 * w;              // floats that large are even integers
  const double uneven = round_even(w) - w;  // not 0: y is no integer
  const double odd = uneven != 0 ? 0 : round_even(half) - half;
  r = t > 200 ? inf : r;
  r = t < -200 ? 0 : r;
  r = odd != 0 ? __builtin_copysign(r, x) : r;
  const double wrong = x < 0 ? uneven : 0;
  r = (wrong != 0 ? a : inf) < inf ? __builtin_nan("") : r;
  r = a == 1 ? (odd != 0 ? x : wrong == 0 ? 1 : r) : r;  // also for infinite y
  r = x == 1 ? 1 : r;
  r = x != x ? x : r;
  r = y != y ? (x == 1 ? 1 : y) : r;
  return y == 0 ? 1 : r;
}

// 2^(8 i) * 2 / pi modulo 4 in pieces of 26, 27 and 53 bits, and 2^(-8 i): products of the first
// two with a float's 24 bits are exact, so even the largest float is reduced without loss.
struct TwoOverPi {
  double high, middle, low, scale;
};
inline constexpr TwoOverPi kTwoOverPi[14] = {
    {0x1.45f306p-1, 0x1.b9391p-26, 0x1.529fc2757d1f5p-52, 0x1p+0},
    {0x1.7cc1b7p+1, 0x1.3910548p-26, 0x1.3f84eafa3ea6ap-53, 0x1p-8},
    {0x1.836e4ep+0, 0x1.1054a78p-26, 0x1.c2757d1f534dep-52, 0x1p-16},
    {0x1.b72722p+1, 0x1.529fc2p-28, 0x1.d5f47d4d37703p-54, 0x1p-24},
    {0x1.27220a8p+1, 0x1.4fe13ap-27, 0x1.7d1f534ddc0dbp-52, 0x1p-32},
    {0x1.220a948p+1, 0x1.f84eaf8p-25, 0x1.1f534ddc0db63p-52, 0x1p-40},
    {0x1.529fcp-4, 0x1.3abe8fp-27, 0x1.534ddc0db6296p-52, 0x1p-48},
    {0x1.29fc27p+0, 0x1.5f47d48p-26, 0x1.4ddc0db629599p-52, 0x1p-56},
    {0x1.fc2757p+0, 0x1.a3ea698p-25, 0x1.dc0db6295993cp-52, 0x1p-64},
    {0x1.3abe88p-3, 0x1.ea69bb8p-25, 0x1.b6c52b3278872p-57, 0x1p-72},
    {0x1.abe8fa8p+1, 0x1.a6ee06p-27, 0x1.b6295993c439p-52, 0x1p-80},
    {0x1.e8fa9ap+1, 0x1.bb81b6cp-25, 0x1.4acc9e21c821p-55, 0x1p-88},
    {0x1.f534ddp+0, 0x1.81b6c5p-25, 0x1.5993c439041fep-52, 0x1p-96},
    {0x1.34ddcp+0, 0x1.b6c52bp-25, 0x1.93c439041fe51p-52, 0x1p-104},
};

struct Quadrant {
  double turn;  // in quarter turns, at most about one half
  uint64_t number;
};

FLAM_FN Quadrant quadrant(double x) {
  const int64_t exponent = int64_t(bits_as<uint64_t>(x) >> 52 & 0x7ff) - (1023 + 23);
  const int64_t clipped = exponent < 0 ? 0 : exponent > 104 ? 104 : exponent;
  const TwoOverPi& c = kTwoOverPi[clipped >> 3];
  const double m = x * c.scale, high = m * c.high, middle = m * c.middle;
  const double z1 = high + kRound<double>, z2 = middle + kRound<double>;
  const double sum = (high - (z1 - kRound<double>)) + (middle - (z2 - kRound<double>)),
               z3 = sum + kRound<double>;
  return {(sum - (z3 - kRound<double>)) + m * c.low,
          bits_as<uint64_t>(z1) + bits_as<uint64_t>(z2) + bits_as<uint64_t>(z3)};
}

FLAM_FN double sine_of(Quadrant q) {
  const double f = q.turn, u = f * f;
  const double s =
      f * polynomial(u, 1.57079632679472676, -0.645964097478053669, 0.0796926254819786549,
                     -0.00468174652123930566, 0.000160406762706815482, -3.52684486554775854e-6);
  const double c =
      polynomial(u, 0.999999999998259987, -1.23370054986518117, 0.253669500888724529,
                 -0.0208634133293330321, 0.000918963820410565053, -0.0000245957084866463711);
  const double r = q.number & 1 ? c : s;
  return q.number & 2 ? -r : r;
}

FLAM_FN double sin(double x) { return sine_of(quadrant(x)); }
FLAM_FN double cos(double x) {
  Quadrant q = quadrant(x);
  ++q.number;
  return sine_of(q);
}
FLAM_FN double tan(double x) {
  Quadrant q = quadrant(x);
  const double s = sine_of(q);
  ++q.number;
  return s / sine_of(q);
}

}  // namespace core

// ---- what functors call -------------------------------------------------------------------------

#if defined(__CUDA_ARCH__)
#define FLAM_FLOAT_MATH(name, device, cores) \
  FLAM_FN float name(float x) { return device(x); }
#else
#define FLAM_FLOAT_MATH(name, device, cores) \
  FLAM_FN float name(float x) { return static_cast<float>(cores::name(x)); }
#endif
#define FLAM_MATH(name, cores, wide)    \
  FLAM_FLOAT_MATH(name, name##f, cores) \
  FLAM_FN double name(double x) { return wide::name(x); }

FLAM_MATH(exp, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(exp2, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(expm1, core, FLAM_DOUBLE_CORES)
FLAM_MATH(log, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(log2, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(log10, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(log1p, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(tanh, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(erf, FLAM_FLOAT_CORES, FLAM_DOUBLE_CORES)
FLAM_MATH(erfc, core, )
FLAM_MATH(sinh, core, )
FLAM_MATH(cosh, core, )
FLAM_MATH(asin, inverse, )
FLAM_MATH(acos, inverse, )
FLAM_MATH(atan, inverse, )
FLAM_MATH(asinh, core, )
FLAM_MATH(acosh, core, )
FLAM_MATH(atanh, FLAM_FLOAT_CORES, )

// Some have a shorter form for usual numbers, with the same result, which a loop takes where all
// are usual (kernels/map/map_loop.h).
#if defined(__FMA__) && !defined(__CUDACC__)
inline constexpr bool kHasUsual = true;
#define FLAM_ANGLE_MATH(name)                                                       \
  template <class V> FLAM_FN V usual_##name(V x) { return angle::name(x); }         \
  FLAM_FN float name(float x) {                                                     \
    return angle::is_usual(x) ? angle::name(x) : static_cast<float>(core::name(x)); \
  }                                                                                 \
  FLAM_FN double name(double x) { return angle::is_usual(x) ? angle::name(x) : ::name(x); }
template <class V> FLAM_FN bool is_usual_angle(V x) { return angle::is_usual(x); }
using single::usual_exp;
using single::usual_exp2;
using single::usual_sigmoid;
using single::usual_softplus;
using wide::sigmoid;
using wide::usual_sigmoid;
#else
inline constexpr bool kHasUsual = false;
#define FLAM_ANGLE_MATH(name) FLAM_MATH(name, core, )
FLAM_FN double sigmoid(double x) {
  const double e = ::exp(-__builtin_fabs(x));  // which is at most 1
  return (x < 0 ? e : 1) / (1 + e);
}
#endif
FLAM_ANGLE_MATH(sin)
FLAM_ANGLE_MATH(cos)
FLAM_ANGLE_MATH(tan)
#undef FLAM_ANGLE_MATH
#undef FLAM_MATH

#if defined(__CUDA_ARCH__)
FLAM_FN float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}
FLAM_FN float normal_cdf(float x) { return normcdff(x); }
FLAM_FN float atan2(float y, float x) { return ::atan2f(y, x); }
#else
FLAM_FN float sigmoid(float x) { return static_cast<float>(FLAM_FLOAT_CORES::sigmoid(x)); }
FLAM_FN float normal_cdf(float x) { return static_cast<float>(core::normal_cdf(x)); }
FLAM_FN float atan2(float y, float x) { return inverse::atan2(y, x); }
#endif
FLAM_FN double normal_cdf(double x) { return 0.5 * ::erfc(x * -0x1.6a09e667f3bcdp-1); }

FLAM_FN float pow(float x, float y) { return static_cast<float>(core::pow(x, y)); }
FLAM_FN float usual_pow(float x, float y) { return static_cast<float>(core::usual_pow(x, y)); }
FLAM_FN double pow(double x, double y) { return ::pow(x, y); }

// One instruction each.
#define FLAM_LIBRARY_MATH(name)                        \
  FLAM_FN float name(float x) { return ::name##f(x); } \
  FLAM_FN double name(double x) { return ::name(x); }
FLAM_LIBRARY_MATH(sqrt)
FLAM_LIBRARY_MATH(fabs)
FLAM_LIBRARY_MATH(floor)
FLAM_LIBRARY_MATH(ceil)
FLAM_LIBRARY_MATH(trunc)
FLAM_LIBRARY_MATH(rint)
#undef FLAM_LIBRARY_MATH
#undef FLAM_FLOAT_MATH
#undef FLAM_FLOAT_CORES
#undef FLAM_DOUBLE_CORES
// log(1 + exp(x))
FLAM_FN double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(x > 0 ? -x : x)); }
#if defined(__FMA__) && !defined(__CUDACC__)
using single::softplus;
#else
FLAM_FN float softplus(float x) { return (x > 0 ? x : 0) + log1p(exp(x > 0 ? -x : x)); }
#endif
template <class V> FLAM_FN V rsqrt(V x) { return 1 / sqrt(x); }
FLAM_FN double atan2(double y, double x) { return ::atan2(y, x); }
FLAM_FN float fmod(float x, float y) { return ::fmodf(x, y); }
FLAM_FN double fmod(double x, double y) { return ::fmod(x, y); }

}  // namespace flambeau::FLAM_TARGET
