// Batch norm's kernels of GPUs, executed: statistics, results and gradients are those of doubles,
// held by a block or taken in parts, of planes and of channels side by side, whole pieces or not;
// bits are the same in every order of threads and blocks; memory is read and written as often as
// their launches say.
#include <cmath>
#include <cstring>
#include <optional>

#include "ops/nn/channels.h"
#include "simulated.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using ChannelsOnDevice = Simulated;
using ops::ChannelNorm;

// Images of `channels` planes; rows of channels where these are 1; or with their channels last.
struct Shape {
  int64_t images, channels, plane;
  bool last = false;

  Dims sizes() const {
    Dims all{images, channels};
    if (plane > 1) all.push_back(plane);
    return all;
  }
  Dims strides() const {
    if (!last) return contiguous_strides(sizes());
    return {channels * plane, 1, channels};
  }
  int64_t values() const { return images * plane; }
  size_t numel() const { return size_t(values() * channels); }
  size_t channel_of(size_t at) const {  // of an element as it lies
    return last || plane == 1 ? at % size_t(channels) : at / size_t(plane) % size_t(channels);
  }
};

// Held and in parts, whole pieces and single ones, one channel, few, and some that fill no tile.
const Shape kShapes[] = {
    {2, 3, 8},     {3, 2, 7},    {2, 1, 1},           {6, 1, 1},        {5, 8, 1},
    {33, 40, 1},   {50, 3, 1},   {2, 16, 49},         {2, 5, 16, true}, {3, 6, 7, true},
    {1, 1, 60001}, {3, 2, 9000}, {2, 3, 7001},        {9000, 4, 1},     {4000, 24, 1},
    {5000, 5, 1},  {3, 72, 300}, {2, 64, 2500, true}, {1, 1, 20000},
};

template <class T> std::vector<T> drawn(size_t n, double low, double high, unsigned seed) {
  return randoms<T>(n, low, high, seed);
}

// Everything that goes in and comes out, as it lies.
template <class T> struct Normed {
  Shape shape;
  std::vector<T> x, dy, y, dx;
  std::vector<float> weight, bias, running_mean, running_var, mean, rstd, dw, db;

  explicit Normed(const Shape& s, double far = 0) : shape(s) {
    const size_t c = size_t(s.channels);
    x = drawn<T>(s.numel(), far - 1, far + 1, 1);
    dy = drawn<T>(s.numel(), -1, 1, 2);
    weight = drawn<float>(c, 0.5, 2, 3);
    bias = drawn<float>(c, -1, 1, 4);
    running_mean = drawn<float>(c, -1, 1, 5);
    running_var = drawn<float>(c, 0.5, 2, 6);
  }
};

template <class T> Tensor on_device(const std::vector<T>& v, const Shape& s) {
  const Tensor flat = there(tensor_of(v, Dims{int64_t(v.size())}));
  return alias(flat, s.sizes(), s.strides(), 0);
}
template <class T> std::vector<T> as_it_lies(const Tensor& t) {
  const Dims flat{t.numel()}, one{1};
  return values_of<T>(back(alias(t, flat, one, t.offset())));
}

constexpr double kMomentum = 0.3, kEps = 1e-3;

template <class T> Normed<T> run(Normed<T> n, bool training) {
  const Dims c{n.shape.channels};
  const Tensor x = on_device(n.x, n.shape), dy = on_device(n.dy, n.shape),
               dx = on_device(n.x, n.shape);
  const ChannelNorm norm{there(tensor_of(n.running_mean)),
                         there(tensor_of(n.running_var)),
                         there(tensor_of(n.weight)),
                         there(tensor_of(n.bias)),
                         training,
                         kMomentum,
                         kEps};
  const Tensor mean = empty(c, Dtype::f32, kSim), rstd = empty(c, Dtype::f32, kSim),
               dw = empty(c, Dtype::f32, kSim), db = empty(c, Dtype::f32, kSim);
  const Tensor y = ops::norm_by_channel(x, norm, mean, rstd);
  ops::norm_backward_by_channel({dx, dw, db}, dy, {}, x, norm.weight, mean, rstd, training);
  n.y = as_it_lies<T>(y);
  n.dx = as_it_lies<T>(dx);
  n.mean = as_it_lies<float>(mean);
  n.rstd = as_it_lies<float>(rstd);
  n.dw = as_it_lies<float>(dw);
  n.db = as_it_lies<float>(db);
  n.running_mean = as_it_lies<float>(norm.running_mean);
  n.running_var = as_it_lies<float>(norm.running_var);
  return n;
}

struct Channel {
  double mean = 0, squares = 0, sum = 0, dot = 0, rstd = 0;
};

