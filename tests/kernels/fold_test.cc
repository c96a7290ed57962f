// Reductions against plain loops in double: layouts, dtypes, empties, thread counts.
#include "kernels/fold/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "tensors.h"

namespace flambeau {
namespace {

// Calls f(output number, term number, value) over x with `reduce` bits marking reduced dimensions.
template <class T, class F> void each_term(const Tensor& x, unsigned reduce, F&& f) {
  const std::vector<T> values = values_of<T>(x);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = int64_t(i), out = 0, term = 0, out_step = 1, term_step = 1;
    for (int64_t d = x.dim(); d-- > 0;) {
      const int64_t size = x.sizes()[size_t(d)], at = rest % size;
      rest /= size;
      int64_t& step = reduce >> d & 1 ? term_step : out_step;
      (reduce >> d & 1 ? term : out) += at * step;
      step *= size;
    }
    f(out, term, values[i]);
  }
}

Dims bits_to_dims(unsigned bits) {
  Dims dims;
  for (int d = 0; d < 8; ++d) {
    if (bits >> d & 1) dims.push_back(d);
  }
  return dims;
}

Dims kept_sizes(const Tensor& x, unsigned reduce) {
  Dims sizes;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!(reduce >> d & 1)) sizes.push_back(x.sizes()[size_t(d)]);
  }
  return sizes;
}

std::vector<Tensor> layouts() {
  const Tensor dense = tensor_of(randoms<float>(7 * 130 * 33, 0.5, 2), {7, 130, 33});
  const Tensor every_other = alias(dense, Dims{7, 65, 11}, Dims{130 * 33, 66, 3}, 1);
  const Tensor repeated = alias(dense, Dims{7, 5, 33}, Dims{130 * 33, 0, 1}, 0);
  const Tensor long_runs = tensor_of(randoms<float>(6 * 5 * 300, 0.5, 2), {6, 5, 300}),
               parts = alias(long_runs, Dims{3, 5, 257}, Dims{3000, 300, 1}, 7);
  return {dense, transposed(dense, 0, 2), transposed(dense, 1, 2), every_other, repeated, long_runs,
          parts};
}

TEST(Fold, SumsEveryLayoutWithinHalfAnUlp) {
  for (const Tensor& x : layouts()) {
    for (unsigned reduce = 1; reduce < 8; ++reduce) {
      const Tensor out = empty(kept_sizes(x, reduce), Dtype::f32, kCpu);
      run_fold("sum", kSum, Dtype::f32, out, x, bits_to_dims(reduce));
      std::vector<double> want(size_t(out.numel()), 0.0);
      each_term<float>(x, reduce, [&](int64_t o, int64_t, float v) { want[size_t(o)] += v; });
      const std::vector<float> got = values_of<float>(out);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(got[i], float(want[i])) << reduce << " " << i;
    }
  }
}

TEST(Fold, FindsTheFirstGreatestInEveryLayout) {
  for (const Tensor& x : layouts()) {
    for (unsigned reduce = 1; reduce < 8; ++reduce) {
      const Tensor out = empty(kept_sizes(x, reduce), Dtype::f32, kCpu);
      const Tensor index = empty(kept_sizes(x, reduce), Dtype::i64, kCpu);
      run_fold("max", kMaxIndex, Dtype::f32, out, x, bits_to_dims(reduce), {},
               {.index = index, .centre = {}});
      std::vector<float> want(size_t(out.numel()), -1);
      std::vector<int64_t> at(want.size(), 0);
      each_term<float>(x, reduce, [&](int64_t o, int64_t term, float v) {
        if (v > want[size_t(o)] || (v == want[size_t(o)] && term < at[size_t(o)])) {
          want[size_t(o)] = v;
          at[size_t(o)] = term;
        }
      });
      ASSERT_EQ(values_of<float>(out), want);
      ASSERT_EQ(values_of<int64_t>(index), at) << reduce;
    }
  }
}

