// Copies in one launch are what copies one after the other make: planes turned either way, wide and
// narrow, weights, parts of something longer, of every width of element and in every order.
#include "kernels/map/copy_list.h"

#include <gtest/gtest.h>

#include "emulated.h"
#include "kernels/map/map.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

template <class T> Tensor numbers(const Dims& sizes, int64_t first) {
  const Tensor t = empty(sizes, dtype_of<T>, kCpu);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<T>()[i] = T(float((first + i) % 1009));
  return t;
}

// [n, c, p] of planes into pixels whose channels are `filled` apart.
template <class T> Joined pixels(int64_t n, int64_t c, int64_t p, int64_t filled) {
  const Dims sizes{n, c, p};
  return {
      alias(empty(Dims{n * p * filled}, dtype_of<T>, kCpu), sizes, Dims{p * filled, 1, filled}, 0),
      numbers<T>(sizes, n + c)};
}

// Back into planes.
template <class T> Joined planes(int64_t n, int64_t c, int64_t p) {
  const Dims sizes{n, c, p};
  return {empty(sizes, dtype_of<T>, kCpu),
          alias(numbers<T>(Dims{n * p * c}, 3), sizes, Dims{p * c, 1, c}, 0)};
}

template <class T> void check_copies(const std::vector<Joined>& copies, uint64_t launches) {
  for (const uint64_t seed : {1, 2}) {
    cuda_on_cpu::set_seed(seed);
    for (const Joined& c : copies) run_cast(c.to, numbers<T>(Dims(c.to.sizes()), 500));
    cuda_on_cpu::traffic = {};
    cuda_on_cpu::counting_traffic = true;
    run_copy_list("to", copies);
    cuda_on_cpu::counting_traffic = false;
    EXPECT_EQ(cuda_on_cpu::traffic.launches, launches);
    for (const Joined& c : copies) {
      std::vector<float> got, wanted;
      for (const T v : values_of<T>(c.to)) got.push_back(float(v));
      for (const T v : values_of<T>(c.from)) wanted.push_back(float(v));
      ASSERT_EQ(got, wanted) << ShapeText{c.to.sizes()};
    }
  }
}

template <class T> void check_width() {
  check_copies<T>({pixels<T>(2, 3, 200, 8), pixels<T>(3, 40, 49, 40)}, 1);
  check_copies<T>({pixels<T>(5, 70, 9, 72), planes<T>(2, 33, 130), pixels<T>(2, 64, 256, 64)}, 1);
  check_copies<T>(
      {planes<T>(1, 128, 128), planes<T>(2, 5, 7), pixels<T>(1, 1, 5, 8), pixels<T>(4, 16, 16, 16)},
      1);
}

TEST(CopyList, OneLaunchMakesAllCopies) {
  FLAM_EMULATED(copies, kCopyList);
  check_width<float>();
  check_width<double>();
  check_width<Half>();
  check_width<BFloat16>();
}

TEST(CopyList, EachIsMovedOnce) {
  FLAM_EMULATED(copies, kCopyList);
  const std::vector<Joined> list{pixels<Half>(2, 64, 256, 64), planes<Half>(2, 128, 64)};
  uint64_t bytes = 0;
  for (const Joined& c : list) bytes += 2 * uint64_t(c.to.nbytes());
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_copy_list("to", list);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_GE(cuda_on_cpu::traffic.moved(), bytes);
  EXPECT_LE(double(cuda_on_cpu::traffic.moved()), 1.05 * double(bytes));
}

// What one launch does not hold goes by several.
TEST(CopyList, MoreThanALaunchHoldsGoOneByOne) {
  FLAM_EMULATED(copies, kCopyList);
  std::vector<Joined> many;
  for (int64_t i = 0; i <= kCopyParts; ++i) many.push_back(pixels<float>(1, 4 + i, 20, 16));
  check_copies<float>(many, 0);  // on the host, whose copies are no launches
}

}  // namespace
}  // namespace flambeau
