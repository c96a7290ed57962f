// Whether a tensor's elements fill one stretch of memory, against where each of them lies.
#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/order.h"

namespace flambeau {
namespace {

bool fills(DimsView sizes, DimsView strides) {
  std::vector<int64_t> places{0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> more;
    for (int64_t i = 0; i < sizes[d]; ++i) {
      for (int64_t p : places) more.push_back(p + i * strides[d]);
    }
    places = more;
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != int64_t(i)) return false;
  }
  return true;
}

bool dense(DimsView sizes, DimsView strides) {
  const Tensor memory = empty(Dims{64}, Dtype::f32, kCpu);
  return is_dense(alias(memory, sizes, strides, 0));
}

TEST(Dense, IsWhatFillsItsMemoryOnce) {
  int yes = 0, no = 0;
  const int64_t sizes[] = {0, 1, 2, 3}, strides[] = {0, 1, 2, 3, 4, 6, 7};
  for (int64_t a : sizes) {
    for (int64_t b : sizes) {
      for (int64_t c : sizes) {
        for (int64_t s : strides) {
          for (int64_t t : strides) {
            for (int64_t u : strides) {
              const Dims shape{a, b, c}, steps{s, t, u};
              const bool wanted = fills(shape, steps);
              ASSERT_EQ(dense(shape, steps), wanted)
                  << to_string(shape) << " by " << to_string(steps);
              ++(wanted ? yes : no);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no, 1000);
}

TEST(Dense, OverlapsAsLargeAsTheirElementsAreNot) {
  EXPECT_FALSE(dense(Dims{2, 2}, Dims{0, 3}));
  EXPECT_FALSE(dense(Dims{2, 3}, Dims{1, 1}));
  EXPECT_TRUE(dense(Dims{}, Dims{}));
}

}  // namespace
}  // namespace flambeau
