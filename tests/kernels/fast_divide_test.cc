// Division by multiplication against the processor's, at and beside multiples of the divisor, where
// a factor that is too small or too large shows first.
#define FLAM_TARGET fast_divide_test
#include "kernels/fast_divide.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace flambeau {
namespace {

void check(uint32_t n, const FastDivide& by) {
  uint32_t rest = n;
  ASSERT_EQ(fast_divide_test::divide(rest, by), n / by.divisor) << n << " by " << by.divisor;
  ASSERT_EQ(rest, n % by.divisor) << n << " by " << by.divisor;
}

TEST(FastDivide, AsTheProcessorDoes) {
  constexpr uint32_t kLast = 0x7fffffff;
  std::vector<uint32_t> divisors{1, 2, 3, 5, 7, 9, 28, 56, 224, 641, 1000003, kLast - 1, kLast};
  for (int bit = 2; bit < 31; ++bit) {
    const uint32_t power = uint32_t{1} << bit;
    divisors.insert(divisors.end(), {power - 1, power, power + 1});
  }
  for (uint32_t d : divisors) {
    const FastDivide by(d);
    uint32_t multiple = 0;
    for (int i = 0; i < 200 && multiple <= kLast - d; ++i, multiple += d) {
      check(multiple, by);
      check(multiple + d - 1, by);
    }
    const uint32_t last = kLast / d * d;
    for (uint32_t n : {last, last - 1, kLast, kLast - 1}) check(n, by);
  }
}

}  // namespace
}  // namespace flambeau
