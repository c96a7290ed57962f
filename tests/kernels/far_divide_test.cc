// Division of 64-bit numbers by multiplication against the processor's, at and beside multiples of
// the divisor, where a factor that is too small or too large shows first.
#define FLAM_TARGET far_divide_test
#include "kernels/far_divide.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace flambeau {
namespace {

void check(int64_t n, const FarDivide& by) {
  const auto d = int64_t(by.divisor);
  int64_t rest = n;
  ASSERT_EQ(far_divide_test::divide(rest, by), n / d) << n << " by " << d;
  ASSERT_EQ(rest, n % d) << n << " by " << d;
}

TEST(FarDivide, AsTheProcessorDoes) {
  constexpr int64_t kLast = INT64_MAX;
  std::vector<int64_t> divisors{1, 2, 3, 5, 7, 9, 28, 56, 224, 641, 1000003, kLast - 1, kLast};
  for (int bit = 2; bit < 63; ++bit) {
    const int64_t power = int64_t{1} << bit;
    divisors.insert(divisors.end(), {power - 1, power, power + 1});
  }
  for (int64_t d : divisors) {
    const FarDivide by(d);
    int64_t multiple = 0;
    for (int i = 0; i < 200 && multiple <= kLast - d; ++i, multiple += d) {
      check(multiple, by);
      check(multiple + d - 1, by);
    }
    const int64_t last = kLast / d * d;
    for (int64_t n : {last, last - 1, kLast, kLast - 1}) check(n, by);
  }
}

}  // namespace
}  // namespace flambeau
