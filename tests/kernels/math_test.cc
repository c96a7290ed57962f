// Elementary functions of float against the C library's double over a sample of all bit patterns,
// those of double against its long double, and the values that C demands at infinities, NaN and
// signed zeros.
#if !defined(FLAM_TARGET)
#define FLAM_TARGET tested
#define MATH Math
#define MATH_RUNS true
#endif
#include "kernels/math_gates.h"
#include "ops/elementwise/double_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace flambeau {
namespace {

namespace m = FLAM_TARGET;

constexpr float kInf = std::numeric_limits<float>::infinity();
// Prime, so that mantissas of all endings occur; FLAMBEAU_SWEEP=all takes every float.
const uint32_t kStride = std::getenv("FLAMBEAU_SWEEP") ? 1 : 1009;

// Distance in units of the last place of the T nearest to `want`.
template <class T, class Wide> double ulps(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const T nearest = T(want);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(want, &exponent);
  const int least = Limits::min_exponent - Limits::digits;
  const Wide unit = std::ldexp(Wide(1), std::max(exponent - Limits::digits, least));
  return double(std::abs(Wide(got) - want) / unit);
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
  sweep("rsqrt", 2, [](float x) { return m::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); });
}

TEST(MATH, Gates) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  sweep(
      "gate_tanh", 3, [](float x) { return m::gate_tanh(x); },
      [](double x) { return std::tanh(x); });
  const auto above = [](auto x) { return x < -87 ? -87 : x; };
  sweep(
      "gate_sigmoid", 3, [&](float x) { return m::gate_sigmoid(above(x)); },
      [&](double x) { return 1 / (1 + std::exp(-above(x))); });
  EXPECT_LE(m::gate_sigmoid(-kInf), 2e-38f);
}

TEST(MATH, Angles) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  SWEEP(sin, 1);
  SWEEP(cos, 1);
  SWEEP(tan, 2);
  SWEEP(asin, 2);
  SWEEP(acos, 2);
  SWEEP(atan, 2);
  for (float other : {0.f, -0.f, 1.f, -1.f, 0.7f, -3e-39f, 1e30f, -kInf}) {
    sweep(
        "atan2", 2, [&](float x) { return m::atan2(x, other); },
        [&](double x) { return std::atan2(x, double(other)); });
    sweep(
        "atan2", 2, [&](float x) { return m::atan2(other, x); },
        [&](double x) { return std::atan2(double(other), x); });
  }
}

TEST(MATH, Hyperbolic) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  SWEEP(sinh, 1);
  SWEEP(cosh, 1);
  SWEEP(asinh, 1);
  SWEEP(acosh, 1);
  SWEEP(atanh, 2);
}

// Of doubles: any bit pattern, and as many of usual size.
template <class F, class R> void sample(const char* name, double bar, F f, R reference) {
  std::mt19937_64 drawn(1);
  double worst = 0, at = 0;
  for (int i = 0; i < 400'000; ++i) {
    const uint64_t bits = drawn();
    const double unit = double(bits >> 11) * 0x1p-53;
    const double range[] = {bits_as<double>(bits), 8 * unit - 4, 2 * unit - 1, 1500 * unit - 750};
    const double ends[] = {0.0, -0.0, 1, -1, kInf, -kInf, 0x1p-1074};
    const double x = i < 7 ? ends[i] : range[i % 4];
    const double distance = ulps(f(x), reference((long double)(x)));
    if (distance > worst) worst = distance, at = x;
  }
  EXPECT_LE(worst, bar) << name << " at " << at;
}

#define SAMPLE(name, bar) \
  sample(                 \
      #name, bar, [](double x) { return m::name(x); }, [](long double x) { return std::name(x); })

TEST(MATH, Doubles) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  SAMPLE(exp, 1.1);
  SAMPLE(exp2, 1.1);
  SAMPLE(expm1, 1.1);
  SAMPLE(log, 1);
  SAMPLE(log2, 1);
  SAMPLE(log10, 1.6);  // the C library's own, where there is no fused multiply-add
  SAMPLE(log1p, 1);
  SAMPLE(tanh, 2.2);
  SAMPLE(erf, 1.3);
  SAMPLE(sin, 1);
  SAMPLE(cos, 1);
  SAMPLE(tan, 1.3);
  // Without fused multiply-add it is 1 / (1 + exp(-x)), as PyTorch has it, which ends with exp.
  constexpr double least = m::kHasUsual ? -746 : -709.7;
  sample(
      "sigmoid", m::kHasUsual ? 1 : 2.4, [](double x) { return x < least ? 0.0 : m::sigmoid(x); },
      [](long double x) { return x < least ? 0.0L : 1 / (1 + std::exp(-x)); });
}

#define SAMPLE_IN_LOOPS(name, bar)                               \
  sample(                                                        \
      #name, bar, [](double x) { return m::in_loops::name(x); }, \
      [](long double x) { return std::name(x); })

// Without fused multiply-add these are the C library's.
TEST(MATH, HyperbolicFunctionsAndAnglesOfDoubles) {
  if (!MATH_RUNS) GTEST_SKIP() << "this processor lacks its instructions";
  constexpr double bar = m::kHasUsual ? 1.1 : 2.5;
  SAMPLE_IN_LOOPS(sinh, bar);
  SAMPLE_IN_LOOPS(cosh, bar);
  SAMPLE_IN_LOOPS(asinh, bar);
  SAMPLE_IN_LOOPS(acosh, bar);
  SAMPLE_IN_LOOPS(atanh, bar);
  SAMPLE_IN_LOOPS(asin, bar);
  SAMPLE_IN_LOOPS(acos, bar);
  SAMPLE_IN_LOOPS(atan, bar);
  for (double other : {0.0, -0.0, 1.0, -1.0, 0.7, -3e-310, 1e300, -double(kInf)}) {
    sample(
        "atan2", 1.5, [&](double x) { return m::in_loops::atan2(x, other); },
        [&](long double x) { return std::atan2(x, (long double)(other)); });
    sample(
        "atan2", 1.5, [&](double x) { return m::in_loops::atan2(other, x); },
        [&](long double x) { return std::atan2((long double)(other), x); });
  }
  SAMPLE(erfc, 6);  // the C library's
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
