// The row kernels of GPUs, executed: rows of every length and alignment are what the host makes of
// them, held or passed; bits are the same in every order of threads; a row that is held is read
// once and written once, and one that is not made of whole pieces asks memory for no more.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "emulated.h"
#include "ops/nn/planes.h"
#include "ops/nn/rows.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using cuda_on_cpu::traffic;

struct Counted {
  Counted() {
    traffic = {};
    cuda_on_cpu::counting_traffic = true;
  }
  ~Counted() { cuda_on_cpu::counting_traffic = false; }
};

Dtype wide_of(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

template <class T> Tensor drawn(const Dims& sizes, double low, double high, unsigned seed = 1) {
  return tensor_of(randoms<T>(size_t(numel_of(sizes)), low, high, seed), sizes);
}

// Within `scale` of a value, or of `floor` where values are near 0.
template <class T>
void expect_near(const Tensor& got, const Tensor& want, double scale, const char* what,
                 double floor = 1) {
  const std::vector<T> g = values_of<T>(got), w = values_of<T>(want);
  ASSERT_EQ(g.size(), w.size());
  for (size_t i = 0; i < g.size(); ++i) {
    const double a = double(g[i]), b = double(w[i]);
    ASSERT_NEAR(a, b, scale * (std::abs(b) + floor)) << what << " at " << i << " of " << g.size();
  }
}
template <class T> double step_of() {
  return std::is_same_v<T, double> ? 1e-13 : std::is_same_v<T, float> ? 4e-6 : 0x1p-7;
}

// Lengths on both sides of a piece, a warp, a block, and what a block holds.
const std::vector<int64_t> kLengths{1, 3, 8, 31, 64, 100, 264, 1000, 1024, 2056, 4096};

struct Softmaxes {
  Tensor y, dx;
};
Softmaxes softmaxes(const Tensor& x, const Tensor& dy, Kernel& forward, Kernel& backward) {
  const Dtype t = x.dtype();
  const Softmaxes s{empty(x.sizes(), t, kCpu), empty(x.sizes(), t, kCpu)};
  run_row("softmax", forward, t, -1, {out_row(s.y), row(x)});
  run_row("softmax", backward, t, -1, {out_row(s.dx), row(dy), row(s.y)});
  return s;
}

template <class T> void check_softmax(int64_t rows, int64_t n, bool log) {
  Kernel &forward = log ? kLogSoftmax : kSoftmax,
         &backward = log ? kLogSoftmaxBackward : kSoftmaxBackward;
  const Tensor x = drawn<T>(Dims{rows, n}, -4, 4), dy = drawn<T>(Dims{rows, n}, -1, 1, 2);
  const Softmaxes want = softmaxes(x, dy, forward, backward);
  FLAM_EMULATED(one, forward);
  FLAM_EMULATED(other, backward);
  const Softmaxes got = softmaxes(x, dy, forward, backward);
  expect_near<T>(got.y, want.y, step_of<T>(), "softmax", log ? 1 : 1e-30);
  expect_near<T>(got.dx, want.dx, 4 * step_of<T>(), "its gradient");
}

TEST(RowDevice, SoftmaxOfEveryLength) {
  for (const int64_t n : kLengths) {
    for (const bool log : {false, true}) {
      check_softmax<float>(3, n, log);
      check_softmax<BFloat16>(5, n, log);
    }
    check_softmax<Half>(2, n, false);
    check_softmax<double>(2, n, true);
  }
}

TEST(RowDevice, SoftmaxLongerThanABlockHolds) {
  check_softmax<float>(1, 20000, false);
  check_softmax<float>(1, 20001, true);
  check_softmax<BFloat16>(1, 40000, true);
  // Pieces of -infinity before what counts, and rows of nothing else.
  constexpr int64_t n = 20000;
  const Tensor x = empty(Dims{2, n}, Dtype::f32, kCpu), y = empty(Dims{2, n}, Dtype::f32, kCpu);
  std::fill_n(x.data_as<float>(), 2 * n, -std::numeric_limits<float>::infinity());
  x.data_as<float>()[n - 1] = 3;
  FLAM_EMULATED(emulated, kSoftmax);
  run_row("softmax", kSoftmax, Dtype::f32, -1, {out_row(y), row(x)}, {1});
  for (int64_t i = 0; i < 2 * n; ++i) ASSERT_EQ(y.data_as<float>()[i], i == n - 1 ? 1 : 0) << i;
  run_row("softmax", kSoftmax, Dtype::f32, -1, {out_row(y), row(x)});
  EXPECT_EQ(y.data_as<float>()[n - 1], 1);
  EXPECT_TRUE(std::isnan(y.data_as<float>()[n]));
}

struct Normed {
  Tensor y, mean, rstd, dx, dw, db;
};
Normed norms(const Tensor& x, const Tensor& dy, const Tensor& w, const Tensor& b) {
  const Dtype t = x.dtype();
  const Dims rows{x.size(0)}, n{x.size(1)};
  const auto number = [&] { return empty(rows, wide_of(t), kCpu); };
  const Normed m{empty(x.sizes(), t, kCpu), number(),          number(),
                 empty(x.sizes(), t, kCpu), empty(n, t, kCpu), empty(n, t, kCpu)};
  run_row("layer_norm", kLayerNorm, t, 1,
          {out_row(m.y), out_each(m.mean), out_each(m.rstd), row(x), shared(w), shared(b)}, {1e-5});
  run_row("layer_norm", kLayerNormBackward, t, 1,
          {out_row(m.dx), out_total(m.dw), out_total(m.db, dy), row(dy), row(x), each(m.rstd),
           shared(w), each(m.mean)});
  return m;
}

template <class T> void check_norm(int64_t rows, int64_t n, bool weighted) {
  const Tensor x = drawn<T>(Dims{rows, n}, -2, 2), dy = drawn<T>(Dims{rows, n}, -1, 1, 2);
  const Tensor w = weighted ? drawn<T>(Dims{n}, 0.5, 2, 3) : Tensor(),
               b = weighted ? drawn<T>(Dims{n}, -1, 1, 4) : Tensor();
  const Normed want = norms(x, dy, w, b);
  FLAM_EMULATED(one, kLayerNorm);
  FLAM_EMULATED(other, kLayerNormBackward);
  const Normed got = norms(x, dy, w, b);
  const double step = (n < 8 ? 100 : 4) * step_of<T>();  // few elements may be nearly the same
  expect_near<T>(got.y, want.y, step, "layer norm");
  expect_near<T>(got.dx, want.dx, step, "its gradient");
  expect_near<T>(got.dw, want.dw, step, "its weight's gradient");
  expect_near<T>(got.db, want.db, step_of<T>(), "its bias's gradient");
}

TEST(RowDevice, LayerNormOfEveryLength) {
  for (const int64_t n : kLengths) {
    if (n == 1) continue;
    check_norm<float>(7, n, true);
    check_norm<BFloat16>(5, n, true);
  }
  check_norm<Half>(3, 768, true);
  check_norm<double>(3, 130, true);
  check_norm<float>(3, 256, false);
  check_norm<float>(2, 20000, true);
  check_norm<BFloat16>(2, 33000, true);
}

// Sums over so many rows that parts of them are joined, by groups of parts where rows are held;
// rows of less than whole pieces; and sums of no rows.
TEST(RowDevice, SumsOverAllRows) {
  check_norm<float>(3000, 16, true);
  check_norm<float>(9000, 24, true);
  check_norm<float>(150, 768, true);
  check_norm<BFloat16>(140, 2048, true);
  check_norm<Half>(40, 8192, true);
  check_norm<BFloat16>(1500, 33, true);
  check_norm<double>(1200, 24, true);
  const Tensor x = empty(Dims{0, 8}, Dtype::f32, kCpu), w = drawn<float>(Dims{8}, 1, 2);
  FLAM_EMULATED(one, kLayerNorm);
  FLAM_EMULATED(other, kLayerNormBackward);
  const Normed none = norms(x, x, w, w);
  for (const float v : values_of<float>(none.dw)) EXPECT_EQ(v, 0);
  for (const float v : values_of<float>(none.db)) EXPECT_EQ(v, 0);
}

// Of what is there already: dx is rounded by itself and added.
template <class T> void check_added(int64_t n) {
  const Dtype t = dtype_of<T>;
  const Dims sizes{6, n}, rows{6};
  const Tensor x = drawn<T>(sizes, -2, 2), dy = drawn<T>(sizes, -1, 1, 2),
               w = drawn<T>(Dims{n}, 0.5, 2, 3), mean = drawn<float>(rows, -1, 1, 4),
               rstd = drawn<float>(rows, 0.5, 2, 5), alone = empty(sizes, t, kCpu),
               to = drawn<T>(sizes, -1, 1, 6), dw = empty(Dims{n}, t, kCpu), none;
  const auto run = [&](const Tensor& dx, const Tensor& before) {
    run_row("layer_norm", kLayerNormBackward, t, 1,
            {out_row(dx), out_total(dw), out_total(none), row(dy), row(x), each(rstd), shared(w),
             each(mean), row(before)});
  };
  const std::vector<T> there = values_of<T>(to);
  run(alone, none);
  run(to, to);
  const std::vector<T> dx = values_of<T>(alone), sum = values_of<T>(to);
  for (size_t i = 0; i < dx.size(); ++i)
    ASSERT_EQ(float(sum[i]), float(T(float(there[i]) + float(dx[i])))) << i << " of rows of " << n;
}

TEST(RowDevice, NormsAddToWhatIsThere) {
  FLAM_EMULATED(slope, kLayerNormBackward);
  for (const int64_t n : {40, 41, 1000, 20001}) {
    check_added<float>(n);
    check_added<BFloat16>(n);
  }
}

struct Entropy {
  Tensor loss, lse, share, dx;
};
Entropy entropies(const Tensor& x, const Tensor& target, const Tensor& weight, double smoothing) {
  const Dims rows{target.numel()};
  const auto number = [&] { return empty(rows, Dtype::f32, kCpu); };
  const Entropy e{number(), number(), number(), empty(x.sizes(), x.dtype(), kCpu)};
  const Tensor g = drawn<float>(rows, 1, 2, 8), none;
  float all = 0;
  if (weight)
    for (const float v : values_of<float>(weight)) all += v;
  const Tensor total = weight ? tensor_of<float>({all}) : none;
  run_row("cross_entropy", kCrossEntropy, x.dtype(), 1,
          {out_each(e.loss), out_each(e.lse), out_each(e.share), row(x), each(target),
           shared(weight), shared(none)},
          {-100, smoothing});
  run_row(
      "cross_entropy", kCrossEntropyBackward, x.dtype(), 1,
      {out_row(e.dx), each(g), row(x), each(target), each(e.lse), shared(weight), shared(total)},
      {-100, smoothing});
  return e;
}

template <class T> void check_entropy(int64_t rows, int64_t n, bool weighted, double smoothing) {
  const Tensor x = drawn<T>(Dims{rows, n}, -4, 4);
  const Tensor weight = weighted ? drawn<float>(Dims{n}, 0.5, 2, 3) : Tensor();
  std::vector<int64_t> targets(size_t(rows), -100);
  for (int64_t r = 0; r + 1 < rows; ++r) targets[size_t(r)] = r * 7919 % n;
  const Tensor target = tensor_of(targets);
  const Entropy want = entropies(x, target, weight, smoothing);
  FLAM_EMULATED(one, kCrossEntropy);
  FLAM_EMULATED(other, kCrossEntropyBackward);
  const Entropy got = entropies(x, target, weight, smoothing);
  expect_near<float>(got.loss, want.loss, 4e-6, "cross entropy");
  expect_near<float>(got.lse, want.lse, 4e-6, "logarithm of the sum");
  expect_near<float>(got.share, want.share, 0, "share");
  expect_near<T>(got.dx, want.dx, step_of<T>(), "its gradient");
}

TEST(RowDevice, CrossEntropyOfEveryLength) {
  for (const int64_t n : kLengths) {
    check_entropy<float>(4, n, false, 0);
    check_entropy<BFloat16>(4, n, true, 0.1);
  }
  check_entropy<float>(2, 20000, true, 0.1);
  check_entropy<Half>(2, 33001, false, 0);
}

// The mean loss and what it was divided by, or the sum, of all rows in one launch.
std::vector<double> joined_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                                   bool mean) {
  const Tensor lse = empty(Dims{target.numel()}, Dtype::f32, kCpu), none,
               y = empty({}, x.dtype(), kCpu),
               shares = mean ? empty({}, Dtype::f32, kCpu) : Tensor();
  run_row("cross_entropy", kCrossEntropy, x.dtype(), 1,
          {out_each(none), out_each(lse), out_each(none), row(x), each(target), shared(weight),
           shared(none), out_joined(y), out_joined(shares)},
          {-100, 0});
  const double loss =
      x.dtype() == Dtype::f32 ? double(y.data_as<float>()[0]) : double(y.data_as<BFloat16>()[0]);
  return {loss, mean ? double(shares.data_as<float>()[0]) : 1};
}

