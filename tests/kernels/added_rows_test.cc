// Rows added up by an index on a device, executed: of any width and address, halves rounded once,
// rows that nobody names 0; few indices of a row in their order, many in parts; more than a list
// holds; the same bits in every order of threads and blocks; sums of one sign within an ULP; what
// is refused because it would cost more; and each row written once.
#include "kernels/index/added_rows.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "device/stats.h"
#include "kernels/map/map.h"
#include "simulated.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using AddedRows = Simulated;

struct Sizes {
  int64_t rows, indices, width;
  int64_t often = 0;  // of 16 indices so many name one row
  int64_t repeats = 1, skipped = -1;
};

std::vector<int64_t> named(const Sizes& s) {
  std::vector<int64_t> at(static_cast<size_t>(s.indices));
  for (int64_t i = 0; i < s.indices; ++i)
    at[size_t(i)] = i % 16 < s.often ? s.rows / 2 : (i * i * 7 + i) % s.rows;
  return at;
}

template <class T> std::vector<T> added(const std::vector<T>& source,
                                        const std::vector<int64_t>& at, const Sizes& s) {
  using V = std::conditional_t<sizeof(T) == 2, float, T>;
  std::vector<V> sums(size_t(s.rows * s.width), V(0)), rests = sums;
  for (int64_t i = 0; i < s.indices * s.repeats; ++i) {
    const int64_t row = at[size_t(i % s.indices)];
    if (row == s.skipped) continue;
    for (int64_t c = 0; c < s.width; ++c) {
      V& sum = sums[size_t(row * s.width + c)];
      const V x = V(source[size_t(i * s.width + c)]), whole = sum + x, taken = whole - sum;
      if (sizeof(T) == sizeof(V))
        rests[size_t(row * s.width + c)] += (sum - (whole - taken)) + (x - taken);
      sum = whole;
    }
  }
  std::vector<T> out;
  for (size_t i = 0; i < sums.size(); ++i) out.push_back(T(sums[i] + rests[i]));
  return out;
}

// `gap`: elements before the source. Whole numbers have one sum in whatever order.
template <class T> void check(const Sizes& s, int64_t gap = 0, bool whole = false) {
  const int64_t count = s.indices * s.repeats;
  std::vector<T> values = randoms<T>(size_t(count * s.width), -3, 3);
  if (whole) {
    for (T& v : values) v = T(std::round(float(v)));
  }
  const std::vector<int64_t> at = named(s);
  std::vector<T> apart(size_t(gap), T(0));
  apart.insert(apart.end(), values.begin(), values.end());
  const Tensor all = there(tensor_of(apart, Dims{gap + count * s.width})),
               index = there(tensor_of(at, Dims{int64_t(at.size())})),
               source = alias(all, Dims{count, s.width}, Dims{s.width, 1}, gap);
  const std::vector<T> want = added(values, at, s);
  const Dims sizes{s.rows, s.width};
  const RowSums sums{sizes, index, source, s.skipped};
  ASSERT_TRUE(adds_rows(sums));
  for (const uint64_t seed : {1, 2}) {
    cuda_on_cpu::set_seed(seed);
    const Tensor out = added_rows("index_add", sums);
    const std::vector<T> got = values_of<T>(back(out));
    ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)), 0)
        << s.rows << " rows, " << count << " indices, width " << s.width;
  }
  cuda_on_cpu::set_seed(1);
}

TEST_F(AddedRows, HaveTheOrderOfTheIndices) {
  for (const Sizes& s : {Sizes{.rows = 5, .indices = 40, .width = 24},
                         {.rows = 45, .indices = 90, .width = 300, .often = 3, .skipped = 9},
                         {.rows = 1, .indices = 60, .width = 1},
                         {.rows = 350, .indices = 64, .width = 5},
                         {.rows = 40, .indices = 20, .width = 8, .repeats = 3, .skipped = 20}}) {
    check<float>(s);
    check<float>(s, 1);
    check<double>(s);
    check<Half>(s);
    check<BFloat16>(s, 3);
  }
}

TEST_F(AddedRows, OfManyIndicesAreTheirSums) {
  for (const Sizes& s : {Sizes{.rows = 3, .indices = 5000, .width = 24, .often = 9},
                         {.rows = 1, .indices = 9000, .width = 4},
                         {.rows = 90, .indices = 70, .width = 8, .often = 8, .repeats = 70}}) {
    check<float>(s, 0, true);
    check<double>(s, 0, true);
    check<BFloat16>(s, 0, true);
    check<Half>(s, 1, true);
  }
}