// Rows of few terms are folded sixteen at a time, longer ones on lanes: both sides of every edge.
TEST(Fold, RowsOfEveryLengthWithinHalfAnUlp) {
  for (int64_t n : {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 36, 63, 64, 67, 100}) {
    for (int64_t rows : {7, 8, 15, 16, 17, 50}) {
      const Tensor dense = tensor_of(randoms<float>(size_t(2 * rows * n), 0.5, 2), {2 * rows, n});
      const Tensor strided =
          transposed(tensor_of(randoms<float>(size_t(2 * rows * n), 0.5, 2), {n, 2 * rows}), 0, 1);
      for (const Tensor& x : {alias(dense, Dims{rows, n}, Dims{2 * n, 1}, 0),
                              alias(strided, Dims{rows, n}, Dims{2, 2 * rows}, 0)}) {
        const Tensor out = empty(Dims{rows}, Dtype::f32, kCpu),
                     root = empty(Dims{rows}, Dtype::f32, kCpu);
        const Tensor index = empty(Dims{rows}, Dtype::i64, kCpu),
                     top = empty(Dims{rows}, Dtype::f32, kCpu);
        run_fold("sum", kSum, Dtype::f32, out, x, Dims{1});
        run_fold("norm", kSumSquares, Dtype::f32, root, x, Dims{1}, {1});
        run_fold("max", kMaxIndex, Dtype::f32, top, x, Dims{1}, {}, {.index = index, .centre = {}});
        std::vector<double> sum(size_t(rows), 0.0), squares(size_t(rows), 0.0);
        std::vector<float> greatest(size_t(rows), 0);
        each_term<float>(x, 2, [&](int64_t o, int64_t, float v) {
          sum[size_t(o)] += v;
          squares[size_t(o)] += double(v) * v;
          greatest[size_t(o)] = std::max(greatest[size_t(o)], v);
        });
        const std::vector<float> all = values_of<float>(x);
        for (size_t r = 0; r < size_t(rows); ++r) {
          ASSERT_EQ(out.data_as<float>()[r], float(sum[r])) << n << " " << rows;
          ASSERT_EQ(root.data_as<float>()[r], float(std::sqrt(squares[r]))) << n << " " << rows;
          ASSERT_EQ(top.data_as<float>()[r], greatest[r]);
          ASSERT_EQ(all[r * size_t(n) + size_t(index.data_as<int64_t>()[r])], greatest[r]);
        }
      }
    }
  }
}

TEST(Fold, VarianceOfLargeMeans) {
  const Tensor x = tensor_of(randoms<float>(100 * 1000, 10000, 10001), {100, 1000});
  for (unsigned reduce : {1u, 2u, 3u}) {
    const Tensor out = empty(kept_sizes(x, reduce), Dtype::f32, kCpu);
    run_var("var", out, x, bits_to_dims(reduce), 1, false);
    std::vector<double> mean(size_t(out.numel())), want(mean.size());
    const double n = double(x.numel() / out.numel());
    each_term<float>(x, reduce, [&](int64_t o, int64_t, float v) { mean[size_t(o)] += v / n; });
    each_term<float>(x, reduce, [&](int64_t o, int64_t, float v) {
      want[size_t(o)] += (v - mean[size_t(o)]) * (v - mean[size_t(o)]) / (n - 1);
    });
    const std::vector<float> got = values_of<float>(out);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i] / want[i], 1, 2e-7);
  }
}

TEST(Fold, NanWinsAndIsFound) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  std::vector<float> v(300, 1.f);
  v[170] = nan;
  v[290] = nan;
  v[20] = inf;
  v.resize(3000, 1.f);  // some pieces of a row after it
  for (const Kernel* k : {&kMaxIndex, &kMinIndex}) {
    const Tensor out = empty({}, Dtype::f32, kCpu), index = empty({}, Dtype::i64, kCpu);
    run_fold("max", *k, Dtype::f32, out, tensor_of(v), Dims{0}, {}, {.index = index, .centre = {}});
    EXPECT_TRUE(std::isnan(values_of<float>(out)[0]));
    EXPECT_EQ(values_of<int64_t>(index)[0], 170);
  }
  const Tensor out = empty({}, Dtype::f32, kCpu);
  run_fold("max", kMax, Dtype::f32, out, tensor_of(v), Dims{0});
  EXPECT_TRUE(std::isnan(values_of<float>(out)[0]));
}

TEST(Fold, EmptyAndScalarInputs) {
  const Tensor none = empty(Dims{3, 0}, Dtype::f32, kCpu), out = empty(Dims{3}, Dtype::f32, kCpu);
  run_fold("sum", kSum, Dtype::f32, out, none, Dims{1});
  EXPECT_EQ(values_of<float>(out), std::vector<float>(3, 0.f));
  run_fold("prod", kProd, Dtype::f32, out, none, Dims{1});
  EXPECT_EQ(values_of<float>(out), std::vector<float>(3, 1.f));
  run_fold("mean", kMean, Dtype::f32, out, none, Dims{1});
  EXPECT_TRUE(std::isnan(values_of<float>(out)[0]));
  run_logsumexp("logsumexp", out, none, Dims{1});
  EXPECT_EQ(values_of<float>(out)[0], -std::numeric_limits<float>::infinity());
  const Tensor nothing = empty(Dims{0}, Dtype::f32, kCpu);
  run_fold("sum", kSum, Dtype::f32, nothing, none, Dims{0});
  const Tensor all = empty(Dims{}, Dtype::f32, kCpu);
  run_fold("sum", kSum, Dtype::f32, all, none, Dims{0, 1});  // two dimensions that do not merge
  EXPECT_EQ(values_of<float>(all)[0], 0.f);
  const Tensor scalar = tensor_of<float>({4.f}), zero_d = alias(scalar, Dims{}, Dims{}, 0);
  const Tensor result = empty(Dims{}, Dtype::f32, kCpu);
  run_fold("sum", kSum, Dtype::f32, result, zero_d, Dims{});
  EXPECT_EQ(values_of<float>(result)[0], 4.f);
}

