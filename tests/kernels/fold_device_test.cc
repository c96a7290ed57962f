// The reductions of GPUs, executed: runs of every length at every alignment are what the host makes
// of them, in every order of threads, and dense terms are asked for once.
#include <gtest/gtest.h>

#include "emulated.h"
#include "kernels/fold/fold.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using cuda_on_cpu::traffic;

Tensor numbers(Dtype dtype, int64_t n) {
  const Tensor t = empty(Dims{n}, dtype, kCpu);
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) t.data_as<T>()[i] = T(float(i * 40503 % 5 + (i == n / 2)));
  });
  return t;
}

// Rows of n from element `skipped` on: small whole numbers, whose sums are exact in any order.
void expect_fold(Dtype dtype, int64_t skipped, int64_t n) {
  const Tensor all = numbers(dtype, skipped + 3 * n),
               x = alias(all, Dims{3, n}, Dims{n, 1}, skipped);
  const int64_t last = 1;
  const auto fold = [&](const Tensor& sum, const Tensor& at) {
    run_fold("sum", kSum, dtype, sum, x, {&last, 1});
    run_fold("argmax", kMaxIndex, dtype, {}, x, {&last, 1}, {}, {.index = at, .centre = {}});
  };
  const auto result = [](Dtype t) { return empty(Dims{3}, t, kCpu); };
  const Tensor sum = result(Dtype::f32), want = result(Dtype::f32), at = result(Dtype::i64),
               first = result(Dtype::i64);
  fold(want, first);
  FLAM_EMULATED(sums, kSum);
  FLAM_EMULATED(places, kMaxIndex);
  fold(sum, at);
  EXPECT_EQ(values_of<float>(sum), values_of<float>(want)) << name_of(dtype) << " " << n;
  EXPECT_EQ(values_of<int64_t>(at), values_of<int64_t>(first)) << name_of(dtype) << " " << n;
}

TEST(FoldDevice, RunsOfEveryLengthAtEveryAlignment) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i64, Dtype::i32,
                            Dtype::u8, Dtype::boolean}) {
    for (const int64_t n : {17, 31, 33, 100, 515}) {
      for (const int64_t skipped : {0, 1, 5}) expect_fold(dtype, skipped, n);
    }
  }
  expect_fold(Dtype::f32, 3, 70001);
}

TEST(FoldDevice, EveryOrderOfThreadsGivesTheSameBits) {
  const Tensor x = tensor_of(randoms<float>(100003, -1, 1)), y = empty(Dims{}, Dtype::f32, kCpu);
  FLAM_EMULATED(emulated, kSum);
  std::vector<float> got;
  for (const uint64_t seed : {1, 2, 3}) {
    cuda_on_cpu::set_seed(seed);
    const int64_t first = 0;
    run_fold("sum", kSum, Dtype::f32, y, x, {&first, 1});
    got.push_back(*y.data_as<float>());
  }
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
}

TEST(FoldDevice, DenseTermsAreAskedForOnce) {
  FLAM_EMULATED(emulated, kSum);
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const Tensor x = numbers(dtype, 16 * 4096), rows = alias(x, Dims{16, 4096}, Dims{4096, 1}, 0),
                 y = empty(Dims{16}, dtype, kCpu);
    const int64_t last = 1;
    traffic = {};
    cuda_on_cpu::counting_traffic = true;
    run_fold("sum", kSum, dtype, y, rows, {&last, 1});
    cuda_on_cpu::counting_traffic = false;
    EXPECT_EQ(traffic.read, uint64_t(x.nbytes()));
    EXPECT_EQ(traffic.asked, uint64_t(x.nbytes()));
  }
}

}  // namespace
}  // namespace flambeau