// Each of `repeats` rows goes to a row of the result, as under a broadcast.
template <class T> void check_ulps(int64_t repeats, int64_t width) {
  constexpr int64_t kRows = 7;
  const std::vector<T> values = randoms<T>(size_t(repeats * kRows * width), 0.5, 1.5);
  const Tensor index = there(tensor_of<int64_t>({0, 1, 2, 3, 4, 5, 6})),
               source = there(tensor_of(values, Dims{repeats, kRows, width}));
  const Dims sizes{kRows, width};
  ASSERT_TRUE(adds_rows({sizes, index, source}));
  const auto got = values_of<T>(back(added_rows("index_add", {sizes, index, source})));
  for (size_t i = 0; i < got.size(); ++i) {
    long double want = 0;
    for (int64_t r = 0; r < repeats; ++r) want += values[size_t(r * kRows * width) + i];
    const T near = T(want), ulp = std::nextafter(near, std::numeric_limits<T>::infinity()) - near;
    ASSERT_LE(std::abs(static_cast<long double>(got[i]) - want), ulp) << repeats << " terms";
  }
}
TEST_F(AddedRows, OfOneSignAreWithinAnUlp) {
  for (const int64_t repeats : {33, 60, 64, 500, 4000}) {
    check_ulps<float>(repeats, 16);
    check_ulps<float>(repeats, 3);
    check_ulps<double>(repeats, 2);
  }
}

TEST_F(AddedRows, AreInfiniteWhereATermIs) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor index = there(tensor_of<int64_t>({0, 1, 0, 1, 2})),
               source = there(tensor_of<float>({1, kInf, kInf, -kInf, -kInf}, Dims{5, 1}));
  const Dims sizes{3, 1};
  const auto got = values_of<float>(back(added_rows("index_add", {sizes, index, source})));
  EXPECT_EQ(got[0], kInf);
  EXPECT_NE(got[1], got[1]);
  EXPECT_EQ(got[2], -kInf);
}

// Bytes that a call takes at most beside its result. A list holds kAddedListed indices.
int64_t beside(Dtype dtype, Dims sizes, int64_t indices, int64_t repeats = 1) {
  const Tensor index = there(tensor_of(std::vector<int64_t>(size_t(indices), 1))),
               source = empty(Dims{repeats * indices, sizes[1]}, dtype, kSim);
  EXPECT_TRUE(adds_rows({sizes, index, source}));
  synchronize(kSim);
  reset_peak_memory_stats(kSim);
  const int64_t before = memory_stats(kSim).allocated_bytes.of[kAllPools].current;
  const Tensor out = added_rows("index_add", {sizes, index, source});
  synchronize(kSim);
  return memory_stats(kSim).allocated_bytes.of[kAllPools].peak - before - int64_t(out.nbytes());
}
TEST_F(AddedRows, TakeMemoryOnlyForASecondList) {
  const Dims sizes{64, 512};
  const int64_t values = numel_of(sizes), listed = kAddedListed;
  EXPECT_EQ(beside(Dtype::bf16, sizes, listed), 0);
  EXPECT_EQ(beside(Dtype::bf16, sizes, listed + 1), 4 * values);
  EXPECT_EQ(beside(Dtype::f32, sizes, listed + 1), 0);
  EXPECT_EQ(beside(Dtype::f32, sizes, listed / 4, 4), 0);
  EXPECT_EQ(beside(Dtype::f32, sizes, listed / 4, 5), 4 * values);  // of a broadcast
  EXPECT_EQ(beside(Dtype::f64, sizes, listed / 4, 5), 8 * values);
}

// Shapes alone, of which nothing is read.
bool adds(Dtype dtype, int64_t rows, int64_t width, int64_t count) {
  const Tensor index = empty(Dims{count}, Dtype::i64, kSim),
               source = empty(Dims{count, width}, dtype, kSim);
  const Dims sizes{rows, width};
  return adds_rows({sizes, index, source});
}
TEST_F(AddedRows, AreRefusedWhereTheirCopyIsOfMoreThanTheyName) {
  const int64_t listed = kAddedListed, rows = 64 * (listed + 1);
  EXPECT_TRUE(adds(Dtype::bf16, rows + 63, 64, listed + 1));
  EXPECT_FALSE(adds(Dtype::bf16, rows + 64, 64, listed + 1));
  EXPECT_TRUE(adds(Dtype::bf16, rows + 64, 64, listed));
  EXPECT_TRUE(adds(Dtype::f32, rows + 64, 64, listed + 1));
}