TEST(Fold, TruthOfBools) {
  std::vector<uint8_t> raw(1000, 1);
  raw[777] = 0;
  const Tensor x = empty(Dims{1000}, Dtype::boolean, kCpu);
  std::memcpy(x.data(), raw.data(), raw.size());
  const Tensor flag = empty(Dims{}, Dtype::boolean, kCpu), count = empty(Dims{}, Dtype::i64, kCpu);
  run_fold("all", kTruth, Dtype::boolean, flag, x, Dims{0}, {kAllTrue});
  EXPECT_FALSE(*flag.data_as<bool>());
  run_fold("any", kTruth, Dtype::boolean, flag, x, Dims{0}, {kAnyTrue});
  EXPECT_TRUE(*flag.data_as<bool>());
  run_fold("count_nonzero", kTruth, Dtype::boolean, count, x, Dims{0}, {kCountTrue});
  EXPECT_EQ(*count.data_as<int64_t>(), 999);
}

TEST(Fold, HalvesAccumulateInFloat) {
  const Tensor x = tensor_of(std::vector<Half>(4096, Half(0.1f))),
               out = empty({}, Dtype::f16, kCpu);
  run_fold("sum", kSum, Dtype::f16, out, x, Dims{0});
  EXPECT_EQ(float(*out.data_as<Half>()), float(Half(4096 * float(Half(0.1f)))));
}

TEST(Fold, NormsAndLogsumexp) {
  const std::vector<float> v = randoms<float>(1000, -3, 3);
  const Tensor x = tensor_of(v), out = empty({}, Dtype::f64, kCpu);
  double one = 0, two = 0, three = 0, exps = 0;
  for (double e : v) {
    one += std::abs(e), two += e * e, three += std::pow(std::abs(e), 3), exps += std::exp(e);
  }
  const auto norm = [&](const Kernel& k, double p) {
    run_fold("norm", k, Dtype::f32, out, x, Dims{0}, {p});
    return *out.data_as<double>();
  };
  EXPECT_NEAR(norm(kNorm1, 0), one, 1e-9 * one);
  EXPECT_NEAR(norm(kSumSquares, 0), two, 1e-9 * two);
  EXPECT_NEAR(norm(kSumSquares, 1), std::sqrt(two), 1e-9 * two);
  EXPECT_NEAR(norm(kNormP, 3), std::cbrt(three), 1e-9 * three);
  EXPECT_EQ(float(norm(kNormMax, 0)),
            std::abs(*std::max_element(
                v.begin(), v.end(), [](float a, float b) { return std::abs(a) < std::abs(b); })));
  run_logsumexp("logsumexp", out, x, Dims{0});
  EXPECT_NEAR(*out.data_as<double>(), std::log(exps), 1e-6);
}

TEST(Fold, ThreadCountsGiveTheSameBits) {
  const int before = get_num_threads();
  for (Dims sizes : {Dims{1, 3000000}, Dims{100000, 30}, Dims{30, 100000}}) {
    const Tensor x = tensor_of(randoms<float>(3000000, -1, 1), sizes);
    for (unsigned reduce : {1u, 2u, 3u}) {
      std::vector<std::vector<float>> got;
      for (int threads : {1, 2, 5}) {
        set_num_threads(threads);
        const Tensor out = empty(kept_sizes(x, reduce), Dtype::f32, kCpu);
        run_fold("norm", kSumSquares, Dtype::f32, out, x, bits_to_dims(reduce));
        got.push_back(values_of<float>(out));
      }
      EXPECT_EQ(got[0], got[1]);
      EXPECT_EQ(got[0], got[2]);
    }
  }
  set_num_threads(before);
}

TEST(Fold, ManyDimensionsBecomeRows) {
  const Dims sizes(18, 2);
  const Tensor x = tensor_of(randoms<float>(1 << 18, 1, 2), sizes);
  Dims dims, kept;
  for (int64_t d = 0; d < 18; d += 2) dims.push_back(d), kept.push_back(2);
  const Tensor out = empty(kept, Dtype::f32, kCpu);
  unsigned bits = 0;
  for (int64_t d : dims) bits |= 1u << d;
  run_fold("sum", kSum, Dtype::f32, out, x, dims);
  std::vector<double> want(size_t(out.numel()), 0.0);
  each_term<float>(x, bits, [&](int64_t o, int64_t, float v) { want[size_t(o)] += v; });
  const std::vector<float> got = values_of<float>(out);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], float(want[i]));
}

}  // namespace
}  // namespace flambeau
