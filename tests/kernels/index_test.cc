// Indexed reads and writes against plain loops; indices out of range leave what they would have
// written alone.
#include "kernels/index/index.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "tensors.h"

namespace flambeau {
namespace {

using Longs = std::vector<int64_t>;

Tensor counting(Dims sizes) {
  std::vector<float> v(size_t(numel_of(sizes)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = float(i);
  return tensor_of(v, sizes);
}

Tensor read(const Tensor& x, const IndexTensors& lists) {
  const Tensor out = empty(indexed_shape("index", x, lists), x.dtype(), kCpu);
  run_index_read("index", out, x, lists);
  return out;
}

TEST(Index, SelectsAlongAnyDimensionAndFromTheEnd) {
  const Tensor x = counting(Dims{3, 4, 5}), i = tensor_of<int64_t>({2, -4, 2});
  const Tensor y = read(x, {Tensor(), i});
  EXPECT_EQ(Dims(y.sizes()), (Dims{3, 3, 5}));
  for (int64_t a = 0; a < 3; ++a) {
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t c = 0; c < 5; ++c) {
        const int64_t from = b == 1 ? 0 : 2;
        ASSERT_EQ(y.data_as<float>()[a * 15 + b * 5 + c], float(a * 20 + from * 5 + c));
      }
    }
  }
}

// Rows of a few bytes and of more than a thread takes at once, whose index comes before, after and
// beyond what is asked for ahead.
TEST(Index, ReadsRowsOfAnyWidth) {
  const int before = get_num_threads();
  for (const int64_t width : {1, 3, 16, 33, 300, 20000}) {
    const Tensor x = counting(Dims{7, width}), wider = counting(Dims{7, width + 5});
    const Tensor cut = alias(wider, Dims{7, width}, Dims{width + 5, 1}, 3);
    Longs at(size_t(40000 / width + 2));
    for (size_t i = 0; i < at.size(); ++i) at[i] = int64_t(i * i % 7) - (i % 3 == 0 ? 7 : 0);
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      for (const Tensor& from : {x, cut}) {
        const std::vector<float> y = values_of<float>(read(from, {tensor_of<int64_t>(at)}));
        const std::vector<float> all = values_of<float>(from);
        for (int64_t i = 0; i < int64_t(y.size()); ++i) {
          const int64_t row = (at[size_t(i / width)] + 7) % 7;
          ASSERT_EQ(y[size_t(i)], all[size_t(row * width + i % width)]) << width;
        }
      }
    }
  }
  set_num_threads(before);
}

TEST(Index, SeveralListsBroadcastAndTakeTorchsPlace) {
  const Tensor x = counting(Dims{3, 4, 5}), rows = tensor_of<int64_t>({0, 2}, Dims{2, 1});
  const Tensor columns = tensor_of<int64_t>({1, 3, 4});
  const Tensor apart = read(x, {rows, Tensor(), columns});
  EXPECT_EQ(Dims(apart.sizes()), (Dims{2, 3, 4}));
  EXPECT_EQ(apart.data_as<float>()[1 * 12 + 2 * 4 + 3], float(2 * 20 + 3 * 5 + 4));
  const Tensor together = read(x, {Tensor(), rows, columns});
  EXPECT_EQ(Dims(together.sizes()), (Dims{3, 2, 3}));
  EXPECT_EQ(together.data_as<float>()[2 * 6 + 1 * 3 + 0], float(2 * 20 + 2 * 5 + 1));
}

TEST(Index, GatherAndScatterAreInverse) {
  const Tensor x = counting(Dims{4, 6}),
               index = tensor_of<int64_t>({3, 0, 1, 2, 2, 1, 0, 3}, Dims{2, 4});
  const Tensor out = empty(Dims{2, 4}, Dtype::f32, kCpu);
  run_gather("gather", out, x, 1, index);
  EXPECT_EQ(values_of<float>(out), (std::vector<float>{3, 0, 1, 2, 8, 7, 6, 9}));
  const Tensor back = tensor_of(std::vector<float>(24, -1), Dims{4, 6});
  run_scatter("scatter", kIndexSet, back, 1, index, out);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(back.data_as<float>()[i], float(i));
  EXPECT_EQ(back.data_as<float>()[4], -1);
  EXPECT_EQ(back.data_as<float>()[6], 6);
}

TEST(Index, AddsDuplicatesInOrderForEveryThreadCount) {
  const int before = get_num_threads();
  const Tensor source = tensor_of(randoms<float>(5000 * 64, -1, 1), Dims{5000, 64});
  Longs at(5000);
  for (size_t i = 0; i < at.size(); ++i) at[i] = int64_t(i * i % 7);
  std::vector<std::vector<float>> got;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Tensor sum = tensor_of(std::vector<float>(7 * 64, 0), Dims{7, 64});
    run_index_write("index_add", kIndexAdd, sum, {tensor_of(at)}, source);
    got.push_back(values_of<float>(sum));
  }
  std::vector<float> want(7 * 64, 0);
  for (size_t i = 0; i < at.size(); ++i) {
    for (size_t c = 0; c < 64; ++c)
      want[size_t(at[i]) * 64 + c] += source.data_as<float>()[i * 64 + c];
  }
  for (const auto& g : got) EXPECT_EQ(g, want);
  set_num_threads(before);
}

