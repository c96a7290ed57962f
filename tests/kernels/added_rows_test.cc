// Rows added up by an index on a device, executed: of any width and address, halves rounded once,
// rows that nobody names 0; few indices of a row in their order, many in parts; more than a list
// holds; the same bits in every order of threads and blocks; and each row written once.
#include "kernels/index/added_rows.h"

#include "base/error.h"
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
  std::vector<V> sums(size_t(s.rows * s.width), V(0));
  for (int64_t i = 0; i < s.indices * s.repeats; ++i) {
    const int64_t row = at[size_t(i % s.indices)];
    if (row == s.skipped) continue;
    for (int64_t c = 0; c < s.width; ++c)
      sums[size_t(row * s.width + c)] += V(source[size_t(i * s.width + c)]);
  }
  std::vector<T> out;
  for (const V& v : sums) out.push_back(T(v));
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