// The same in doubles.
template <class T> std::vector<Channel> channels_of(const Normed<T>& n, bool training) {
  const Shape& s = n.shape;
  std::vector<Channel> all(size_t(s.channels));
  const double count = double(s.values());
  for (size_t i = 0; i < s.numel(); ++i) all[s.channel_of(i)].mean += double(n.x[i]) / count;
  for (size_t i = 0; i < s.numel(); ++i) {
    Channel& c = all[s.channel_of(i)];
    c.squares += (double(n.x[i]) - c.mean) * (double(n.x[i]) - c.mean);
  }
  for (size_t k = 0; k < all.size(); ++k) {
    if (!training) all[k].mean = n.running_mean[k];
    const double variance = training ? all[k].squares / count : n.running_var[k];
    all[k].rstd = 1 / std::sqrt(variance + kEps);
  }
  for (size_t i = 0; i < s.numel(); ++i) {
    Channel& c = all[s.channel_of(i)];
    c.sum += double(n.dy[i]);
    c.dot += double(n.dy[i]) * (double(n.x[i]) - c.mean);
  }
  return all;
}

template <class T> void expect_doubles(const Normed<T>& before, bool training, double step) {
  const Shape& s = before.shape;
  const Normed<T> got = run(before, training);
  const std::vector<Channel> all = channels_of(before, training);
  const double count = double(s.values());
  const auto near = [&](double a, double b, double scale, const char* what, size_t at) {
    ASSERT_NEAR(a, b, scale * (1 + std::abs(b)))
        << what << " at " << at << " of " << ShapeText{s.sizes()}
        << (s.last ? " channels last" : "");
  };
  for (size_t k = 0; k < all.size(); ++k) {
    const Channel& c = all[k];
    near(got.mean[k], c.mean, 4e-7, "mean", k);
    near(got.rstd[k], c.rstd, 2e-6, "rstd", k);
    near(got.db[k], c.sum, 2e-6 * std::sqrt(count), "bias's gradient", k);
    near(got.dw[k], c.dot * c.rstd, 4e-6 * std::sqrt(count), "weight's gradient", k);
    const double by = training ? kMomentum : 0, variance = c.squares / (count - 1);
    const double old_mean = before.running_mean[k], old_var = before.running_var[k];
    near(got.running_mean[k], old_mean + by * (c.mean - old_mean), 1e-6, "running mean", k);
    near(got.running_var[k], old_var + by * (variance - old_var), 2e-6, "running variance", k);
  }
  for (size_t i = 0; i < s.numel(); ++i) {
    const size_t k = s.channel_of(i);
    const Channel& c = all[k];
    const double x = double(before.x[i]) - c.mean, factor = before.weight[k] * c.rstd;
    near(double(got.y[i]), x * factor + before.bias[k], step, "y", i);
    double dx = double(before.dy[i]);
    if (training) dx -= c.sum / count + x * c.rstd * c.rstd * c.dot / count;
    near(double(got.dx[i]), factor * dx, 2 * step, "dx", i);
  }
}

TEST_F(ChannelsOnDevice, ResultsAreThoseOfDoubles) {
  for (const Shape& s : kShapes) {
    for (const bool training : {true, false}) {
      expect_doubles(Normed<float>(s), training, 1e-5);
      if (s.numel() > 50000) continue;
      expect_doubles(Normed<BFloat16>(s), training, 0x1p-7);
      expect_doubles(Normed<Half>(s), training, 0x1p-9);
    }
  }
}

// 10,000 times as far from 0 as from one another, of which squares of values would leave nothing.
TEST_F(ChannelsOnDevice, MeansMayBeFarFromZero) {
  for (const Shape& s : {Shape{2, 3, 64}, Shape{2, 2, 20000}, Shape{6000, 4, 1}}) {
    const Normed<float> before(s, 1e4);
    const Normed<float> got = run(before, true);
    const std::vector<Channel> all = channels_of(before, true);
    for (size_t k = 0; k < all.size(); ++k) {
      ASSERT_NEAR(got.mean[k], all[k].mean, 1e-3);
      ASSERT_NEAR(got.rstd[k], all[k].rstd, 1e-4 * all[k].rstd);
    }
  }
}

TEST_F(ChannelsOnDevice, EveryOrderOfThreadsGivesTheSameBits) {
  for (const Shape& s : {Shape{2, 3, 40}, Shape{2, 2, 20001}, Shape{5000, 8, 1}}) {
    std::optional<Normed<float>> first;
    for (const uint64_t seed : {1, 2, 3}) {
      cuda_on_cpu::set_seed(seed);
      const Normed<float> got = run(Normed<float>(s), true);
      if (!first) first = got;
      EXPECT_EQ(got.y, first->y);
      EXPECT_EQ(got.dx, first->dx);
      EXPECT_EQ(got.dw, first->dw);
      EXPECT_EQ(got.db, first->db);
      EXPECT_EQ(got.running_mean, first->running_mean);
      EXPECT_EQ(got.running_var, first->running_var);
    }
  }
}

