// Philox against its published vectors, moments of the distributions, repeatability, and positional
// kernels.
#include "kernels/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/random/philox.h"
#include "tensors.h"

namespace flambeau {
namespace {

TEST(Random, PhiloxMatchesItsPublishedVectors) {  // Random123's kat_vectors
  const Words zeros = philox(0, 0, 0);
  EXPECT_EQ(zeros.word[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.word[1], 0xe169c58du);
  EXPECT_EQ(zeros.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.word[3], 0x9b00dbd8u);
  const Words ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones.word[0], 0x408f276du);
  EXPECT_EQ(ones.word[3], 0x6d5451fdu);
}

// Box and Muller's formula in double, of the words that the element's position has.
TEST(Random, NormalsAreWhatTheirWordsSay) {
  constexpr int kTiles = 500;
  const Tensor x = empty(Dims{64 * kTiles}, Dtype::f32, kCpu),
               y = empty(Dims{64 * kTiles}, Dtype::f64, kCpu);
  run_random("test", kNormal, x, {42, 7}, {0, 1});
  run_random("test", kNormal, y, {42, 7}, {0, 1});
  const auto single = values_of<float>(x);
  const auto twice = values_of<double>(y);
  constexpr double kTurn = 6.283185307179586;
  const auto both = [&](int64_t i, double u, double turns, auto& v, double ulp) {
    const double radius = std::sqrt(-2 * std::log(u));
    const double cosine = radius * std::cos(kTurn * turns), sine = radius * std::sin(kTurn * turns);
    // An angle in radians is rounded: what is near 0 has an error of the angle, not of itself.
    EXPECT_NEAR(v[i], cosine, ulp * std::abs(cosine) + radius * 2e-15) << u << " " << turns;
    EXPECT_NEAR(v[i + 16], sine, ulp * std::abs(sine) + radius * 2e-15) << u << " " << turns;
  };
  for (int64_t c = 0; c < 16 * kTiles; ++c) {
    const Words high = philox(42, 7, c), low = philox(42, 7, uint64_t(c) | uint64_t(1) << 63);
    const auto fine = [&](int j) {
      return double((uint64_t(high.word[j]) << 21) ^ (low.word[j] >> 11)) * 0x1p-53;
    };
    for (int j = 0; j < 4; j += 2) {
      const int64_t i = c / 16 * 64 + 16 * j + c % 16;
      both(i, 1 - (high.word[j] >> 8) * 0x1p-24, (high.word[j + 1] >> 8) * 0x1p-24, single, 3e-7);
      both(i, 1 - fine(j), fine(j + 1), twice, 1e-15);
    }
  }
}

struct Moments {
  double mean = 0, variance = 0, low = 1e300, high = -1e300;
};
Moments moments(const std::vector<float>& v) {
  Moments m;
  for (double x : v) {
    m.mean += x / double(v.size());
    m.low = std::min(m.low, x), m.high = std::max(m.high, x);
  }
  for (double x : v) m.variance += (x - m.mean) * (x - m.mean) / double(v.size());
  return m;
}

Moments drawn(const Kernel& k, std::initializer_list<double> params) {
  const Tensor x = empty(Dims{100001}, Dtype::f32, kCpu);
  run_random("test", k, x, {42, 7}, params);
  return moments(values_of<float>(x));
}

TEST(Random, DistributionsHaveTheirMoments) {
  const Moments uniform = drawn(kUniform, {-1, 3});
  EXPECT_NEAR(uniform.mean, 1, 0.02);
  EXPECT_NEAR(uniform.variance, 16.0 / 12, 0.02);
  EXPECT_GE(uniform.low, -1);
  EXPECT_LT(uniform.high, 3);
  const Moments normal = drawn(kNormal, {5, 2});
  EXPECT_NEAR(normal.mean, 5, 0.03);
  EXPECT_NEAR(normal.variance, 4, 0.08);
  const Moments exponential = drawn(kExponential, {2});
  EXPECT_NEAR(exponential.mean, 0.5, 0.01);
  EXPECT_GE(exponential.low, 0);
  EXPECT_NEAR(drawn(kBernoulli, {0.3}).mean, 0.3, 0.01);
}

TEST(Random, IntegersCoverTheirRange) {
  const Tensor x = empty(Dims{10000}, Dtype::i64, kCpu);
  run_random("randint", kRandint, x, {1, 2}, {}, {.input = {}, .low = -3, .high = 4});
  std::vector<int> seen(7, 0);
  for (int64_t v : values_of<int64_t>(x)) ++seen.at(size_t(v + 3));
  for (int count : seen) EXPECT_NEAR(count, 10000 / 7, 200);
  run_random("randint", kRandint, x, {1, 2}, {},
             {.input = {}, .low = -(int64_t(1) << 40), .high = int64_t(1) << 40});
  const std::vector<int64_t> wide = values_of<int64_t>(x);
  EXPECT_LT(*std::min_element(wide.begin(), wide.end()), -(int64_t(1) << 39));
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), int64_t(1) << 39);
}

