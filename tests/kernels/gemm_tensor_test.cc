// The product on tensor cores, emulated: every layout of the operands, aligned or gathered, edges
// of tiles of both sizes, against sums in float64; and no conflict of banks in its shared memory.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/precision.h"
#include "tests/harness/cuda_on_cpu/banks.h"
#include "tests/kernels/emulated.h"

namespace flambeau {
namespace {

// Of [batches, rows, columns], the last two swapped in memory where `turned`; every `step`-th
// element is used.
Tensor operand(int64_t batches, int64_t rows, int64_t columns, bool turned, int64_t step,
               Dtype dtype, unsigned seed) {
  const Dims strides{rows * columns * step, turned ? step : columns * step,
                     turned ? rows * step : step};
  const Tensor t = empty_strided(Dims{batches, rows, columns}, strides, dtype, kCpu);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = static_cast<T*>(t.storage()->data());
    for (size_t i = 0; i < t.storage()->bytes() / sizeof(T); ++i) p[i] = T(normal(random));
  });
  return t;
}

double at(const Tensor& t, int64_t batch, int64_t row, int64_t column) {
  const int64_t i = batch * t.stride(0) + row * t.stride(1) + column * t.stride(2);
  return with_dtype(t.dtype(),
                    [&](auto tag) { return double(t.data_as<typename decltype(tag)::type>()[i]); });
}

struct Case {
  int64_t batches, m, n, k;
  bool a_turned, b_turned;
  int64_t step;
};

// What one product may be off by, relative, and the rounding of the result.
struct Units {
  double product, result, tiny;
};
Units units_of(Dtype dtype) {
  if (dtype == Dtype::f64) return {0x1p-50, 0, 0};
  if (dtype == Dtype::f32) return {0x1p-10, 0, 0};  // two operands rounded to 11 bits
  return {0x1p-22, dtype == Dtype::f16 ? 0x1p-11 : 0x1p-8, 0x1p-25};
}

void check(const Case& c, Dtype dtype) {
  const Tensor a = operand(c.batches, c.m, c.k, c.a_turned, c.step, dtype, 1),
               b = operand(c.batches, c.k, c.n, c.b_turned, c.step, dtype, 2),
               out = operand(c.batches, c.m, c.n, false, 1, dtype, 3);
  run_gemm("test", out, a, b);
  const Units u = units_of(dtype);
  for (int64_t batch = 0; batch < c.batches; batch += 37) {
    for (int64_t r = 0; r < c.m; ++r) {
      for (int64_t q = 0; q < c.n; ++q) {
        double sum = 0, magnitude = 0;
        for (int64_t p = 0; p < c.k; ++p) {
          const double x = at(a, batch, r, p) * at(b, batch, p, q);
          sum += x;
          magnitude += std::abs(x);
        }
        ASSERT_LE(std::abs(at(out, batch, r, q) - sum),
                  u.product * magnitude + u.result * std::abs(sum) + u.tiny)
            << name_of(dtype) << " " << batch << ", " << r << ", " << q << " of " << c.m << " x "
            << c.n << " x " << c.k << ", turned " << c.a_turned << c.b_turned << ", step "
            << c.step;
      }
    }
  }
}

// f32 by tf32 while it lives; conflicts of banks counted.
struct Setting {
  const MatmulPrecision before = matmul_precision;
  Setting() {
    matmul_precision = MatmulPrecision::high;
    cuda_on_cpu::bank_counts = {};
    cuda_on_cpu::counting_banks = true;
  }
  ~Setting() {
    cuda_on_cpu::counting_banks = false;
    matmul_precision = before;
  }
};

constexpr Dtype kTypes[] = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};

// Sizes of whole tiles, with edges inside of chunks, and of less than one step; operands whose
// chunks are aligned, are not, and are no chunks at all.
TEST(TensorGemm, EveryLayout) {
  FLAM_EMULATED(emulated, kGemm);
  const Setting setting;
  for (Dtype dtype : kTypes) {
    for (int layout = 0; layout < 4; ++layout) {
      const bool a = layout & 1, b = layout & 2;
      check({1, 64, 64, 64, a, b, 1}, dtype);
      check({2, 72, 80, 104, a, b, 1}, dtype);
      check({1, 67, 33, 35, a, b, 1}, dtype);
      check({1, 9, 70, 5, a, b, 2}, dtype);
    }
  }
  EXPECT_GT(cuda_on_cpu::bank_counts.phases, 0u);
  EXPECT_EQ(cuda_on_cpu::bank_counts.conflicts, 0u);
}

TEST(TensorGemm, LargeTiles) {
  FLAM_EMULATED(emulated, kGemm);
  const Setting setting;
  check({96, 120, 104, 40, false, true, 1}, Dtype::f16);
  check({96, 128, 104, 40, true, false, 1}, Dtype::f32);
  EXPECT_GT(cuda_on_cpu::bank_counts.phases, 0u);
  EXPECT_EQ(cuda_on_cpu::bank_counts.conflicts, 0u);
  cuda_on_cpu::counting_banks = false;
  check({48, 120, 136, 33, true, false, 1}, Dtype::bf16);
}

// Precision "highest" keeps all bits of f32, "high" may not.
TEST(TensorGemm, F32IsRoundedOnlyWhereItMayBe) {
  FLAM_EMULATED(emulated, kGemm);
  const Tensor a = operand(1, 1, 1, false, 1, Dtype::f32, 1),
               out = operand(1, 1, 1, false, 1, Dtype::f32, 2),
               one = operand(1, 1, 1, false, 1, Dtype::f32, 3);
  *a.data_as<float>() = 1 + 0x1p-20f;
  *one.data_as<float>() = 1;
  run_gemm("test", out, a, one);
  EXPECT_EQ(*out.data_as<float>(), 1 + 0x1p-20f);
  const Setting setting;
  run_gemm("test", out, a, one);
  EXPECT_EQ(*out.data_as<float>(), 1);
}

}  // namespace
}  // namespace flambeau