template <class T> void check_joined(int64_t rows, int64_t n, bool weighted) {
  const Tensor x = drawn<T>(Dims{rows, n}, -4, 4), none;
  const Tensor weight = weighted ? drawn<float>(Dims{n}, 0.5, 2, 3) : none;
  std::vector<int64_t> targets(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) targets[size_t(r)] = r % 5 == 3 ? -100 : r * 7919 % n;
  const Tensor target = tensor_of(targets);
  const Entropy each = entropies(x, target, weight, 0);
  double loss = 0, shares = 0;
  for (const float v : values_of<float>(each.loss)) loss += double(v);
  for (const float v : values_of<float>(each.share)) shares += double(v);
  FLAM_EMULATED(emulated, kCrossEntropy);
  const double step = sizeof(T) == 2 ? 0x1p-8 : 0x1p-22;
  for (const bool mean : {false, true}) {
    const double want = mean ? loss / shares : loss;
    const std::vector<double> got = joined_entropy(x, target, weight, mean);
    EXPECT_NEAR(got[0], want, step * std::abs(want)) << rows << " rows of " << n;
    EXPECT_NEAR(got[1], mean ? shares : 1, 0x1p-22 * shares);
    for (const uint64_t seed : {2, 3}) {
      cuda_on_cpu::set_seed(seed);
      EXPECT_EQ(joined_entropy(x, target, weight, mean), got);
    }
  }
}