TEST(Random, SameStateSameBitsForAnyThreadsAndSize) {
  const int before = get_num_threads();
  std::vector<std::vector<float>> got;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Tensor x = empty(Dims{50000}, Dtype::f32, kCpu);
    run_random("randn", kNormal, x, {3, 4}, {0, 1});
    got.push_back(values_of<float>(x));
  }
  set_num_threads(before);
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
  const Tensor shorter = empty(Dims{77}, Dtype::f32, kCpu),
               other = empty(Dims{77}, Dtype::f32, kCpu);
  run_random("randn", kNormal, shorter, {3, 4}, {0, 1});
  EXPECT_TRUE(std::equal(got[0].begin(), got[0].begin() + 77, values_of<float>(shorter).begin()));
  run_random("randn", kNormal, other, {3, 5}, {0, 1});
  EXPECT_NE(values_of<float>(other), values_of<float>(shorter));
}

TEST(Random, DropoutIsItsOwnGradient) {
  const Tensor x = tensor_of(randoms<float>(1000, 1, 2)), y = empty(Dims{1000}, Dtype::f32, kCpu);
  const Tensor ones = tensor_of(std::vector<float>(1000, 1.f)),
               dx = empty(Dims{1000}, Dtype::f32, kCpu);
  run_random("dropout", kDropout, y, {1, 1}, {0.25}, {.input = x});
  run_random("dropout", kDropout, dx, {1, 1}, {0.25}, {.input = ones});
  int dropped = 0;
  for (size_t i = 0; i < 1000; ++i) {
    const float slope = dx.data_as<float>()[i];
    EXPECT_EQ(y.data_as<float>()[i], x.data_as<float>()[i] * slope);
    EXPECT_TRUE(slope == 0 || slope == float(1 / 0.75));
    dropped += slope == 0;
  }
  EXPECT_NEAR(dropped, 250, 60);
}

TEST(Random, Permutations) {
  std::vector<int64_t> p = values_of<int64_t>(random_permutation(1000, {9, 9}));
  EXPECT_FALSE(std::is_sorted(p.begin(), p.end()));
  std::sort(p.begin(), p.end());
  for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i], int64_t(i));
  EXPECT_EQ(random_permutation(0, {1, 1}).numel(), 0);
}

TEST(Range, FollowsFromPosition) {
  const Tensor whole = empty(Dims{4}, Dtype::i64, kCpu), line = empty(Dims{5}, Dtype::f32, kCpu);
  const int64_t big = (int64_t(1) << 60) + 1;
  run_arange("arange", whole, 0, 0, big, -3);
  EXPECT_EQ(values_of<int64_t>(whole), (std::vector<int64_t>{big, big - 3, big - 6, big - 9}));
  run_linspace("linspace", line, -1, 1);
  EXPECT_EQ(values_of<float>(line), (std::vector<float>{-1, -0.5, 0, 0.5, 1}));
  const Tensor eye = empty(Dims{2, 3}, Dtype::f32, kCpu);
  run_eye("eye", eye);
  EXPECT_EQ(values_of<float>(eye), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  const Tensor across = transposed(empty(Dims{3, 2}, Dtype::f32, kCpu), 0, 1);
  run_eye("eye", across);
  EXPECT_EQ(values_of<float>(across), values_of<float>(eye));
  const Tensor x = tensor_of<float>({1, 2, 3, 4, 5, 6}, Dims{2, 3}),
               y = empty(Dims{2, 3}, Dtype::f32, kCpu);
  run_triangle("triu", y, x, 1, true);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 2, 3, 0, 0, 6}));
  run_triangle("tril", y, x, 0, false);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{1, 0, 0, 4, 5, 0}));
}

// Matrices that a thread's share ends within, and diagonals as far out as a number goes.
TEST(Range, TrianglesOfSeveralMatrices) {
  constexpr int64_t kRows = 150, kColumns = 130;
  const Tensor x = tensor_of(randoms<float>(2 * kRows * kColumns, 1, 2), Dims{2, kRows, kColumns});
  const Tensor y = empty(x.sizes(), Dtype::f32, kCpu);
  for (const bool upper : {false, true}) {
    for (const int64_t diagonal : {INT64_MIN, -kRows, -20l, 0l, 7l, kColumns, INT64_MAX}) {
      run_triangle("tril", y, x, diagonal, upper);
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t above = i % kColumns - i / kColumns % kRows;
        const bool kept = upper ? above >= diagonal : above <= diagonal;
        ASSERT_EQ(y.data_as<float>()[i], kept ? x.data_as<float>()[i] : 0);
      }
    }
  }
}

}  // namespace
}  // namespace flambeau
