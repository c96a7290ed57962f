// The first few of a line against a stable sort of it: equals, NaN, and counts at the edges of what
// is kept in order and of the pieces that candidates are looked for in.
#include "kernels/sort/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensors.h"

namespace flambeau {
namespace {

template <class T> void first_of(std::vector<T> v, int64_t count, bool descending) {
  const int64_t n = int64_t(v.size());
  std::vector<int64_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  // NaN is the greatest.
  const auto less = [](T a, T b) { return a < b || (a == a && b != b); };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const T x = v[size_t(a)], y = v[size_t(b)];
    return descending ? less(y, x) : less(x, y);
  });
  const Tensor x = tensor_of(v, Dims{1, n});
  const Tensor values = empty(Dims{1, count}, x.dtype(), kCpu),
               at = empty(Dims{1, count}, Dtype::i64, kCpu);
  run_sort("topk", values, at, x, 1, {.count = count, .descending = descending});
  for (int64_t i = 0; i < count; ++i) {
    const size_t want = size_t(order[size_t(i)]);
    ASSERT_EQ(at.data_as<int64_t>()[i], int64_t(want)) << count << " of " << n << " at " << i;
    ASSERT_EQ(std::memcmp(values.data_as<T>() + i, &v[want], sizeof(T)), 0);
  }
}

TEST(Sort, FirstFewOfALine) {
  for (const int64_t n : {65, 100, 513, 1024, 5000}) {
    std::vector<float> v = randoms<float>(size_t(n), -2, 2);
    std::vector<int64_t> whole(size_t(n), 0);
    std::vector<double> rising(size_t(n), 0);
    for (size_t i = 0; i < v.size(); ++i) {
      whole[i] = int64_t(v[i] * 20);
      rising[i] = double(i);
      if (i % 97 == 13) v[i] = NAN;
      if (i % 5 == 0) v[i] = v[i / 2];
    }
    for (const int64_t count :
         {int64_t(1), int64_t(4), int64_t(31), int64_t(32), int64_t(33), n / 16, n}) {
      for (const bool descending : {false, true}) {
        first_of(v, count, descending);
        first_of(whole, count, descending);
        first_of(rising, count, descending);
      }
    }
  }
}

}  // namespace
}  // namespace flambeau