// What is not asked for is not written; without a weight it is 1.
TEST_F(ChannelsOnDevice, NothingNeedsToBeThere) {
  for (const Shape& s : {Shape{2, 3, 40}, Shape{2, 2, 20000}}) {
    Normed<float> n(s);
    std::fill(n.weight.begin(), n.weight.end(), 1.f);
    std::fill(n.bias.begin(), n.bias.end(), 0.f);
    const Normed<float> want = run(n, true);
    const Tensor x = on_device(n.x, s), dy = on_device(n.dy, s), dx = on_device(n.x, s);
    const Dims c{s.channels};
    const Tensor mean = empty(c, Dtype::f32, kSim), rstd = empty(c, Dtype::f32, kSim),
                 db = empty(c, Dtype::f32, kSim);
    const ChannelNorm norm{{}, {}, {}, {}, true, kMomentum, kEps};
    EXPECT_EQ(as_it_lies<float>(ops::norm_by_channel(x, norm, mean, rstd)), want.y);
    ops::norm_backward_by_channel({dx, {}, {}}, dy, {}, x, {}, mean, rstd, true);
    EXPECT_EQ(as_it_lies<float>(dx), want.dx);
    ops::norm_backward_by_channel({{}, {}, db}, dy, {}, x, {}, mean, rstd, true);
    EXPECT_EQ(as_it_lies<float>(db), want.db);
  }
}

// What a ReLU would have made 0 before, its kernel's slope at every kind of number included.
template <class T> void expect_masked(const Shape& s) {
  const Normed<T> n(s);
  std::vector<T> mask = drawn<T>(s.numel(), -1, 1, 7), masked = n.dy;
  const T kinds[] = {T(0), T(-0.0), T(std::nan("")), T(INFINITY), T(-INFINITY)};
  for (size_t i = 0; i < mask.size(); i += 3) mask[i] = kinds[i / 3 % std::size(kinds)];
  for (size_t i = 0; i < mask.size(); ++i)
    if (double(mask[i]) <= 0) masked[i] = T(0);
  const Dims c{s.channels};
  using V = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto numbers = [](const std::vector<float>& v) {
    return there(tensor_of(std::vector<V>(v.begin(), v.end())));
  };
  const Tensor x = on_device(n.x, s), weight = numbers(n.weight), mean = numbers(n.running_mean),
               rstd = numbers(n.running_var);
  for (const bool training : {true, false}) {
    std::vector<T> dx[2];
    std::vector<V> dw[2], db[2];
    for (const int by : {0, 1}) {
      const Tensor dy = on_device(by ? masked : n.dy, s), to = on_device(n.x, s),
                   y = by ? Tensor() : on_device(mask, s);
      const Tensor w = empty(c, dtype_of<V>, kSim), b = empty(c, dtype_of<V>, kSim);
      ops::norm_backward_by_channel({to, w, b}, dy, y, x, weight, mean, rstd, training);
      dx[by] = as_it_lies<T>(to);
      dw[by] = as_it_lies<V>(w);
      db[by] = as_it_lies<V>(b);
    }
    EXPECT_EQ(std::memcmp(dx[0].data(), dx[1].data(), dx[0].size() * sizeof(T)), 0);
    EXPECT_EQ(dw[0], dw[1]);
    EXPECT_EQ(db[0], db[1]);
  }
}

TEST_F(ChannelsOnDevice, AMaskDropsAsARelusGradientDoes) {
  for (const Shape& s : kShapes) {
    if (s.numel() > 20000) continue;
    expect_masked<float>(s);
    expect_masked<double>(s);
    expect_masked<BFloat16>(s);
    expect_masked<Half>(s);
  }
}

