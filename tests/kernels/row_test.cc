// Row kernels against float64: values, any dimension, strided rows, labels out of range, thread
// counts.
#include "ops/nn/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/thread_pool.h"
#include "ops/nn/planes.h"
#include "tensors.h"

namespace flambeau {
namespace {

std::vector<double> softmax_of(const std::vector<float>& x) {
  std::vector<double> y;
  double sum = 0;
  for (float v : x) y.push_back(std::exp(double(v))), sum += y.back();
  for (double& v : y) v /= sum;
  return y;
}

TEST(Row, SoftmaxOfAnyDimension) {
  for (int64_t n : {1, 5, 33, 200}) {
    const Tensor x = tensor_of(randoms<float>(size_t(n * n * 2), -4, 4), {2, n, n});
    const Tensor across = transposed(x, 1, 2);
    const Tensor y = empty(x.sizes(), Dtype::f32, kCpu), z = empty(x.sizes(), Dtype::f32, kCpu);
    run_row("softmax", kSoftmax, Dtype::f32, -1, {out_row(y), row(x)});
    run_row("softmax", kSoftmax, Dtype::f32, 1, {out_row(transposed(z, 1, 2)), row(across)});
    EXPECT_EQ(values_of<float>(y), values_of<float>(z));
    const std::vector<float> v = values_of<float>(x), got = values_of<float>(y);
    const std::vector<double> want = softmax_of({v.begin(), v.begin() + n});
    for (size_t i = 0; i < size_t(n); ++i)
      ASSERT_NEAR(got[i] / want[i], 1, 5e-7);  // x - top is rounded
    run_row("log_softmax", kLogSoftmax, Dtype::f32, -1, {out_row(y), row(x)});
    const std::vector<float> logs = values_of<float>(y);
    for (size_t i = 0; i < size_t(n); ++i) ASSERT_NEAR(logs[i], std::log(want[i]), 1e-6);
  }
}

// Rows that lie side by side or are short are worked on as columns of a tile: both sides of every
// edge, against the same rows one by one.
TEST(Row, RowsSideBySideAreThoseOneByOne) {
  for (int64_t n : {1, 2, 3, 15, 16, 17, 32, 33, 70}) {
    for (int64_t outer : {1, 3}) {
      for (int64_t inner : {1, 5, 16, 63, 64, 65, 130}) {
        const std::vector<float> values = randoms<float>(size_t(outer * n * inner), -4, 4);
        const Tensor x = tensor_of(values, {outer, n, inner}),
                     dy = tensor_of(randoms<float>(values.size(), -1, 1, 7), {outer, n, inner});
        const Tensor y = empty(x.sizes(), Dtype::f32, kCpu),
                     dx = empty(x.sizes(), Dtype::f32, kCpu);
        run_row("softmax", kSoftmax, Dtype::f32, 1, {out_row(y), row(x)});
        run_row("softmax", kSoftmaxBackward, Dtype::f32, 1, {out_row(dx), row(dy), row(y)});
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t i = 0; i < inner; ++i) {
            const auto at = [&](int64_t t) { return size_t((o * n + t) * inner + i); };
            std::vector<float> one;
            double dot = 0;
            for (int64_t t = 0; t < n; ++t) one.push_back(values[at(t)]);
            const std::vector<double> want = softmax_of(one);
            for (int64_t t = 0; t < n; ++t) dot += want[size_t(t)] * dy.data_as<float>()[at(t)];
            for (int64_t t = 0; t < n; ++t) {
              const double p = want[size_t(t)], g = dy.data_as<float>()[at(t)];
              ASSERT_NEAR(y.data_as<float>()[at(t)] / p, 1, 5e-7) << n << " " << inner;
              ASSERT_NEAR(dx.data_as<float>()[at(t)], (g - dot) * p, 2e-7) << n << " " << inner;
            }
          }
        }
      }
    }
  }
}

