// Pooling against loops that state the definition, and gradients against the sum they must be the
// gradient of.
#include "kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/kernels/emulated.h"
#include "tests/kernels/tensors.h"

namespace flambeau {
namespace {

struct Case {
  int64_t in[2], kernel[2], stride[2], padding[2], dilation[2];
  bool ceil_mode, count_include_pad;
  int64_t divisor;
};

const Case kCases[] = {
    {{8, 8}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, true, 0},
    {{9, 7}, {3, 2}, {2, 1}, {1, 1}, {1, 1}, false, true, 0},
    {{9, 7}, {3, 2}, {2, 3}, {1, 1}, {1, 1}, true, false, 0},
    {{10, 11}, {3, 3}, {3, 2}, {1, 1}, {1, 1}, true, true, 0},
    {{10, 11}, {3, 3}, {1, 2}, {1, 0}, {1, 1}, true, true, 5},
    {{11, 12}, {3, 2}, {2, 2}, {1, 1}, {2, 3}, true, true, 0},
};

PoolParams params_of(const Case& c) {
  auto dims = [](const int64_t(&v)[2]) { return Dims{v[0], v[1]}; };
  return {dims(c.kernel), dims(c.stride),      dims(c.padding), dims(c.dilation),
          c.ceil_mode,    c.count_include_pad, c.divisor};
}

constexpr int64_t kPlanes = 6;  // 2 images of 3 channels

Tensor input_of(const Case& c, unsigned seed) {
  return tensor_of(randoms<double>(size_t(kPlanes * c.in[0] * c.in[1]), -1, 1, seed),
                   Dims{2, 3, c.in[0], c.in[1]});
}

void check_max(const Case& c) {
  const Tensor x = input_of(c, 1);
  const Tensor y = empty(pool_sizes("max_pool", x, params_of(c)), Dtype::f64, kCpu);
  const Tensor indices = empty(y.sizes(), Dtype::i64, kCpu),
               dx = empty(x.sizes(), Dtype::f64, kCpu);
  run_max_pool("max_pool", y, indices, x, params_of(c));
  const std::vector<double> in = values_of<double>(x), out = values_of<double>(y);
  const std::vector<int64_t> at = values_of<int64_t>(indices);
  const int64_t rows = y.sizes()[2], cols = y.sizes()[3], plane = c.in[0] * c.in[1];
  for (int64_t i = 0; i < y.numel(); ++i) {
    const int64_t p = i / (rows * cols), r = i / cols % rows, q = i % cols;
    double best = -INFINITY;
    for (int64_t a = 0; a < c.kernel[0]; ++a) {
      for (int64_t b = 0; b < c.kernel[1]; ++b) {
        const int64_t h = r * c.stride[0] - c.padding[0] + a * c.dilation[0];
        const int64_t w = q * c.stride[1] - c.padding[1] + b * c.dilation[1];
        if (h >= 0 && h < c.in[0] && w >= 0 && w < c.in[1])
          best = std::max(best, in[size_t(p * plane + h * c.in[1] + w)]);
      }
    }
    ASSERT_EQ(out[size_t(i)], best);
    ASSERT_EQ(in[size_t(p * plane + at[size_t(i)])], best);
  }
  const Tensor dy = tensor_of(randoms<double>(size_t(y.numel()), -1, 1, 2), Dims(y.sizes()));
  run_max_pool_backward("max_pool", dx, dy, indices, params_of(c));
  std::vector<double> expected(size_t(x.numel()));
  for (int64_t i = 0; i < y.numel(); ++i)
    expected[size_t(i / (rows * cols) * plane + at[size_t(i)])] += dy.data_as<double>()[i];
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(values_of<double>(dx)[i], expected[i], 1e-12);
}

// <dy, pool(x)> == <pool_backward(dy), x>, since an average is linear.
template <class Forward, class Backward>
void check_adjoint(const Tensor& x, const Tensor& y, Forward forward, Backward backward) {
  const Tensor dy = tensor_of(randoms<double>(size_t(y.numel()), -1, 1, 3), Dims(y.sizes()));
  const Tensor dx = empty(x.sizes(), Dtype::f64, kCpu);
  forward(y, x);
  backward(dx, dy);
  double left = 0, right = 0;
  for (int64_t i = 0; i < y.numel(); ++i) left += dy.data_as<double>()[i] * y.data_as<double>()[i];
  for (int64_t i = 0; i < x.numel(); ++i) right += dx.data_as<double>()[i] * x.data_as<double>()[i];
  ASSERT_NEAR(left, right, 1e-10);
}

void check_average(const Case& c) {
  const PoolParams params = params_of(c);
  const Tensor x = input_of(c, 4);
  const Tensor y = empty(pool_sizes("avg_pool", x, params), Dtype::f64, kCpu);
  check_adjoint(
      x, y, [&](auto& a, auto& b) { run_avg_pool("avg_pool", a, b, params); },
      [&](auto& a, auto& b) { run_avg_pool_backward("avg_pool", a, b, params); });
  const std::vector<double> in = values_of<double>(x), out = values_of<double>(y);
  const int64_t rows = y.sizes()[2], cols = y.sizes()[3], plane = c.in[0] * c.in[1];
  for (int64_t i = 0; i < y.numel(); ++i) {
    const int64_t p = i / (rows * cols), r = i / cols % rows, q = i % cols;
    double sum = 0, inside = 0, padded = 0;
    for (int64_t h = r * c.stride[0] - c.padding[0], a = 0; a < c.kernel[0]; ++a, ++h) {
      for (int64_t w = q * c.stride[1] - c.padding[1], b = 0; b < c.kernel[1]; ++b, ++w) {
        padded += h < c.in[0] + c.padding[0] && w < c.in[1] + c.padding[1];
        if (h < 0 || h >= c.in[0] || w < 0 || w >= c.in[1]) continue;
        inside += 1;
        sum += in[size_t(p * plane + h * c.in[1] + w)];
      }
    }
    const double divisor = c.divisor ? double(c.divisor) : c.count_include_pad ? padded : inside;
    ASSERT_NEAR(out[size_t(i)], sum / divisor, 1e-14);
  }
}

TEST(Pool, MaximaAndTheirGradient) {
  for (const Case& c : kCases) check_max(c);
}

TEST(Pool, AveragesAndTheirGradient) {
  for (const Case& c : kCases) {
    if (c.dilation[0] == 1) check_average(c);
  }
}

TEST(Pool, EmulatedCuda) {
  FLAM_EMULATED(max, kMaxPool);
  const Emulated max_backward(kMaxPoolBackward), avg(kAvgPool), avg_backward(kAvgPoolBackward);
  for (const Case& c : kCases) {
    check_max(c);
    if (c.dilation[0] == 1) check_average(c);
  }
}

TEST(Pool, AdaptiveAverages) {
  for (int64_t out : {1, 2, 3, 5, 7, 11}) {
    const Tensor x = tensor_of(randoms<double>(2 * 3 * 7 * 9, -1, 1, 5), Dims{2, 3, 7, 9});
    const Tensor y = empty(Dims{2, 3, out, out + 1}, Dtype::f64, kCpu);
    check_adjoint(
        x, y, [&](auto& a, auto& b) { run_adaptive_avg_pool("adaptive", a, b); },
        [&](auto& a, auto& b) { run_adaptive_avg_pool_backward("adaptive", a, b); });
    const std::vector<double> in = values_of<double>(x), got = values_of<double>(y);
    for (int64_t i = 0; i < y.numel(); ++i) {
      const int64_t q = i % (out + 1), r = i / (out + 1) % out, p = i / (out * (out + 1));
      double sum = 0, n = 0;
      for (int64_t h = r * 7 / out; h < ((r + 1) * 7 + out - 1) / out; ++h) {
        for (int64_t w = q * 9 / (out + 1); w < ((q + 1) * 9 + out) / (out + 1); ++w, ++n)
          sum += in[size_t(p * 63 + h * 9 + w)];
      }
      ASSERT_NEAR(got[size_t(i)], sum / n, 1e-14);
    }
  }
}

TEST(Pool, NanIsTheGreatest) {
  const Tensor x = tensor_of(std::vector<float>{1, NAN, 3, 4}, Dims{1, 1, 4});
  const PoolParams params{{2}, {2}, {0}, {1}, false, true, 0};
  const Tensor y = empty(Dims{1, 1, 2}, Dtype::f32, kCpu),
               indices = empty(Dims{1, 1, 2}, Dtype::i64, kCpu);
  run_max_pool("max_pool1d", y, indices, x, params);
  EXPECT_TRUE(std::isnan(y.data_as<float>()[0]));
  EXPECT_EQ(indices.data_as<int64_t>()[0], 1);
  EXPECT_EQ(indices.data_as<int64_t>()[1], 3);
}

TEST(Pool, TiesGoToTheFirst) {
  const Tensor x = tensor_of(std::vector<int32_t>{5, 5, 5, 5}, Dims{1, 1, 2, 2});
  const PoolParams params{{2, 2}, {2, 2}, {0, 0}, {1, 1}, false, true, 0};
  const Tensor y = empty(Dims{1, 1, 1, 1}, Dtype::i32, kCpu),
               indices = empty(Dims{1, 1, 1, 1}, Dtype::i64, kCpu);
  run_max_pool("max_pool2d", y, indices, x, params);
  EXPECT_EQ(indices.data_as<int64_t>()[0], 0);
}

TEST(Pool, DilationMayStepOverASmallImage) {
  const Tensor x = tensor_of(std::vector<float>{1, 2}, Dims{1, 1, 2});
  const PoolParams params{{2}, {1}, {1}, {3}, false, true, 0};
  const Tensor y = empty(Dims{1, 1, 1}, Dtype::f32, kCpu),
               indices = empty(Dims{1, 1, 1}, Dtype::i64, kCpu);
  run_max_pool("max_pool1d", y, indices, x, params);
  EXPECT_EQ(y.data_as<float>()[0], -INFINITY);
}

TEST(Pool, WrongArgumentsAreNamed) {
  const Tensor x = empty(Dims{1, 1, 4, 4}, Dtype::f32, kCpu);
  EXPECT_THROW(pool_sizes("max_pool2d", x, {{5, 5}, {1, 1}, {0, 0}, {1, 1}, false, true, 0}),
               Error);
  EXPECT_THROW(pool_sizes("max_pool2d", x, {{2, 2}, {1, 1}, {2, 0}, {1, 1}, false, true, 0}),
               Error);
  EXPECT_THROW(pool_sizes("max_pool2d", x, {{2}, {1}, {0}, {1}, false, true, 0}), Error);
}

}  // namespace
}  // namespace flambeau