// Slopes that are one number in each plane, or one in all, are read where they are.
template <class T> void expect_still(const Shape& s, const Dims& strides) {
  const Normed<T> n(s);
  const Tensor x = on_device(n.x, s), mask = on_device(n.dy, s);
  const Tensor mean = there(tensor_of(n.running_mean)), rstd = there(tensor_of(n.running_var));
  const Tensor still = alias(there(tensor_of(n.dy)), s.sizes(), strides, 0);
  ASSERT_TRUE(ops::reads_slopes(still, x));
  std::vector<T> spread;
  for (int64_t i = 0; i < s.images; ++i) {
    for (int64_t c = 0; c < s.channels; ++c)
      spread.insert(spread.end(), size_t(s.plane), n.dy[size_t(i * strides[0] + c * strides[1])]);
  }
  std::vector<T> dx[2];
  std::vector<float> db[2];
  for (const int by : {0, 1}) {
    const Tensor to = on_device(n.x, s), b = empty(Dims{s.channels}, Dtype::f32, kSim);
    const Tensor dy = by ? on_device(spread, s) : still;
    ops::norm_backward_by_channel({to, {}, b}, dy, mask, x, {}, mean, rstd, true);
    dx[by] = as_it_lies<T>(to);
    db[by] = as_it_lies<float>(b);
  }
  EXPECT_EQ(std::memcmp(dx[0].data(), dx[1].data(), dx[0].size() * sizeof(T)), 0);
  EXPECT_EQ(db[0], db[1]);
}

TEST_F(ChannelsOnDevice, SlopesMayStandStillInEachPlane) {
  for (const Shape& s : {Shape{2, 3, 8}, Shape{3, 2, 7}, Shape{2, 5, 4096}, Shape{3, 2, 9001}}) {
    for (const Dims& strides : {Dims{s.channels, 1, 0}, Dims{1, 2, 0}, Dims{0, 0, 0}}) {
      expect_still<float>(s, strides);
      expect_still<BFloat16>(s, strides);
    }
  }
}

TEST_F(ChannelsOnDevice, ALaunchCountsItsBatchOnce) {
  for (const Shape& s : {Shape{2, 3, 40}, Shape{2, 2, 20001}, Shape{5000, 8, 1}}) {
    const Normed<float> n(s);
    const Tensor x = on_device(n.x, s), batches = there(tensor_of(std::vector<int64_t>{41}));
    const Dims c{s.channels};
    const Tensor mean = empty(c, Dtype::f32, kSim), rstd = empty(c, Dtype::f32, kSim);
    ops::norm_by_channel(x, {{}, {}, {}, {}, true, kMomentum, kEps, batches}, mean, rstd);
    EXPECT_EQ(values_of<int64_t>(back(batches)), std::vector<int64_t>{42});
  }
}

// ---- what is moved ----

template <class F> void expect_moved(uint64_t bytes, uint64_t launches, const F& f) {
  synchronize(kSim);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  f();
  synchronize(kSim);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, launches);
  EXPECT_GE(cuda_on_cpu::traffic.moved(), bytes);
  EXPECT_LE(double(cuda_on_cpu::traffic.moved()), 1.05 * double(bytes));
  EXPECT_LE(double(cuda_on_cpu::traffic.asked), 2.1 * double(bytes));  // lanes lie together
}

// Held, x is read once, else for the statistics and once more; backward likewise x and dy.
TEST_F(ChannelsOnDevice, LaunchesMoveWhatTheyTakeAndNoMore) {
  for (const Shape& s : {Shape{4, 2, 1024}, Shape{4, 2, 8192}, Shape{512, 32, 1},
                         Shape{8192, 32, 1}, Shape{2, 32, 4096, true}}) {
    const bool held = s.values() <= 4096;
    for (const Dtype t : {Dtype::f32, Dtype::bf16}) {
      const Tensor x = alias(empty(Dims{int64_t(s.numel())}, t, kSim), s.sizes(), s.strides(), 0),
                   dx = empty_like(x), dy = empty_like(x);
      const Dims c{s.channels};
      const auto number = [&] { return empty(c, Dtype::f32, kSim); };
      const Tensor mean = number(), rstd = number(), dw = number(), db = number();
      ChannelNorm norm{number(), number(), number(), number(), true, kMomentum, kEps};
      const uint64_t bytes = uint64_t(x.nbytes());
      expect_moved((held ? 2 : 3) * bytes, held ? 1 : 2,
                   [&] { ops::norm_by_channel(x, norm, mean, rstd); });
      expect_moved((held ? 3 : 5) * bytes, held ? 1 : 2, [&] {
        ops::norm_backward_by_channel({dx, dw, db}, dy, {}, x, norm.weight, mean, rstd, true);
      });
      const Tensor mask = empty_like(x);
      expect_moved((held ? 4 : 7) * bytes, held ? 1 : 2, [&] {
        ops::norm_backward_by_channel({dx, dw, db}, dy, mask, x, norm.weight, mean, rstd, true);
      });
      expect_moved(2 * bytes, 1, [&] {
        ops::norm_backward_by_channel({dx, {}, {}}, dy, {}, x, norm.weight, mean, rstd, false);
      });
      norm.training = false;
      expect_moved(2 * bytes, 1, [&] { ops::norm_by_channel(x, norm, {}, {}); });
    }
  }
}

}  // namespace
}  // namespace flambeau