// One row of 128 columns of f32 is one block, one of 768 six: each reads 512 bytes of a gradient.
TEST_F(AddedRows, AreRefusedWhereFewBlocksReadMuch) {
  const int64_t bytes = 1 << 19, most = bytes / 512 * 160 / 159;  // 159 of 160 beyond its share
  EXPECT_TRUE(adds(Dtype::f32, 1, 128, most));
  EXPECT_FALSE(adds(Dtype::f32, 1, 128, most + 2));
  EXPECT_TRUE(adds(Dtype::f32, 1, 768, most));
  EXPECT_FALSE(adds(Dtype::f32, 1, 768, 1100));
  EXPECT_FALSE(adds(Dtype::bf16, 2, 768, 16384));
  EXPECT_TRUE(adds(Dtype::f32, 1024, 768, 16384));
}

// Of 65 columns a thread has one, and blocks have 32: three look at all indices, not one.
TEST_F(AddedRows, AreRefusedWhereNarrowTilesLookAtMore) {
  const int64_t count = 4000;  // by 160 blocks more than looks that are free
  EXPECT_FALSE(adds(Dtype::f16, 108, 65, count));
  EXPECT_TRUE(adds(Dtype::f16, 108, 64, count));
}

// An address says how a thread reads; no sum changes with it.
TEST_F(AddedRows, HaveTheSameBitsAtEveryAddress) {
  const Sizes s{.rows = 30, .indices = 4500, .width = 16, .often = 5};
  const std::vector<float> values = randoms<float>(size_t(s.indices * s.width + 1), -3, 3);
  const Tensor all = there(tensor_of(values, Dims{s.indices * s.width + 1})),
               index = there(tensor_of(named(s), Dims{s.indices}));
  const Dims sizes{s.rows, s.width}, in{s.indices, s.width}, steps{s.width, 1};
  const Tensor odd = alias(all, in, steps, 1), even = empty(in, Dtype::f32, kSim);
  run_cast(even, odd);
  const auto first = values_of<float>(back(added_rows("index_add", {sizes, index, even}))),
             second = values_of<float>(back(added_rows("index_add", {sizes, index, odd})));
  EXPECT_EQ(first, second);
}

TEST_F(AddedRows, OfNoIndicesAreZeros) {
  const Dims sizes{40, 16};
  const Tensor index = empty(Dims{0}, Dtype::i64, kSim),
               source = empty(Dims{0, 16}, Dtype::f32, kSim);
  ASSERT_TRUE(adds_rows({sizes, index, source}));
  for (const float v : values_of<float>(back(added_rows("index_add", {sizes, index, source}))))
    ASSERT_EQ(v, 0);
}

TEST_F(AddedRows, NameAnIndexThatIsOutOfRange) {
  const Tensor index = there(tensor_of<int64_t>({1, 4, 0}));
  const Tensor source = there(tensor_of(randoms<float>(3 * 8, -1, 1), Dims{3, 8}));
  const Dims sizes{4, 8};
  added_rows("embedding", {sizes, index, source});
  try {
    synchronize(kSim);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.problem, "embedding: index 4 is out of bounds for dimension 0 with size 4");
  }
}

TEST_F(AddedRows, AreRefusedWhereLookingCostsMore) {
  const Dims sizes{50000, 2}, wide{50000, 64};
  const int64_t count = 1 << 16;
  const Tensor index = empty(Dims{count}, Dtype::i64, kSim),
               narrow = empty(Dims{count, 2}, Dtype::f16, kSim),
               source = empty(Dims{count, 64}, Dtype::f32, kSim),
               whole = empty(Dims{count, 64}, Dtype::i64, kSim);
  EXPECT_FALSE(adds_rows({sizes, index, narrow}));
  EXPECT_FALSE(adds_rows({wide, index, whole}));
  EXPECT_FALSE(adds_rows({wide, index, alias(source, Dims{count, 64}, Dims{1, count}, 0)}));
  const Tensor few = alias(index, Dims{256}, Dims{1}, 0),
               rows = alias(source, Dims{256, 64}, Dims{64, 1}, 0);
  EXPECT_TRUE(adds_rows({wide, few, rows}));
}

TEST_F(AddedRows, WriteEachRowOnce) {
  const int64_t rows = 64, count = 32, width = 128;
  std::vector<int64_t> at(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) at[size_t(i)] = (7 * i + 3) % rows;  // all differ
  const std::vector<float> values = randoms<float>(size_t(count * width), -1, 1);
  const Tensor index = there(tensor_of(at, Dims{int64_t(at.size())})),
               source = there(tensor_of(values, Dims{count, width}));
  const Dims sizes{rows, width};
  synchronize(kSim);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  added_rows("index_add", {sizes, index, source});
  synchronize(kSim);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 1u);
  EXPECT_EQ(cuda_on_cpu::traffic.written, uint64_t(rows * width * 4));
  EXPECT_EQ(cuda_on_cpu::traffic.read, uint64_t(count * width * 4 + count * 8));
}

}  // namespace
}  // namespace flambeau