TEST(Row, SoftmaxDownToDenormalsAndNan) {
  std::vector<float> v{0, -1, -80, -87.3f, -88, -95, -100, -103, -103.9f, -104, -200};
  v.push_back(-std::numeric_limits<float>::infinity());
  for (int64_t copies : {1, 20}) {  // a row alone, and rows side by side
    std::vector<float> all;
    for (int64_t c = 0; c < copies; ++c) all.insert(all.end(), v.begin(), v.end());
    const Tensor x = tensor_of(all, {copies, int64_t(v.size())});
    const Tensor y = empty(x.sizes(), Dtype::f32, kCpu);
    run_row("softmax", kSoftmax, Dtype::f32, 1, {out_row(y), row(x)});
    const std::vector<double> want = softmax_of(v);
    for (size_t i = 0; i < all.size(); ++i) {
      const double p = want[i % v.size()];
      ASSERT_NEAR(y.data_as<float>()[i], p, 3e-7 * p + 1.5e-45) << v[i % v.size()];
    }
    x.data_as<float>()[1] = std::bit_cast<float>(0x7fc12345);  // a NaN with a payload
    run_row("softmax", kSoftmax, Dtype::f32, 1, {out_row(y), row(x)});
    EXPECT_TRUE(std::isnan(y.data_as<float>()[0]) && std::isnan(y.data_as<float>()[1]));
  }
}

TEST(Row, CrossEntropyOfPlanesNamesLabelsAndIgnores) {
  const int64_t n = 5, inner = 70;
  const Tensor x = tensor_of(randoms<float>(size_t(2 * n * inner), -2, 2), {2, n, inner});
  std::vector<int64_t> labels(size_t(2 * inner));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = i % 7 ? int64_t(i) % n : -100;
  const Tensor target = tensor_of(labels, {2, inner}), none;
  const auto values = [&] { return empty(Dims{2, inner}, Dtype::f32, kCpu); };
  const Tensor loss = values(), lse = values(), share = values(), g = values();
  std::fill_n(g.data_as<float>(), g.numel(), 2.f);
  const auto run = [&] {
    run_row("cross_entropy", kCrossEntropy, Dtype::f32, 1,
            {out_each(loss), out_each(lse), out_each(share), row(x), each(target), shared(none),
             shared(none)},
            {-100, 0});
  };
  run();
  const Tensor dx = empty(x.sizes(), Dtype::f32, kCpu);
  run_row("cross_entropy", kCrossEntropyBackward, Dtype::f32, 1,
          {out_row(dx), each(g), row(x), each(target), each(lse), shared(none), shared(none)},
          {-100, 0});
  for (int64_t r = 0; r < 2 * inner; ++r) {
    const auto at = [&](int64_t c) { return size_t((r / inner * n + c) * inner + r % inner); };
    std::vector<float> one;
    for (int64_t c = 0; c < n; ++c) one.push_back(x.data_as<float>()[at(c)]);
    const std::vector<double> p = softmax_of(one);
    const int64_t t = labels[size_t(r)];
    ASSERT_NEAR(loss.data_as<float>()[r], t < 0 ? 0 : -std::log(p[size_t(t)]), 1e-6);
    ASSERT_EQ(share.data_as<float>()[r], t < 0 ? 0 : 1);
    for (int64_t c = 0; c < n; ++c) {
      const double want = t < 0 ? 0 : 2 * (p[size_t(c)] - (c == t));
      ASSERT_NEAR(dx.data_as<float>()[at(c)], want, 1e-6);
    }
  }
  target.data_as<int64_t>()[2 * inner - 1] = n;
  EXPECT_THROW(run(), Error);
}

TEST(Row, SoftmaxGradientsMatchTheirFormulas) {
  const Tensor y = tensor_of<double>({0.2, 0.3, 0.5}), dy = tensor_of<double>({1, -2, 4});
  const Tensor dx = empty(Dims{3}, Dtype::f64, kCpu);
  run_row("softmax", kSoftmaxBackward, Dtype::f64, 0, {out_row(dx), row(dy), row(y)});
  const double dot = 0.2 - 0.6 + 2;
  const std::vector<double> got = values_of<double>(dx);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(got[i], (dy.data_as<double>()[i] - dot) * y.data_as<double>()[i], 1e-15);
  }
  run_row("log_softmax", kLogSoftmaxBackward, Dtype::f64, 0, {out_row(dx), row(dy), row(y)});
  EXPECT_NEAR(values_of<double>(dx)[2], 4 - std::exp(0.5) * 3, 1e-14);
}