// Of one block and of more than join at once, by parts of a warp, warps and blocks.
TEST(RowDevice, CrossEntropyOfAllRows) {
  for (const int64_t n : {3, 100, 700, 5000}) check_joined<float>(9, n, true);
  check_joined<BFloat16>(700, 40, false);
  check_joined<float>(300, 264, true);
  check_joined<float>(kJoinedBlocks + 5, 600, false);
  check_joined<float>(1, 33001, false);
}

TEST(RowDevice, CrossEntropyOfNoRows) {
  FLAM_EMULATED(emulated, kCrossEntropy);
  const Tensor x = empty(Dims{0, 4}, Dtype::f32, kCpu), target = empty(Dims{0}, Dtype::i64, kCpu);
  EXPECT_EQ(joined_entropy(x, target, Tensor(), false)[0], 0);
  EXPECT_TRUE(std::isnan(joined_entropy(x, target, Tensor(), true)[0]));
}

Tensor moments(const Tensor& x) {
  const Tensor mean = empty(Dims{x.size(0)}, Dtype::f32, kCpu),
               low = empty(mean.sizes(), Dtype::f32, kCpu),
               all = empty(Dims{2, x.size(0)}, Dtype::f32, kCpu);
  const auto part = [&](int64_t i) { return alias(all, mean.sizes(), Dims{1}, i * x.size(0)); };
  run_row("group_norm", kMoments, x.dtype(), 1,
          {out_each(part(0)), out_each(low), out_each(part(1)), row(x)}, {1e-5});
  return all;
}

