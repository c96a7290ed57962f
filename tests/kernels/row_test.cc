// Row kernels against float64: values, any dimension, strided rows, labels out of range, thread
// counts.
#include "ops/nn/rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/thread_pool.h"
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
  const Tensor dx = empty(Dims{rows, n}, Dtype::f32, kCpu),
               hat = empty(Dims{rows, n}, Dtype::f32, kCpu);
  run_row("layer_norm", kLayerNormBackward, Dtype::f32, 1,
          {out_row(dx), out_row(hat), row(dy), row(x), each(mean), each(rstd), shared(w)});
  for (size_t i : {0u, 13u, 69u}) {  // central differences of the reference
    const double h = 1e-4;
    std::vector<double> high = v, low = v, up(v.size()), down(v.size());
    high[i] += h, low[i] -= h;
    reference(high, up), reference(low, down);
    double slope = 0;
    for (size_t j = 0; j < v.size(); ++j)
      slope += dy.data_as<float>()[j] * (up[j] - down[j]) / (2 * h);
    EXPECT_NEAR(dx.data_as<float>()[i], slope, 2e-3);
    const double unit = (want[i] - pb[i]) / pw[i];
    EXPECT_NEAR(hat.data_as<float>()[i], dy.data_as<float>()[i] * unit, 1e-4);
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
  const Tensor total = tensor_of<double>({total_weight});
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