TEST(Row, LayerNormOfLargeMeansAndItsGradient) {
  const int64_t rows = 3, n = 70;
  const Tensor x = tensor_of(randoms<float>(size_t(rows * n), 1000, 1001), {rows, n});
  const Tensor w = tensor_of(randoms<float>(size_t(n), 0.5, 2, 3)),
               b = tensor_of(randoms<float>(size_t(n), -1, 1, 4));
  const Tensor y = empty(Dims{rows, n}, Dtype::f32, kCpu),
               mean = empty(Dims{rows}, Dtype::f32, kCpu);
  const Tensor rstd = empty(Dims{rows}, Dtype::f32, kCpu);
  run_row("layer_norm", kLayerNorm, Dtype::f32, 1,
          {out_row(y), out_each(mean), out_each(rstd), row(x), shared(w), shared(b)}, {1e-5});
  const float *px = x.data_as<float>(), *pw = w.data_as<float>(), *pb = b.data_as<float>();
  const auto reference = [&](const std::vector<double>& v, std::vector<double>& out) {
    double m = 0, s = 0;
    for (double e : v) m += e / double(n);
    for (double e : v) s += (e - m) * (e - m) / double(n);
    for (size_t i = 0; i < v.size(); ++i) out[i] = (v[i] - m) / std::sqrt(s + 1e-5) * pw[i] + pb[i];
  };
  std::vector<double> v(px, px + n), want(v.size());
  reference(v, want);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(y.data_as<float>()[i], want[i], 5e-7);

  const Tensor dy = tensor_of(randoms<float>(size_t(rows * n), -1, 1, 5), {rows, n});
  const Tensor dx = empty(Dims{rows, n}, Dtype::f32, kCpu), none;
  run_row("layer_norm", kLayerNormBackward, Dtype::f32, 1,
          {out_row(dx), out_total(none), out_total(none), row(dy), row(x), each(rstd), shared(w),
           each(mean)});
  for (size_t i : {0u, 13u, 69u}) {  // central differences of the reference
    const double h = 1e-4;
    std::vector<double> high = v, low = v, up(v.size()), down(v.size());
    high[i] += h, low[i] -= h;
    reference(high, up), reference(low, down);
    double slope = 0;
    for (size_t j = 0; j < v.size(); ++j)
      slope += dy.data_as<float>()[j] * (up[j] - down[j]) / (2 * h);
    EXPECT_NEAR(dx.data_as<float>()[i], slope, 2e-3);
  }
}

struct NormGradients {
  Tensor dx, dw, db;
};
template <class T>
NormGradients norm_gradients(const Tensor& x, const Tensor& dy, const Tensor& w, bool of_weight) {
  const Dims rows{x.size(0)}, n{x.size(1)};
  const Dtype dtype = x.dtype(), wide = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const Tensor y = empty(x.sizes(), dtype, kCpu), mean = empty(rows, wide, kCpu),
               rstd = empty(rows, wide, kCpu);
  run_row("layer_norm", kLayerNorm, dtype, 1,
          {out_row(y), out_each(mean), out_each(rstd), row(x), shared(w), shared(w)}, {1e-5});
  const NormGradients g{empty(x.sizes(), dtype, kCpu), of_weight ? empty(n, dtype, kCpu) : Tensor(),
                        empty(n, dtype, kCpu)};
  run_row("layer_norm", kLayerNormBackward, dtype, 1,
          {out_row(g.dx), out_total(g.dw), out_total(g.db, dy), row(dy), row(x), each(rstd),
           shared(w), each(mean)});
  return g;
}

