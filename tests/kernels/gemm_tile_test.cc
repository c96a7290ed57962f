// Products by tiles, through the body that runs on every processor: strips, tails of rows, columns
// and k, both orders of both operands, and more than one slab, against sums in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#if !defined(FLAM_TARGET)
#define FLAM_TARGET tested
#endif
#include "base/thread_pool.h"
#include "kernels/gemm/gemm_tile.h"

namespace flambeau {
namespace {

namespace g = FLAM_TARGET;

struct Operand {
  std::vector<BFloat16> values;
  int64_t along, depth;

  Operand(int64_t n, int64_t k, bool along_dense, std::mt19937& random)
      : values(size_t(n * k)), along(along_dense ? 1 : k), depth(along_dense ? n : 1) {
    std::normal_distribution<float> normal;
    for (BFloat16& v : values) v = BFloat16(normal(random));
  }
  double at(int64_t i, int64_t p) const { return double(values[size_t(i * along + p * depth)]); }
  g::HalvesView view(int64_t k) const {
    return {reinterpret_cast<const uint16_t*>(values.data()), along, depth, k};
  }
};

std::vector<float> product(int64_t m, int64_t n, int64_t k, const Operand& a, const Operand& b) {
  using Rows = g::TileRows<g::PlainTiles>;
  using Columns = g::PairSource<g::TilePair<g::PlainTiles>>;
  std::vector<float> out(size_t(m * n), NAN);
  const g::Target<float> target{out.data(), n, nullptr, 0, false, false};
  const Rows rows{a.view(k)};
  const Columns columns{b.view(k)};
  g::BlockedProduct<Rows, Columns>(m, n, g::tile_depth(k), rows, columns, target).run();
  return out;
}

TEST(GemmTiles, MatchSumsInDouble) {
  std::mt19937 random(1);
  constexpr int64_t sizes[][3] = {{1, 1, 1},    {16, 16, 32},   {17, 33, 31},  {32, 32, 64},
                                  {33, 40, 65}, {70, 130, 100}, {5, 200, 2},   {40, 17, 1100},
                                  {300, 40, 7}, {31, 15, 33},   {48, 160, 96}, {2, 3, 0}};
  for (const auto& [m, n, k] : sizes) {
    for (int orders = 0; orders < 4; ++orders) {
      const Operand a(m, k, orders & 1, random), b(n, k, orders & 2, random);
      const std::vector<float> out = product(m, n, k, a, b);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0, size = 0;
          for (int64_t p = 0; p < k; ++p) {
            sum += a.at(i, p) * b.at(j, p);
            size += std::abs(a.at(i, p) * b.at(j, p));
          }
          ASSERT_NEAR(out[size_t(i * n + j)], sum, size * 0x1p-22)
              << m << " x " << n << " x " << k << ", orders " << orders << ", at " << i << ", "
              << j;
        }
      }
    }
  }
}

TEST(GemmTiles, TakeStartsAndRelu) {
  std::mt19937 random(2);
  for (const int64_t m : {32, 19}) {
    constexpr int64_t n = 32, k = 40;
    const Operand a(m, k, false, random), b(n, k, true, random);
    const std::vector<float> plain = product(m, n, k, a, b);
    std::vector<float> start(n), out(size_t(m) * n);
    for (int64_t j = 0; j < n; ++j) start[size_t(j)] = float(j % 5) - 2;
    using Rows = g::TileRows<g::PlainTiles>;
    using Columns = g::PairSource<g::TilePair<g::PlainTiles>>;
    const g::Target<float> target{out.data(), n, start.data(), 0, false, true};
    const Rows rows{a.view(k)};
    const Columns columns{b.view(k)};
    g::BlockedProduct<Rows, Columns>(m, n, g::tile_depth(k), rows, columns, target).run();
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], std::max(0.0f, plain[i] + start[i % n]), 1e-4) << i;
    }
  }
}

TEST(GemmTiles, SameBitsForEveryNumberOfThreads) {
  std::mt19937 random(3);
  const int64_t m = 520, n = 200, k = 80;
  const Operand a(m, k, false, random), b(n, k, true, random);
  const int before = get_num_threads();
  set_num_threads(1);
  const std::vector<float> one = product(m, n, k, a, b);
  set_num_threads(3);
  const std::vector<float> three = product(m, n, k, a, b);
  set_num_threads(before);
  EXPECT_EQ(one, three);
}

}  // namespace
}  // namespace flambeau