// Means far from 0, and a first piece far from the others.
TEST(RowDevice, MomentsOfLongRows) {
  for (const int64_t n : {100, 4096, 50000, 50001}) {
    const Tensor x = drawn<float>(Dims{2, n}, 100, 101);
    std::fill_n(x.data_as<float>(), 4, 0.f);
    const Tensor want = moments(x);
    FLAM_EMULATED(emulated, kMoments);
    expect_near<float>(moments(x), want, 1e-5, "moments");
  }
}

TEST(RowDevice, EveryOrderOfThreadsGivesTheSameBits) {
  FLAM_EMULATED(one, kLayerNorm);
  FLAM_EMULATED(other, kLayerNormBackward);
  for (const int64_t n : {40, 1000, 4096, 20001}) {
    const Tensor x = drawn<float>(Dims{n < 100    ? 7000
                                       : n < 5000 ? 90
                                                  : 4,
                                       n},
                                  -2, 2),
                 w = drawn<float>(Dims{n}, 0.5, 2, 3);
    std::vector<std::vector<float>> got;
    for (const uint64_t seed : {1, 2, 3}) {
      cuda_on_cpu::set_seed(seed);
      const Normed m = norms(x, x, w, w);
      got.emplace_back();
      for (const Tensor* t : {&m.y, &m.dx, &m.dw, &m.db})
        for (const float v : values_of<float>(*t)) got.back().push_back(v);
    }
    EXPECT_EQ(got[0], got[1]);
    EXPECT_EQ(got[0], got[2]);
  }
}

