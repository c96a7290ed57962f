// Which GPUs run the code of which build.
#include "device/cuda/architectures.h"

#include <gtest/gtest.h>

namespace flambeau::cuda {
namespace {

TEST(Architectures, MachineCodeAndPtx) {
  EXPECT_TRUE(has_code("90-real", 9, 0));
  EXPECT_FALSE(has_code("90-real", 10, 0));  // another major version
  EXPECT_FALSE(has_code("90-real", 8, 9));
  EXPECT_TRUE(has_code("80-real", 8, 9));  // a newer minor one
  EXPECT_FALSE(has_code("89-real", 8, 6));
  EXPECT_TRUE(has_code("75-virtual", 12, 0));
  EXPECT_FALSE(has_code("75-virtual", 7, 0));
  EXPECT_TRUE(has_code("75", 7, 5) && has_code("75", 10, 0));
  EXPECT_TRUE(has_code("90a", 9, 0) && has_code("90a-real", 9, 0));
  EXPECT_FALSE(has_code("90a", 10, 0));
  EXPECT_TRUE(has_code("75-virtual,90-real", 8, 6));
  EXPECT_TRUE(has_code("80-real,90-real", 9, 0));
  EXPECT_FALSE(has_code("80-real,90-real", 7, 5));
  EXPECT_FALSE(has_code("", 9, 0));
  EXPECT_FALSE(has_code("some", 9, 0));
  EXPECT_TRUE(has_code("native", 9, 0) && has_code("all-major", 12, 0));
}

}  // namespace
}  // namespace flambeau::cuda
