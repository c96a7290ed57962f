// Speed of matrix products on one thread (or argv[1]): a line "gemm LAYOUT M N K MICROSECONDS
// GFLOPS" for each size. gemm_bench.py runs it beside NumPy and PyTorch. N/T: operand as stored /
// transposed in memory.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "tests/bench/kernels/best_time.h"

using namespace flambeau;

static Tensor matrix(int64_t rows, int64_t cols, bool transposed) {
  const Dims sizes{rows, cols}, strides = transposed ? Dims{1, rows} : Dims{cols, 1};
  Tensor t = empty_strided(sizes, strides, Dtype::f32, kCpu);
  for (int64_t i = 0; i < rows * cols; ++i) t.data_as<float>()[i] = float(i % 17) - 8;
  return t;
}

static void row(const char* layout, int64_t m, int64_t n, int64_t k) {
  const Tensor a = matrix(m, k, layout[0] == 'T'), b = matrix(k, n, layout[1] == 'T');
  const Tensor out = matrix(m, n, false);
  const double t = best_time([&] { run_gemm("bench", out, a, b); }, 0.1);
  std::printf("gemm %s %ld %ld %ld %.3f %.1f\n", layout, long(m), long(n), long(k), t * 1e6,
              2e-9 * double(m) * double(n) * double(k) / t);
}

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const int64_t sizes[][3] = {
      {1, 1, 1},          {64, 64, 16},      {64, 16, 64},    {64, 1, 64},     {64, 64, 1},
      {1, 64, 64},        {64, 10, 64},      {32, 32, 32},    {64, 64, 64},    {64, 256, 256},
      {256, 64, 64},      {128, 128, 128},   {256, 256, 256}, {512, 512, 512}, {768, 768, 768},
      {1024, 1024, 1024}, {1, 1024, 1024},   {1024, 1, 1024}, {8, 1024, 1024}, {256, 1024, 1024},
      {512, 3072, 768},   {1000, 1000, 1000}};
  for (const auto& s : sizes) {
    for (const char* layout : {"NN", "NT", "TN"}) row(layout, s[0], s[1], s[2]);
  }
}