// A row of a batch has the bits that it has alone.
TEST(RowDevice, RowsDependOnNoOtherRow) {
  FLAM_EMULATED(emulated, kSoftmax);
  for (const int64_t n : {33, 64, 1000, 5001}) {
    const Tensor x = drawn<float>(Dims{6, n}, -4, 4), all = empty(x.sizes(), Dtype::f32, kCpu),
                 alone = empty(Dims{1, n}, Dtype::f32, kCpu);
    run_row("softmax", kSoftmax, Dtype::f32, -1, {out_row(all), row(x)});
    for (int64_t r = 0; r < 6; ++r) {
      const Tensor own = alias(x, Dims{1, n}, Dims{n, 1}, r * n);
      const Tensor copy = tensor_of(values_of<float>(own), Dims{1, n});
      run_row("softmax", kSoftmax, Dtype::f32, -1, {out_row(alone), row(copy)});
      ASSERT_EQ(values_of<float>(alone),
                values_of<float>(alias(all, Dims{1, n}, Dims{n, 1}, r * n)));
    }
  }
}

// ---- what is moved ----

void expect_moved(uint64_t bytes) {
  EXPECT_GE(traffic.moved(), bytes);
  EXPECT_LE(double(traffic.moved()), 1.05 * double(bytes));
}

TEST(RowDevice, RowsMoveWhatTheyHoldAndNoMore) {
  FLAM_EMULATED(softmax, kSoftmax);
  FLAM_EMULATED(slope, kSoftmaxBackward);
  for (const auto& [rows, n] :
       {std::pair<int64_t, int64_t>{200, 64}, {40, 768}, {16, 4096}, {33, 1001}}) {
    for (const Dtype t : {Dtype::f32, Dtype::bf16}) {
      const Dims sizes{rows, n};
      const Tensor x = empty(sizes, t, kCpu), y = empty(sizes, t, kCpu);
      std::memset(x.data(), 0, size_t(x.nbytes()));
      const uint64_t bytes = uint64_t(x.nbytes());
      {
        Counted counted;
        run_row("softmax", kSoftmax, t, -1, {out_row(y), row(x)});
      }
      EXPECT_EQ(traffic.launches, 1u);
      expect_moved(2 * bytes);
      const bool whole = n % 8 == 0;
      EXPECT_TRUE(!whole || traffic.asked <= 2 * bytes + bytes / 20) << traffic.asked;
      {
        Counted counted;
        run_row("softmax", kSoftmaxBackward, t, -1, {out_row(x), row(y), row(y)});
      }
      expect_moved(2 * bytes);  // y is both
      EXPECT_TRUE(!whole || traffic.asked <= 3 * bytes + bytes / 20) << traffic.asked;
    }
  }
}

// Its gradient comes with the sums of all rows in one launch that reads them once; what blocks
// leave to be joined is little beside many rows.
TEST(RowDevice, NormsMoveWhatTheyHoldAndNoMore) {
  FLAM_EMULATED(norm, kLayerNorm);
  FLAM_EMULATED(slope, kLayerNormBackward);
  constexpr int64_t rows = 4000, n = 64;
  for (const Dtype t : {Dtype::f32, Dtype::bf16}) {
    const Tensor x = empty(Dims{rows, n}, t, kCpu), y = empty(Dims{rows, n}, t, kCpu),
                 dy = empty(Dims{rows, n}, t, kCpu), w = empty(Dims{n}, t, kCpu),
                 dw = empty(Dims{n}, t, kCpu), db = empty(Dims{n}, t, kCpu),
                 mean = empty(Dims{rows}, Dtype::f32, kCpu),
                 rstd = empty(Dims{rows}, Dtype::f32, kCpu);
    for (const Tensor* each : {&x, &dy, &w}) std::memset(each->data(), 0, size_t(each->nbytes()));
    const uint64_t bytes = uint64_t(x.nbytes());
    {
      Counted counted;
      run_row("layer_norm", kLayerNorm, t, 1,
              {out_row(y), out_each(mean), out_each(rstd), row(x), shared(w), shared(w)}, {1e-5});
    }
    EXPECT_EQ(traffic.launches, 1u);
    expect_moved(2 * bytes);
    {
      Counted counted;
      run_row("layer_norm", kLayerNormBackward, t, 1,
              {out_row(y), out_total(dw), out_total(db, dy), row(dy), row(x), each(rstd), shared(w),
               each(mean)});
    }
    EXPECT_EQ(traffic.launches, 1u);
    expect_moved(3 * bytes);
  }
}

}  // namespace
}  // namespace flambeau