// Rows in fours and those left over, pieces of columns and their ends, more than one block of rows,
// and rows side by side.
template <class T> void check_totals(int64_t rows, int64_t n, double eps) {
  const Tensor x = tensor_of(randoms<T>(size_t(rows * n), -2, 2), {rows, n}),
               dy = tensor_of(randoms<T>(size_t(rows * n), 1, 2, 5), {rows, n}),
               w = tensor_of(randoms<T>(size_t(n), 1, 2, 3));
  const NormGradients g = norm_gradients<T>(x, dy, w, true);
  std::vector<double> dw(size_t(n), 0.0), db = dw;
  for (int64_t r = 0; r < rows; ++r) {
    const auto at = [&](const Tensor& t, int64_t i) { return double(t.data_as<T>()[r * n + i]); };
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; ++i) mean += at(x, i) / double(n);
    for (int64_t i = 0; i < n; ++i) square += (at(x, i) - mean) * (at(x, i) - mean) / double(n);
    for (int64_t i = 0; i < n; ++i) {
      dw[size_t(i)] += at(dy, i) * (at(x, i) - mean) / std::sqrt(square + 1e-5);
      db[size_t(i)] += at(dy, i);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_NEAR(g.db.data_as<T>()[i], db[size_t(i)], eps * db[size_t(i)]) << rows << " " << n;
    ASSERT_NEAR(g.dw.data_as<T>()[i], dw[size_t(i)], eps * double(rows + 8)) << rows << " " << n;
  }
  const NormGradients alone = norm_gradients<T>(x, dy, w, false);
  EXPECT_EQ(values_of<T>(alone.dx), values_of<T>(g.dx));
}

TEST(Row, SumsOverAllRows) {
  for (int64_t rows : {1, 2, 3, 4, 5, 9, 70, 300}) {
    for (int64_t n : {1, 5, 16, 33, 63, 64, 65, 130, 1000}) {
      check_totals<float>(rows, n, 0x1p-23);
      check_totals<double>(rows, n, 1e-14);
      check_totals<BFloat16>(rows, n, 0x1p-8);
    }
  }
  check_totals<float>(5000, 64, 0x1p-23);
  const Tensor x = empty(Dims{0, 5}, Dtype::f32, kCpu), w = tensor_of<float>({1, 1, 1, 1, 1});
  for (float v : values_of<float>(norm_gradients<float>(x, x, w, true).dw)) EXPECT_EQ(v, 0);
}

TEST(Row, SumsOverAllRowsOfAnyNumberOfThreads) {
  const int before = get_num_threads();
  for (int64_t n : {20, 200}) {
    const Tensor x = tensor_of(randoms<float>(size_t(3001 * n), -4, 4), {3001, n}),
                 dy = tensor_of(randoms<float>(size_t(3001 * n), -1, 1, 5), {3001, n}),
                 w = tensor_of(randoms<float>(size_t(n), 1, 2, 3));
    std::vector<std::vector<float>> got;
    for (int threads : {1, 2, 5}) {
      set_num_threads(threads);
      const NormGradients g = norm_gradients<float>(x, dy, w, true);
      got.push_back(values_of<float>(g.dw));
      for (float v : values_of<float>(g.db)) got.back().push_back(v);
    }
    EXPECT_EQ(got[0], got[1]);
    EXPECT_EQ(got[0], got[2]);
  }
  set_num_threads(before);
}

// Planes have the mean in two parts, so that large means cost no digits.
TEST(Row, PlanesOfLargeMeans) {
  const int64_t planes = 6, n = 90;
  const Tensor x = tensor_of(randoms<float>(size_t(planes * n), 1000, 1001), {planes, n});
  const auto numbers = [&] { return empty(Dims{planes}, Dtype::f32, kCpu); };
  const Tensor mean = numbers(), low = numbers(), rstd = numbers(),
               y = empty(x.sizes(), Dtype::f32, kCpu);
  run_row("group_norm", kMoments, Dtype::f32, 1,
          {out_each(mean), out_each(low), out_each(rstd), row(x)}, {1e-5});
  const Tensor scale = tensor_of(randoms<float>(size_t(planes), 0.5, 2, 3)), shift = numbers();
  for (int64_t p = 0; p < planes; ++p) {
    shift.data_as<float>()[p] =
        1 - low.data_as<float>()[p] * rstd.data_as<float>()[p] * scale.data_as<float>()[p];
  }
  run_row("group_norm", kPlaneNorm, Dtype::f32, 1,
          {out_row(y), row(x), each(mean), each(rstd), each(scale), each(shift)});
  for (int64_t p = 0; p < planes; ++p) {
    const float* row = x.data_as<float>() + p * n;
    double m = 0, s = 0;
    for (int64_t i = 0; i < n; ++i) m += row[i] / double(n);
    for (int64_t i = 0; i < n; ++i) s += (row[i] - m) * (row[i] - m) / double(n);
    for (int64_t i = 0; i < n; ++i) {
      const double want = (row[i] - m) / std::sqrt(s + 1e-5) * scale.data_as<float>()[p] + 1;
      ASSERT_NEAR(y.data_as<float>()[p * n + i], want, 1e-6);
    }
  }
}

