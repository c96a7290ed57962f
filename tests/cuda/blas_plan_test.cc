// How strided products are handed to cuBLASLt, which thinks in columns: a plain loop plays its part
// here, so that the mapping is proved on a machine without a GPU.
#include "device/cuda/blas_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace flambeau::cuda {
namespace {

double at(const void* data, const ColumnMatrix& m, int64_t b, int64_t row, int64_t col) {
  if (m.transposed) std::swap(row, col);
  EXPECT_LT(row, m.rows);
  EXPECT_LT(col, m.cols);
  return static_cast<const double*>(data)[b * m.batch + row + col * m.ld];
}

void run(const BlasPlan& p, const hal::Matmul& problem) {
  for (int64_t b = 0; b < problem.batches; ++b)
    for (int64_t i = 0; i < p.out.rows; ++i)
      for (int64_t j = 0; j < p.out.cols; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < problem.k; ++k)
          sum += at(p.first_data, p.first, b, i, k) * at(p.second_data, p.second, b, k, j);
        sum *= problem.alpha;
        if (p.has_c) sum += problem.beta * at(p.c_data, p.c, b, i, j);
        if (p.bias) sum += static_cast<const double*>(p.bias)[i];
        static_cast<double*>(p.out_data)[b * p.out.batch + i + j * p.out.ld] = sum;
      }
  const bool first = p.swapped;
  for (int64_t i = 0; problem.row_sums && i < (first ? p.out.rows : p.out.cols); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < problem.k; ++k)
      sum += first ? at(p.first_data, p.first, 0, i, k) : at(p.second_data, p.second, 0, k, i);
    static_cast<double*>(problem.row_sums)[i] = sum;
  }
}

struct Matrix {
  std::vector<double> values;
  hal::Matmul::Operand operand;
};

Matrix matrix(int64_t batches, int64_t rows, int64_t cols, bool flipped, double seed) {
  Matrix m;
  for (int64_t i = 0; i < batches * (rows * cols + 7); ++i)
    m.values.push_back(seed + double(i * 37 % 11));
  m.operand = {m.values.data(), flipped ? 1 : cols, flipped ? rows : 1, rows * cols + 7};
  return m;
}

double value(const Matrix& m, int64_t b, int64_t r, int64_t c) {
  return m.values[size_t(b * m.operand.batch + r * m.operand.row + c * m.operand.col)];
}

enum class Addend { none, bias, matrix };

void check_case(int64_t m, int64_t n, int64_t k, int flips, Addend addend) {
  const int64_t batches = 2;
  Matrix a = matrix(batches, m, k, flips & 1, 1), b = matrix(batches, k, n, flips & 2, 2);
  Matrix out = matrix(batches, m, n, flips & 4, 0), c = matrix(batches, m, n, flips & 4, 3);
  hal::Matmul p{Dtype::f64, m, n, k, batches, out.operand, a.operand, b.operand, {}, 2, 1, false};
  if (addend == Addend::matrix) p.c = c.operand, p.beta = 3;
  if (addend == Addend::bias) p.c = {c.values.data(), 0, 1, 0};
  const auto plan = plan_of(p);
  if (!plan) {  // a bias along the columns of a column-major out is the one form that is not taken
    EXPECT_TRUE(addend == Addend::bias && (flips & 4)) << m << ' ' << n << ' ' << k << ' ' << flips;
    return;
  }
  run(*plan, p);
  for (int64_t s = 0; s < batches; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double expected = 0;
        for (int64_t l = 0; l < k; ++l) expected += 2 * value(a, s, i, l) * value(b, s, l, j);
        if (addend == Addend::matrix) expected += 3 * value(c, s, i, j);
        if (addend == Addend::bias) expected += c.values[size_t(j)];
        ASSERT_EQ(value(out, s, i, j), expected)
            << m << ' ' << n << ' ' << k << ' ' << flips << ' ' << int(addend);
      }
}

TEST(BlasPlan, EveryLayoutGivesTheProduct) {
  for (int64_t m : {1, 3})
    for (int64_t n : {1, 4})
      for (int64_t k : {1, 5})
        for (int flips = 0; flips < 8; ++flips)
          for (Addend addend : {Addend::none, Addend::bias, Addend::matrix})
            check_case(m, n, k, flips, addend);
}

TEST(BlasPlan, SumsTheRowsOfTheLeftOperandWhereverItGoes) {
  constexpr int64_t m = 3, n = 4, k = 5;
  for (int flips = 0; flips < 8; ++flips) {
    const Matrix a = matrix(1, m, k, flips & 1, 1), b = matrix(1, k, n, flips & 2, 2),
                 out = matrix(1, m, n, flips & 4, 0);
    double sums[m] = {};
    hal::Matmul p{Dtype::f64, m, n, k, 1, out.operand, a.operand, b.operand, {}, 1, 0};
    p.row_sums = sums;
    const auto plan = plan_of(p);
    ASSERT_TRUE(plan);
    run(*plan, p);
    for (int64_t i = 0; i < m; ++i) {
      double expected = 0;
      for (int64_t l = 0; l < k; ++l) expected += value(a, 0, i, l);
      EXPECT_EQ(sums[i], expected) << flips << ' ' << i;
    }
  }
}

TEST(BlasPlan, TakesTheSlopeOfAGeluThatLiesAsTheResult) {
  alignas(16) double x[64] = {};
  hal::SlopedMatmul p{
      hal::Matmul{Dtype::f64, 2, 8, 2, 1, {x, 8, 1, 0}, {x, 2, 1, 0}, {x, 8, 1, 0}, {}, 1, 1}};
  const auto takes = [&](hal::Matmul::Operand given) {
    p.gelu_input = given;
    return plan_of(p).has_value();
  };
  EXPECT_TRUE(takes({}));
  EXPECT_TRUE(takes({x, 8, 1, 0}));
  EXPECT_TRUE(takes({x, 16, 1, 0}));
  EXPECT_FALSE(takes({x, 1, 8, 0}));
  EXPECT_FALSE(takes({x, 12, 1, 0}));
  EXPECT_FALSE(takes({x + 1, 8, 1, 0}));
  p.relu = true;
  EXPECT_FALSE(takes({x, 8, 1, 0}));
  p.relu = false;
  p.out = {x, 1, 8, 0};
  EXPECT_FALSE(takes({x, 8, 1, 0}));
}

TEST(BlasPlan, RefusesWhatNeedsCopies) {
  double x[64] = {};
  hal::Matmul p{Dtype::f64, 2, 2, 2, 1, {x, 2, 1, 0}, {x, 2, 1, 0}, {x, 2, 1, 0}, {}, 1, 1, false};
  EXPECT_TRUE(plan_of(p).has_value());
  p.a = {x, 4, 2, 0};  // no unit stride
  EXPECT_FALSE(plan_of(p).has_value());
  p.a = {x, 0, 1, 0};  // one row repeated
  EXPECT_FALSE(plan_of(p).has_value());
  p.a = {x, 2, 1, 0};
  p.dtype = Dtype::i32;
  EXPECT_FALSE(plan_of(p).has_value());
}

}  // namespace
}  // namespace flambeau::cuda