// Longer than a block of checked indices, with and without some from the end, along either
// dimension of dense and of turned tensors.
TEST(Index, GathersAndScattersLongLines) {
  constexpr int64_t kRows = 3, kColumns = 1030;
  const Tensor x = counting(Dims{kRows, kColumns});
  Longs at(kRows * kColumns);
  for (size_t i = 0; i < at.size(); ++i) at[i] = int64_t(i * 7 % kColumns);
  for (const bool from_end : {false, true}) {
    if (from_end) at[600] -= kColumns;
    const Tensor line = tensor_of(Longs(at.begin(), at.begin() + kColumns));
    const Tensor picked = read(x, {Tensor(), line});
    const Tensor turned = read(alias(x, Dims{kColumns, kRows}, Dims{1, kColumns}, 0), {line});
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        const float want = float(r * kColumns + c * 7 % kColumns);
        ASSERT_EQ(picked.data_as<float>()[r * kColumns + c], want);
        ASSERT_EQ(turned.data_as<float>()[c * kRows + r], want);
      }
    }
  }
  at[600] += kColumns;
  const Tensor index = tensor_of(at, Dims{kRows, kColumns});
  std::vector<std::vector<float>> got;
  const int before = get_num_threads();
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    const Tensor sum = tensor_of(std::vector<float>(kRows * kColumns, 1), Dims{kRows, kColumns});
    run_scatter("scatter_add", kIndexAdd, sum, 1, index, x);
    got.push_back(values_of<float>(sum));
  }
  set_num_threads(before);
  std::vector<float> want(kRows * kColumns, 1);
  for (size_t i = 0; i < at.size(); ++i) want[i / kColumns * kColumns + size_t(at[i])] += float(i);
  for (const auto& g : got) EXPECT_EQ(g, want);
  EXPECT_THROW(read(x, {Tensor(), tensor_of(Longs(600, -kColumns - 1))}), Error);
}

TEST(Index, ReducesAtPlaces) {
  const Tensor index = tensor_of<int64_t>({0, 1, 0, 1}), src = tensor_of<float>({2, 3, 5, -7});
  const auto reduced = [&](const Kernel& k) {
    const Tensor self = tensor_of<float>({1, 1});
    run_scatter("scatter_reduce", k, self, 0, index, src);
    return values_of<float>(self);
  };
  EXPECT_EQ(reduced(kIndexAdd), (std::vector<float>{8, -3}));
  EXPECT_EQ(reduced(kIndexMul), (std::vector<float>{10, -21}));
  EXPECT_EQ(reduced(kIndexMax), (std::vector<float>{5, 3}));
  EXPECT_EQ(reduced(kIndexMin), (std::vector<float>{1, -7}));
}

TEST(Index, OutOfRangeNamesEverythingAndWritesNothing) {
  const Tensor self = counting(Dims{3, 4});
  try {
    run_index_write("index_put", kIndexSet, self, {Tensor(), tensor_of<int64_t>({0, 4})},
                    tensor_of<float>({9.f}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::index);
    EXPECT_EQ(e.problem, "index_put: index 4 is out of bounds for dimension 1 with size 4");
  }
  EXPECT_EQ(values_of<float>(self)[0], 0);
  EXPECT_THROW(read(self, {tensor_of<int64_t>({-4})}), Error);
}

TEST(Index, EmptyListsAndEmptyTensors) {
  EXPECT_EQ(read(counting(Dims{3, 4}), {tensor_of<int64_t>({})}).numel(), 0);
  const Tensor scalar = counting(Dims{}), out = empty(Dims{}, Dtype::f32, kCpu);
  run_gather("gather", out, scalar, 0, alias(tensor_of<int64_t>({0}), Dims{}, Dims{}, 0));
  EXPECT_EQ(*out.data_as<float>(), 0);
}

TEST(Index, TruePositions) {
  std::vector<float> v(10001, 0.f);
  Longs want;
  for (size_t i = 0; i < v.size(); i += 1 + i % 5) v[i] = -1, want.push_back(int64_t(i));
  EXPECT_EQ(values_of<int64_t>(true_positions("nonzero", tensor_of(v))), want);
  Longs all(5000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = int64_t(i);
  EXPECT_EQ(values_of<int64_t>(true_positions("nonzero", tensor_of(Longs(5000, -3)))), all);
  EXPECT_EQ(true_positions("nonzero", tensor_of(std::vector<float>(9, 0.f))).numel(), 0);
  EXPECT_EQ(true_positions("nonzero", tensor_of(std::vector<float>{})).numel(), 0);
}

}  // namespace
}  // namespace flambeau
