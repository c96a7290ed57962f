// Elementary functions of float against the C library's double over a sample of all bit patterns,
// and the values that C demands at infinities, NaN and signed zeros.
#if !defined(FLAM_TARGET)
#define FLAM_TARGET tested
#define MATH Math
#define MATH_RUNS true
#endif
#include "kernels/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace flambeau {
namespace {

namespace m = FLAM_TARGET;

constexpr float kInf = std::numeric_limits<float>::infinity();
// Prime, so that mantissas of all endings occur; FLAMBEAU_SWEEP=all takes every float.
const uint32_t kStride = std::getenv("FLAMBEAU_SWEEP") ? 1 : 1009;

// Distance in units of the last place of the float nearest to `want`.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const float nearest = float(want);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::abs(double(got) - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <class F, class R> void sweep(const char* name, double bar, F f, R reference) {
  double worst = 0;
  float at = 0;
  uint64_t bits = 0;
  for (; bits < (uint64_t(1) << 32); bits += kStride) {
    // In the end -0, whose sign many functions keep.
    const bool last = bits + kStride >= (uint64_t(1) << 32);
    const float x = last ? -0.f : bits_as<float>(uint32_t(bits));
    const double distance = ulps(f(x), reference(double(x)));
    if (distance > worst) worst = distance, at = x;
  }
  EXPECT_LE(worst, bar) << name << " at " << at;
  ::testing::Test::RecordProperty(name, std::to_string(worst));
}

#define SWEEP(name, bar) \
  sweep(#name, bar, [](float x) { return m::name(x); }, [](double x) { return std::name(x); })

TEST(MATH, ExponentialsAndLogarithms) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  SWEEP(exp, 1);
  SWEEP(exp2, 1);
  SWEEP(expm1, 1);
  SWEEP(log, 1);
  SWEEP(log2, 1);
  SWEEP(log10, 1);
  SWEEP(log1p, 1);
}

TEST(MATH, SigmoidsAndErrorFunctions) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  SWEEP(tanh, 1);
  SWEEP(erf, 1);
  SWEEP(erfc, 1);
  sweep(
      "sigmoid", 1, [](float x) { return m::sigmoid(x); },
      [](double x) { return 1 / (1 + std::exp(-x)); });
  sweep(
      "normal_cdf", 1, [](float x) { return m::normal_cdf(x); },
      [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); });
  sweep("rsqrt", 1, [](float x) { return m::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); });
}

TEST(MATH, Angles) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  SWEEP(sin, 1);
  SWEEP(cos, 1);
  SWEEP(tan, 1);
}

TEST(MATH, Powers) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  for (float y : {-3.f, -2.5f, -1.f, -0.5f, -1e-3f, 0.f, 1e-3f, 0.3f, 0.5f, 1.f, 2.f, 2.2f, 3.f,
                  7.f, 100.f, 16777217.f, 1e30f, kInf, -kInf}) {
    sweep(
        "pow", 1, [&](float x) { return m::pow(x, y); },
        [&](double x) { return std::pow(x, double(y)); });
  }
  for (float x : {0.f, -0.f, 1.f, -1.f, kInf, -kInf, 1.0000001f, 0.99999994f, 2.f, -2.f, 0.1f,
                  -0.1f, 3e38f}) {
    sweep(
        "pow", 1, [&](float y) { return m::pow(x, y); },
        [&](double y) { return std::pow(double(x), y); });
  }
}

}  // namespace
}  // namespace flambeau
