// Running joins on a device: whole numbers to the bit, floats as close as their type, for lines
// that a warp, a block, a thread or many blocks in turn join; infinities and NaN where the host has
// them.
// A long line is read twice and written once, whichever order threads run in.
#include <cmath>
#include <set>

#include "kernels/scan/scan.h"
#include "simulated.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using ScanOnDevice = Simulated;

template <class T>
Tensor scanned(const Kernel& kernel, const Tensor& x, int64_t dim, bool backwards, Device device) {
  const Tensor y = empty(x.sizes(), x.dtype(), device);
  run_scan("scan", kernel, y, device.is_cpu() ? x : there(x), dim, backwards);
  return device.is_cpu() ? y : back(y);
}

template <class T> void scans_alike(const Kernel& kernel, const Tensor& x, double tolerance) {
  for (int64_t dim = 0; dim < x.dim(); ++dim) {
    for (const bool backwards : {false, true}) {
      const auto want = values_of<T>(scanned<T>(kernel, x, dim, backwards, kCpu)),
                 got = values_of<T>(scanned<T>(kernel, x, dim, backwards, kSim));
      for (size_t i = 0; i < want.size(); ++i) {
        const double w = double(want[i]), g = double(got[i]);
        if (std::isfinite(w)) {
          ASSERT_NEAR(g, w, tolerance * (1 + std::abs(w))) << i << " along " << dim;
        } else {
          ASSERT_TRUE(g == w || (g != g && w != w)) << g << " for " << w << " at " << i;
        }
      }
    }
  }
}

// A short line, some tiles, many pieces, and lines side by side, few and many.
const Dims kShapes[] = {{3, 700}, {2, 5000}, {1, 40001}, {3000, 3}, {90, 40}};

TEST_F(ScanOnDevice, SumsAreTheHosts) {
  for (const Dims& sizes : kShapes) {
    const size_t n = size_t(numel_of(sizes));
    scans_alike<int64_t>(kCumsum, tensor_of(randoms<int64_t>(n, -90, 90), sizes), 0);
    scans_alike<int8_t>(kCumsum, tensor_of(randoms<int8_t>(n, -90, 90), sizes), 0);
    scans_alike<float>(kCumsum, tensor_of(randoms<float>(n, -1, 1), sizes), 1e-6);
    scans_alike<double>(kCumsum, tensor_of(randoms<double>(n, -1, 1), sizes), 1e-12);
    scans_alike<BFloat16>(kCumsum, tensor_of(randoms<BFloat16>(n, -1, 1), sizes), 1e-2);
  }
}

TEST_F(ScanOnDevice, ProductsAreTheHosts) {
  for (const Dims& sizes : kShapes) {
    const size_t n = size_t(numel_of(sizes));
    scans_alike<float>(kCumprod, tensor_of(randoms<float>(n, 0.98, 1.02), sizes), 1e-5);
    scans_alike<int32_t>(kCumprod, tensor_of(randoms<int32_t>(n, -9, 9), sizes), 0);
  }
}

// A part of a line overflows where the line does not, in a piece and between two.
TEST_F(ScanOnDevice, PartsMayLeaveTheRange) {
  std::vector<double> v(12000, 1.0);
  v[4090] = -1.5e308, v[4100] = v[5000] = 1e308;
  scans_alike<double>(kCumsum, tensor_of(v, Dims{1, 12000}), 1e-12);
  v.assign(12000, 1.0);
  v[3] = 1e-300, v[4000] = 1e200, v[4001] = 1e200, v[8000] = 0;
  scans_alike<double>(kCumprod, tensor_of(v, Dims{1, 12000}), 1e-12);
  v[11000] = INFINITY;
  scans_alike<double>(kCumsum, tensor_of(v, Dims{1, 12000}), 1e-12);
  scans_alike<double>(kCumprod, tensor_of(v, Dims{12000, 1}), 1e-12);
}

// What runs in a piece leaves the range, and the piece's total does not.
TEST_F(ScanOnDevice, WhatRunsMayLeaveTheRangeAlone) {
  for (const Dims& dims : {Dims{1, 40000}, Dims{40000, 1}, Dims{20000, 2}}) {
    std::vector<double> v(40000, 0.0);
    v[0] = v[1] = 1.7e308, v[15100] = v[15101] = 1e308, v[15102] = v[15103] = -1e308;
    scans_alike<double>(kCumsum, tensor_of(v, dims), 1e-12);
    v.assign(40000, 1.0);
    v[0] = v[1] = 1e200, v[15100] = v[15101] = 1e200, v[15102] = v[15103] = 1e-200;
    scans_alike<double>(kCumprod, tensor_of(v, dims), 1e-12);
    v[20] = v[21] = 0;
    scans_alike<double>(kCumprod, tensor_of(v, dims), 1e-12);
  }
}

TEST_F(ScanOnDevice, OneLongLineIsTheSameInAnyOrder) {
  const int64_t n = 1 << 16;
  const Tensor x = there(tensor_of(randoms<double>(size_t(n), -1, 1))),
               y = empty(Dims{n}, Dtype::f64, kSim);
  std::set<std::vector<double>> found;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    cuda_on_cpu::set_seed(seed);
    run_scan("cumsum", kCumsum, y, x, 0, false);
    found.insert(values_of<double>(back(y)));
  }
  cuda_on_cpu::set_seed(1);
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(ScanOnDevice, MovesALongLineTwiceAndOnce) {
  const int64_t n = 1 << 16;
  const Tensor x = there(tensor_of(randoms<float>(size_t(n), -1, 1))),
               y = empty(Dims{n}, Dtype::f32, kSim);
  synchronize(kSim);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_scan("cumsum", kCumsum, y, x, 0, false);
  synchronize(kSim);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 2u);
  EXPECT_LE(double(cuda_on_cpu::traffic.moved()), 1.05 * double(n) * 12);
  EXPECT_LE(double(cuda_on_cpu::traffic.asked), 1.05 * double(n) * 12);
}

}  // namespace
}  // namespace flambeau
