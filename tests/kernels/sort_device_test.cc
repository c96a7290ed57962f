// Sorts, selections and middles of long lines on a device give the host's results to the bit: every
// dtype, few and many lines, equals, zeros of both signs and NaN. What the radix sort moves is
// counted beside it.
#include <cmath>
#include <limits>

#include "kernels/sort/sort.h"
#include "simulated.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using SortOnDevice = Simulated;

template <class T> Tensor mixed(int64_t lines, int64_t n) {
  const Tensor t = empty(Dims{lines, n}, dtype_of<T>, kCpu);
  const double low = std::is_unsigned_v<T> ? 0 : -90;
  const std::vector<float> from = randoms<float>(size_t(lines * n), low, 90);
  T* const v = t.data_as<T>();
  for (size_t i = 0; i < from.size(); ++i) {
    v[i] = i % 3 == 0 && i ? v[i / 3] : T(from[i] > 45 && std::is_same_v<T, bool> ? 0 : from[i]);
    if (i % 11 == 5) v[i] = T(0.0f);
    if constexpr (!std::is_integral_v<T>) {
      if (i % 11 == 7) v[i] = T(-0.0f);
      if (i % 97 == 13) v[i] = T(NAN);
      if (i % 101 == 17) v[i] = T(i % 2 ? INFINITY : -INFINITY);
    } else {
      if (i % 97 == 13) v[i] = std::numeric_limits<T>::max();
      if (i % 101 == 17) v[i] = std::numeric_limits<T>::min();
    }
  }
  return t;
}

void expect_bits(const Tensor& got, const Tensor& want, const char* what) {
  ASSERT_EQ(std::memcmp(got.data(), want.data(), want.nbytes()), 0) << what;
}

void sorts_alike(const Tensor& x, const SortRange& range) {
  const Dims sizes{x.size(0), range.count};
  const Tensor far = there(x);
  const Tensor values = empty(sizes, x.dtype(), kCpu), at = empty(sizes, Dtype::i64, kCpu);
  const Tensor far_values = empty(sizes, x.dtype(), kSim), far_at = empty(sizes, Dtype::i64, kSim);
  run_sort("sort", values, at, x, 1, range);
  run_sort("sort", far_values, far_at, far, 1, range);
  SCOPED_TRACE(testing::Message() << name_of(x.dtype()) << " " << x.size(0) << " x " << x.size(1)
                                  << " from " << range.first << ", " << range.count);
  expect_bits(back(far_at), at, "places");
  expect_bits(back(far_values), values, "values");
}

template <class T> void every_way(int64_t lines, int64_t n) {
  const Tensor x = mixed<T>(lines, n);
  for (const bool descending : {false, true}) {
    for (const int64_t count : {n, int64_t(1), int64_t(50), kSortTile, kSortTile + 3})
      sorts_alike(x, {.count = count, .descending = descending});
  }
  sorts_alike(x, {.first = n / 3});
  sorts_alike(x, {.first = n - 1});
  sorts_alike(x, {.first = 5, .count = 40});
  sorts_alike(x, {.middle = Middle::nan_wins});
  sorts_alike(x, {.middle = Middle::nan_out});
}

template <class... T> void every_dtype(int64_t lines, int64_t n) { (every_way<T>(lines, n), ...); }

TEST_F(SortOnDevice, OneLongLine) {
  every_dtype<float, double, Half, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, bool>(
      1, 3001);
}

TEST_F(SortOnDevice, SeveralLines) {
  every_dtype<float, double, Half, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, bool>(
      3, 1029);
}

TEST_F(SortOnDevice, ShortLines) { every_dtype<float, int64_t>(4, 1500); }

// Without values, or without places, and lines that lie crosswise.
TEST_F(SortOnDevice, OnlyWhatIsWanted) {
  const Tensor x = mixed<float>(2, 2000), far = there(x);
  const Tensor values = empty(x.sizes(), x.dtype(), kCpu), at = empty(x.sizes(), Dtype::i64, kCpu);
  run_sort("sort", values, at, x, 1, {.count = 2000});
  const Tensor only_at = empty(x.sizes(), Dtype::i64, kSim),
               only_values = empty(x.sizes(), x.dtype(), kSim);
  run_sort("sort", {}, only_at, far, 1, {.count = 2000});
  run_sort("sort", only_values, {}, far, 1, {.count = 2000});
  expect_bits(back(only_at), at, "places");
  expect_bits(back(only_values), values, "values");
}

// Around the sort itself: keys of 4 bytes and places are written from values of 4 bytes, then
// values and places of 8 bytes from both. Zeros and NaN alone are read where they stood.
TEST_F(SortOnDevice, MovesWhatItMust) {
  const int64_t n = 1 << 15;
  const Tensor x = there(tensor_of(randoms<float>(size_t(n), 1, 2), Dims{1, n}));
  const Tensor values = empty(Dims{1, n}, x.dtype(), kSim),
               at = empty(Dims{1, n}, Dtype::i64, kSim);
  synchronize(kSim);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_sort("sort", values, at, x, 1, {.count = n});
  synchronize(kSim);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 2u);
  const double model = double(n) * (4 + 4 + 4 + 4 + 4 + 4 + 8);
  EXPECT_LE(double(cuda_on_cpu::traffic.moved()), 1.05 * model);
  EXPECT_LE(double(cuda_on_cpu::traffic.asked), 1.05 * model);
}

}  // namespace
}  // namespace flambeau
