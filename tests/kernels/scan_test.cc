// Running sums, products and extremes at the edges of vectors, blocks and groups of lines, against
// plain loops.
#include "kernels/scan/scan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/scan/scan_extreme.h"
#include "tensors.h"

namespace flambeau {
namespace {

const int64_t kLengths[] = {1, 2, 7, 8, 9, 17, 33, 511, 512, 513, 1100};

// 1, -1, 2 and a half in an order without a vector's period; a product stays small.
double small_number(int64_t i) { return i % 11 == 3 ? 2 : i % 11 == 8 ? 0.5 : i % 7 ? 1 : -1; }

template <class T> void along_lines(const Kernel& kernel, bool product, bool backwards) {
  for (const int64_t n : kLengths) {
    for (const int64_t lines : {1, 3, 4, 9}) {
      std::vector<T> v(size_t(n * lines)), want(v.size());
      for (size_t i = 0; i < v.size(); ++i) {
        const double x = product ? small_number(int64_t(i)) : double(i * i % 13) - 5;
        v[i] = T(float(x));
      }
      for (int64_t line = 0; line < lines; ++line) {
        double sum = product;
        for (int64_t i = 0; i < n; ++i) {
          const size_t at = size_t(line * n + (backwards ? n - 1 - i : i));
          sum = product ? sum * double(float(v[at])) : sum + double(float(v[at]));
          want[at] = T(float(sum));
        }
      }
      const Tensor x = tensor_of(v, Dims{lines, n}), y = empty(x.sizes(), x.dtype(), kCpu);
      run_scan("scan", kernel, y, x, 1, backwards);
      for (size_t i = 0; i < v.size(); ++i)
        ASSERT_EQ(float(y.data_as<T>()[i]), float(want[i])) << n << " of " << lines << " at " << i;
      run_scan("scan", kernel, x, x, 1, backwards);
      ASSERT_EQ(std::memcmp(x.data(), y.data(), x.nbytes()), 0);
    }
  }
}

template <class T> void both_ways() {
  for (const bool backwards : {false, true}) {
    along_lines<T>(kCumsum, false, backwards);
    along_lines<T>(kCumprod, true, backwards);
  }
}

TEST(Scan, SumsAndProductsOfEveryType) {
  both_ways<float>();
  both_ways<double>();
  both_ways<Half>();
  both_ways<BFloat16>();
}

TEST(Scan, IntegersWrap) {
  for (const int64_t n : kLengths) {
    std::vector<int64_t> v(size_t(n), 3);
    for (const Kernel* kernel : {&kCumsum, &kCumprod}) {
      const Tensor y = empty(Dims{n}, Dtype::i64, kCpu);
      run_scan("scan", *kernel, y, tensor_of(v, Dims{n}), 0, false);
      uint64_t want = kernel == &kCumprod;
      for (int64_t i = 0; i < n; ++i) {
        want = kernel == &kCumprod ? want * 3 : want + 3;
        ASSERT_EQ(uint64_t(y.data_as<int64_t>()[i]), want);
      }
    }
  }
}

// No part of a product leaves the range that the running product keeps.
TEST(Scan, ProductsOfFarNumbersStayInRange) {
  std::vector<double> v(40, 1e60);
  v[0] = 0;
  std::vector<float> f(40, 3e38f), g(40, 1.2e-38f);
  f[0] = g[0] = 0;
  for (const int64_t lines : {1, 4}) {
    const Dims sizes{lines, 40 / lines};
    for (const Tensor& x : {tensor_of(v, sizes), tensor_of(f, sizes), tensor_of(g, sizes)}) {
      run_scan("cumprod", kCumprod, x, x, 1, false);
      const Tensor first = alias(x, Dims{40 / lines}, Dims{1}, 0);
      const bool narrow = x.dtype() == Dtype::f32;
      for (int64_t i = 0; i < first.numel(); ++i)
        ASSERT_EQ(narrow ? first.data_as<float>()[i] : first.data_as<double>()[i], 0);
    }
  }
  std::vector<float> up(30, 2e19f);
  for (size_t i = 15; i < 30; ++i) up[i] = 1 / 2e19f;
  const Tensor x = tensor_of(up, Dims{30});
  run_scan("cumprod", kCumprod, x, x, 0, false);
  EXPECT_NEAR(x.data_as<float>()[29], 1, 1e-5);
}

TEST(Scan, LinesDoNotDependOnTheirNeighboursOrThreads) {
  constexpr int64_t kLength = 700;
  const std::vector<float> v = randoms<float>(9 * kLength, 0.9, 1.1);
  const int before = get_num_threads();
  for (const Kernel* kernel : {&kCumsum, &kCumprod, &kLogcumsumexp}) {
    const Tensor all = tensor_of(v, Dims{9, kLength});
    set_num_threads(3);
    run_scan("scan", *kernel, all, all, 1, false);
    set_num_threads(1);
    for (size_t line = 0; line < 9; ++line) {
      const auto first = v.begin() + int64_t(line) * kLength;
      const Tensor one = tensor_of(std::vector<float>(first, first + kLength), Dims{kLength});
      run_scan("scan", *kernel, one, one, 0, false);
      ASSERT_EQ(std::memcmp(one.data(), all.data_as<float>() + line * kLength, one.nbytes()), 0);
    }
  }
  set_num_threads(before);
}

// Records of every kind in pieces of a line: none, equals, NaN, and the line's end.
TEST(Scan, ExtremesOfLines) {
  for (const int64_t n : {1, 31, 32, 33, 64, 200}) {
    for (const int64_t nan : {-1, 0, 40, 150}) {
      std::vector<float> v(size_t(n), -1.f);
      for (int64_t i = 0; i < n; ++i) v[size_t(i)] = i % 37 == 5 ? 7.f : float(i % 5);
      if (nan >= 0 && nan < n) v[size_t(nan)] = NAN;
      const Tensor values = empty(Dims{n}, Dtype::f32, kCpu), at = empty(Dims{n}, Dtype::i64, kCpu);
      run_scan_extreme("cummax", kCummax, values, at, tensor_of(v, Dims{n}), 0);
      size_t best = 0;
      for (size_t i = 0; i < v.size(); ++i) {
        if (v[i] != v[i] || (v[best] == v[best] && v[i] >= v[best])) best = i;
        ASSERT_EQ(at.data_as<int64_t>()[i], int64_t(best));
        ASSERT_EQ(std::memcmp(values.data_as<float>() + i, &v[best], 4), 0);
      }
    }
  }
}

}  // namespace
}  // namespace flambeau