struct Entropy {
  Tensor loss, lse, share;
};
Entropy cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                      const Tensor& total, double smoothing) {
  const Dims rows{target.numel()};
  Entropy e{empty(rows, Dtype::f32, kCpu), empty(rows, Dtype::f32, kCpu),
            empty(rows, Dtype::f32, kCpu)};
  run_row("cross_entropy", kCrossEntropy, Dtype::f32, 1,
          {out_each(e.loss), out_each(e.lse), out_each(e.share), row(x), each(target),
           shared(weight), shared(total)},
          {-100, smoothing});
  return e;
}

TEST(Row, CrossEntropyAndItsGradient) {
  const int64_t n = 6;
  const Tensor x = tensor_of(randoms<float>(size_t(3 * n), -2, 2), {3, n});
  const Tensor target = tensor_of<int64_t>({4, -100, 0});
  const Tensor weight = tensor_of(randoms<float>(size_t(n), 0.5, 2, 9));
  double total_weight = 0;
  for (float w : values_of<float>(weight)) total_weight += w;
  const Tensor total = tensor_of<float>({float(total_weight)});
  for (double smoothing : {0.0, 0.1}) {
    const Entropy e = cross_entropy(x, target, weight, total, smoothing);
    const float *px = x.data_as<float>(), *pw = weight.data_as<float>();
    const auto loss = [&](std::vector<float> row, size_t t) {
      const std::vector<double> p = softmax_of(row);
      double all = 0;
      for (size_t c = 0; c < p.size(); ++c) all -= pw[c] * std::log(p[c]);
      return (1 - smoothing) * pw[t] * -std::log(p[t]) + smoothing / double(n) * all;
    };
    EXPECT_NEAR(e.loss.data_as<float>()[0], loss({px, px + n}, 4), 1e-6);
    EXPECT_EQ(e.loss.data_as<float>()[1], 0);
    EXPECT_EQ(e.share.data_as<float>()[1], 0);
    EXPECT_EQ(e.share.data_as<float>()[2], pw[0]);
    const Tensor g = tensor_of<float>({1, 1, 1}), dx = empty(Dims{3, n}, Dtype::f32, kCpu);
    run_row(
        "cross_entropy", kCrossEntropyBackward, Dtype::f32, 1,
        {out_row(dx), each(g), row(x), each(target), each(e.lse), shared(weight), shared(total)},
        {-100, smoothing});
    for (size_t i = 0; i < size_t(n); ++i) {
      std::vector<float> high(px, px + n), low = high;
      high[i] += 0.01f, low[i] -= 0.01f;
      const double slope = (loss(high, 4) - loss(low, 4)) / (double(high[i]) - double(low[i]));
      EXPECT_NEAR(dx.data_as<float>()[i], slope, 1e-4);
      EXPECT_EQ(dx.data_as<float>()[size_t(n) + i], 0);
    }
  }
}

TEST(Row, LabelsOutOfRangeAreNamed) {
  const Tensor x = tensor_of(randoms<float>(8, 0, 1), {2, 4});
  for (int64_t bad : {4, -1}) {
    try {
      cross_entropy(x, tensor_of<int64_t>({1, bad}), Tensor(), Tensor(), 0);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code, Code::index);
      EXPECT_NE(e.problem.find("index " + std::to_string(bad)), std::string::npos) << e.problem;
    }
  }
}

TEST(Row, ThreadCountsGiveTheSameBits) {
  const int before = get_num_threads();
  const Tensor x = tensor_of(randoms<Half>(1000 * 321, -4, 4), {1000, 321});
  std::vector<std::vector<float>> got;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Tensor y = empty(x.sizes(), Dtype::f16, kCpu);
    run_row("softmax", kSoftmax, Dtype::f16, 1, {out_row(y), row(x)});
    got.emplace_back();
    for (Half h : values_of<Half>(y)) got.back().push_back(h);
  }
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
  set_num_threads(before);
}

}  // namespace
}  // namespace flambeau
