// Matrix products against sums in float64: every transpose, odd sizes, broadcast batches, empty
// operands, half types, epilogues, and the same bits for every number of threads.
#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "tests/kernels/emulated.h"

namespace flambeau {
namespace {

double get(const Tensor& t, int64_t offset) {
  return with_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return static_cast<double>(t.data_as<T>()[offset]);
  });
}

void fill(const Tensor& t, std::mt19937& random) {
  const size_t n = t.storage()->bytes() / t.element_size();
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> small(0, 9);
  with_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = static_cast<T*>(t.storage()->data());
    for (size_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral_v<T>) {
        p[i] = T(small(random));
      } else {
        p[i] = T(normal(random));
      }
    }
  });
}

Tensor dense(Dims sizes, Dtype dtype) { return empty(sizes, dtype, kCpu); }

// Last two dimensions swapped in memory where `transposed`; `gap` elements lie between rows.
Tensor matrix(Dims sizes, bool transposed, Dtype dtype, std::mt19937& random, int64_t gap = 0) {
  const size_t nd = sizes.size();
  Dims strides(nd);
  const size_t inner = transposed ? nd - 2 : nd - 1, outer = transposed ? nd - 1 : nd - 2;
  strides[inner] = 1;
  strides[outer] = std::max<int64_t>(sizes[inner], 1) + gap;
  int64_t step = strides[outer] * std::max<int64_t>(sizes[outer], 1);
  for (size_t d = nd - 2; d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  Tensor t = empty_strided(sizes, strides, dtype, kCpu);
  fill(t, random);
  return t;
}

double unit_of(Dtype d) {
  switch (d) {
    case Dtype::f64:
      return 0x1p-53;
    case Dtype::f16:
      return 0x1p-11;
    case Dtype::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

int64_t offset_in(const Tensor& t, DimsView out, int64_t batch, int64_t r, int64_t q) {
  const Dims all = [&] {
    Dims shape(out);
    shape[shape.size() - 2] = shape.back() = 1;
    return shape;
  }();
  int64_t offset = 0;
  for (size_t d = out.size() - 2; d-- > 0;) {
    const int64_t index = batch % all[d];
    batch /= all[d];
    const size_t shift = out.size() - t.sizes().size();
    if (d >= shift && t.sizes()[d - shift] != 1) offset += index * t.strides()[d - shift];
  }
  const size_t nd = t.sizes().size();
  if (nd >= 2 && t.sizes()[nd - 2] != 1) offset += r * t.strides()[nd - 2];
  if (nd >= 1 && t.sizes()[nd - 1] != 1) offset += q * t.strides()[nd - 1];
  return offset;
}

// out against alpha a b + beta c0, where c0 holds what options.c held before the call.
void expect_product(const Tensor& out, const Tensor& a, const Tensor& b, const GemmOptions& o,
                    const Tensor& c0 = {}) {
  const DimsView sizes = out.sizes();
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  const double u = is_half(out.dtype()) ? 0x1p-24 : unit_of(out.dtype());
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t batch = i / (m * n), r = i / n % m, q = i % n;
    double sum = 0, magnitude = 0;
    for (int64_t p = 0; p < k; ++p) {
      const double x =
          get(a, offset_in(a, sizes, batch, r, p)) * get(b, offset_in(b, sizes, batch, p, q));
      sum += x;
      magnitude += std::abs(x);
    }
    double expected = o.alpha * sum,
           bound = 4 * std::sqrt(double(k)) * u * magnitude * std::abs(o.alpha);
    if (c0.defined() && o.beta != 0) {
      const double x = o.beta * get(c0, offset_in(c0, sizes, batch, r, q));
      expected += x;
      bound += 4 * u * (std::abs(x) + std::abs(expected));
    }
    if (o.activation == Activation::relu) expected = std::max(expected, 0.0);
    if (is_half(out.dtype())) bound += unit_of(out.dtype()) * std::abs(expected) + 0x1p-25;
    const double got = get(out, offset_in(out, sizes, batch, r, q));
    if (is_integral(out.dtype())) bound = 0;
    ASSERT_LE(std::abs(got - expected), bound)
        << "at " << batch << ", " << r << ", " << q << " of " << to_string(sizes) << ", k " << k;
  }
}

struct Layout {
  bool a, b, out;
};

void check_matrix(int64_t m, int64_t n, int64_t k, Dtype dtype, Layout layout, int64_t gap = 0,
                  GemmOptions options = {}, const Tensor& c = {}) {
  std::mt19937 random(unsigned(m * 71 + n * 73 + k));
  const Tensor a = matrix({m, k}, layout.a, dtype, random, gap);
  const Tensor b = matrix({k, n}, layout.b, dtype, random, gap);
  const Tensor out = matrix({m, n}, layout.out, dtype, random, gap);
  if (c.defined()) options.c = &c;
  run_gemm("test", out, a, b, options);
  expect_product(out, a, b, options, c);
}

const Layout kLayouts[] = {{false, false, false}, {false, true, false}, {true, false, false},
                           {true, true, false},   {false, false, true}, {true, true, true}};

TEST(Gemm, EveryTransposeAtOddSizes) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> size(1, 70);
  for (Dtype dtype : {Dtype::f32, Dtype::f64}) {
    for (int i = 0; i < 300; ++i) {
      const Layout layout = kLayouts[i % 6];
      check_matrix(size(random), size(random), size(random), dtype, layout, i % 5 == 0 ? 3 : 0);
    }
  }
}

TEST(Gemm, EverySmallSize) {
  for (int64_t m = 1; m <= 18; ++m) {
    for (int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 65}) {
      for (const Layout& layout : kLayouts) check_matrix(m, n, 5, Dtype::f32, layout);
    }
  }
}

TEST(Gemm, VectorsAndOuterProducts) {
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16}) {
    for (int64_t size : {1, 3, 64, 257, 1000}) {
      for (const Layout& layout : kLayouts) {
        check_matrix(1, size, 129, dtype, layout);
        check_matrix(size, 1, 129, dtype, layout);
        check_matrix(size, 67, 1, dtype, layout);
        check_matrix(1, 1, size, dtype, layout);
      }
    }
  }
}

// Rows too few to pack for, on both sides of how many and how long they are; tails of each.
TEST(Gemm, FewRows) {
  std::mt19937 random(9);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
    for (int64_t m = 1; m <= 9; ++m) {
      for (int64_t n : {1, 4, 19}) {
        const Tensor bias = matrix({1, n}, false, dtype, random);
        for (int64_t k : {255, 256, 301}) {
          check_matrix(m, n, k, dtype, {false, true, false}, m % 2);
          check_matrix(m, n, k, dtype, {false, true, true}, m % 3,
                       {nullptr, Activation::relu, 1, 1}, bias);
        }
      }
    }
  }
}

TEST(Gemm, BlockedSizes) {
  for (const Layout& layout : kLayouts) {
    check_matrix(201, 150, 613, Dtype::f32, layout);
    check_matrix(97, 210, 519, Dtype::f64, layout, 1);
    check_matrix(130, 131, 400, Dtype::bf16, layout);
    check_matrix(31, 17, 600, Dtype::f32, layout);
  }
}

// Blocks of rows, each by all columns and by parts of many; all rows by panels of columns.
TEST(Gemm, BlocksOfRowsAndPanels) {
  std::mt19937 random(12);
  const Tensor bias = matrix({1, 2070}, false, Dtype::f32, random);
  for (const Layout& layout : kLayouts) {
    check_matrix(250, 2070, 30, Dtype::f32, layout, 0, {nullptr, Activation::relu, 1, 1}, bias);
    check_matrix(113, 1050, 515, Dtype::f32, layout);
    check_matrix(97, 530, 66, Dtype::f64, layout, 1);
    check_matrix(115, 1050, 70, Dtype::bf16, layout);
    check_matrix(65, 700, 200, Dtype::f32, layout);
    check_matrix(49, 150, 515, Dtype::f16, layout);
  }
}

// A short k and long rows: panels of all rows, the last ones with tails.
TEST(Gemm, PanelsOfLongRows) {
  for (const Layout& layout : kLayouts) {
    check_matrix(33, 4099, 23, Dtype::f32, layout);
    check_matrix(14, 4096, 33, Dtype::f32, layout, 3);
    check_matrix(35, 2100, 31, Dtype::f64, layout);
    check_matrix(33, 4130, 20, Dtype::f16, layout);
  }
}

// One chain of a constant loses more with every term: of so many it is off by far more than this.
TEST(Gemm, LongSumsAreNotOneChain) {
  const int64_t sizes[][2] = {{1, 1}, {1, 2}, {2, 2}, {1, 9}, {9, 1}, {9, 3}, {1, 40}, {20, 17}};
  for (int64_t k : {60001, 70001}) {
    for (const auto& [m, n] : sizes) {
      for (const Layout& layout : kLayouts) {
        std::mt19937 random(1);
        const Tensor a = matrix({m, k}, layout.a, Dtype::f32, random, 1),
                     b = matrix({k, n}, layout.b, Dtype::f32, random, 1),
                     out = matrix({m, n}, layout.out, Dtype::f32, random);
        for (const Tensor& x : {a, b}) {
          float* const p = static_cast<float*>(x.storage()->data());
          std::fill(p, p + x.storage()->bytes() / sizeof(float), 0.1f);
        }
        run_gemm("test", out, a, b);
        const double expected = double(k) * (double(0.1f) * double(0.1f));
        for (int64_t i = 0; i < m * n; ++i)
          ASSERT_NEAR(out.data_as<float>()[i], expected, 2e-5 * expected)
              << "m " << m << ", n " << n << ", k " << k;
      }
    }
  }
}

TEST(Gemm, HalvesRoundOnce) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (const Layout& layout : kLayouts) {
      check_matrix(33, 21, 65, dtype, layout);
      check_matrix(5, 40, 7, dtype, layout, 2);
    }
  }
}

TEST(Gemm, IntegersAreExactAndWrap) {
  for (Dtype dtype : {Dtype::i64, Dtype::i32, Dtype::i16}) {
    for (const Layout& layout : kLayouts) check_matrix(19, 37, 23, dtype, layout);
  }
  std::mt19937 random(2);
  const Tensor a = matrix({1, 100}, false, Dtype::u8, random),
               b = matrix({100, 1}, false, Dtype::u8, random);
  const Tensor out = dense({1, 1}, Dtype::u8);
  run_gemm("test", out, a, b);
  unsigned sum = 0;
  for (int i = 0; i < 100; ++i) sum += unsigned(a.data_as<uint8_t>()[i]) * b.data_as<uint8_t>()[i];
  EXPECT_EQ(*out.data_as<uint8_t>(), uint8_t(sum));
}

TEST(Gemm, BiasesScalesAndRelu) {
  std::mt19937 random(3);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::i32}) {
    for (int64_t n : {1, 10, 64, 200}) {
      const Tensor biases[] = {
          matrix({1, n}, false, dtype, random), matrix({50, 1}, false, dtype, random),
          matrix({50, n}, false, dtype, random), matrix({50, n}, true, dtype, random),
          matrix({1, 1}, false, dtype, random)};
      for (const Tensor& bias : biases) {
        for (Activation act : {Activation::none, Activation::relu}) {
          for (bool transposed : {false, true}) {
            check_matrix(50, n, 30, dtype, {false, true, transposed}, 0, {nullptr, act, 1, 1},
                         bias);
            check_matrix(50, n, 30, dtype, {true, false, transposed}, 0, {nullptr, act, 2, -3},
                         bias);
          }
        }
      }
    }
  }
}

TEST(Gemm, AccumulatesIntoTheOutput) {
  std::mt19937 random(4);
  for (Dtype dtype : {Dtype::f32, Dtype::f16}) {
    for (int64_t k : {0, 3, 700}) {
      const Tensor a = matrix({40, k}, false, dtype, random),
                   b = matrix({k, 50}, true, dtype, random);
      const Tensor out = matrix({40, 50}, false, dtype, random), before = dense({40, 50}, dtype);
      std::memcpy(before.data(), out.data(), out.nbytes());
      const GemmOptions options{&out, Activation::none, 1, 0.5};
      run_gemm("test", out, a, b, options);
      expect_product(out, a, b, options, before);
    }
  }
}

TEST(Gemm, BatchesBroadcast) {
  std::mt19937 random(5);
  const Dims outs[] = {{3, 9, 20}, {2, 3, 9, 20}, {2, 1, 3, 1, 2, 9, 20}};
  for (const Dims& sizes : outs) {
    const Tensor out = matrix(sizes, false, Dtype::f32, random);
    for (int shared = 0; shared < 3; ++shared) {
      Dims a(sizes), b(sizes);
      a[a.size() - 1] = b[b.size() - 2] = 17;
      if (shared == 1) b = {17, 20};
      if (shared == 2) a[0] = 1;
      for (bool transposed : {false, true}) {
        const Tensor x = matrix(a, transposed, Dtype::f32, random),
                     y = matrix(b, !transposed, Dtype::f32, random);
        const Tensor bias = matrix({9, 20}, false, Dtype::f32, random);
        run_gemm("test", out, x, y);
        expect_product(out, x, y, {});
        run_gemm("test", out, x, y, {&bias});
        expect_product(out, x, y, {}, bias);
      }
    }
  }
}

// Packed once for all, or read in place, by the size of what is shared and of what is not.
TEST(Gemm, BatchesShareRows) {
  std::mt19937 random(10);
  const Dims each[] = {{8, 200, 40}, {9, 200, 40}, {33, 32, 600}, {9, 33, 600}};
  for (const Dims& size : each) {
    const int64_t m = size[0], n = size[1], k = size[2];
    for (Dtype dtype : {Dtype::f32, Dtype::f64}) {
      for (const Layout& layout : kLayouts) {
        const Tensor out = matrix({3, m, n}, layout.out, dtype, random),
                     a = matrix({m, k}, layout.a, dtype, random),
                     b = matrix({3, k, n}, layout.b, dtype, random);
        run_gemm("test", out, a, b);
        expect_product(out, a, b, {});
      }
    }
  }
}

// Strips of rows that lie so far apart that a few of all strips are packed at a time.
TEST(Gemm, RowsFarApart) {
  for (const Layout& layout : kLayouts) {
    for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
      check_matrix(1031, 17, 21, dtype, layout);
      check_matrix(115, 1031, 9, dtype, layout);
      check_matrix(19, 34, 525, dtype, layout, 1000);
    }
  }
}

TEST(Gemm, MoreBatchDimensionsThanOneLaunchHolds) {
  std::mt19937 random(6);
  const Dims sizes{2, 2, 2, 2, 2, 2, 2, 2, 3, 4};
  Dims strides(10, 0), inner{5, 1};
  Dims order{1, 0, 3, 2, 5, 4, 7, 6};  // neighbours swapped, so that none merge
  int64_t step = 15;
  for (size_t i = 8; i-- > 0;) {
    strides[size_t(order[i])] = step;
    step *= 2;
  }
  strides[8] = 5;
  strides[9] = 1;
  Dims a_sizes(sizes);
  a_sizes[9] = 5;
  const Tensor a = empty_strided(a_sizes, strides, Dtype::f32, kCpu);
  fill(a, random);
  Dims b_sizes(sizes);
  b_sizes[8] = 5;
  const Tensor b = matrix(b_sizes, false, Dtype::f32, random),
               out = matrix(sizes, false, Dtype::f32, random);
  run_gemm("test", out, a, b);
  expect_product(out, a, b, {});
}

TEST(Gemm, EmptyOperands) {
  std::mt19937 random(7);
  const Tensor none = dense({0, 5}, Dtype::f32);
  run_gemm("test", none, matrix({0, 3}, false, Dtype::f32, random),
           matrix({3, 5}, false, Dtype::f32, random));
  const Tensor bias = matrix({1, 20}, false, Dtype::f32, random);
  check_matrix(7, 20, 0, Dtype::f32, {});
  check_matrix(7, 20, 0, Dtype::f32, {}, 0, {nullptr, Activation::relu}, bias);
  check_matrix(1, 20, 0, Dtype::f32, {}, 0, {nullptr, Activation::relu}, bias);
  const Tensor half_bias = matrix({1, 20}, false, Dtype::f16, random);
  check_matrix(100, 20, 0, Dtype::f16, {}, 0, {nullptr, Activation::none, 2, 3}, half_bias);
}

TEST(Gemm, UnreadBiasMayHoldAnything) {
  std::mt19937 random(8);
  const Tensor bias = dense({1, 20}, Dtype::f32);
  for (int i = 0; i < 20; ++i) bias.data_as<float>()[i] = NAN;
  check_matrix(7, 20, 9, Dtype::f32, {}, 0, {nullptr, Activation::none, 1, 0}, bias);
}

TEST(Gemm, ReluKeepsNan) {
  const Tensor a = dense({20, 1}, Dtype::f32), b = dense({1, 40}, Dtype::f32);
  const Tensor out = dense({20, 40}, Dtype::f32);
  for (int i = 0; i < 20; ++i) a.data_as<float>()[i] = NAN;
  for (int i = 0; i < 40; ++i) b.data_as<float>()[i] = 1;
  run_gemm("test", out, a, b, {nullptr, Activation::relu});
  for (int i = 0; i < 800; ++i) EXPECT_TRUE(std::isnan(out.data_as<float>()[i]));
}

TEST(Gemm, NegativeAndGeneralStrides) {
  std::mt19937 random(9);
  const Tensor a0 = matrix({40, 60}, false, Dtype::f32, random),
               b0 = matrix({60, 80}, false, Dtype::f32, random);
  const Dims a_sizes{20, 30}, a_strides{120, 2}, b_sizes{30, 40}, b_strides{160, 2};
  const Tensor a = alias(a0, a_sizes, a_strides, 0), b = alias(b0, b_sizes, b_strides, 0);
  const Tensor o0 = matrix({20, 120}, false, Dtype::f32, random);
  const Dims o_sizes{20, 40}, o_strides{120, 3};
  const Tensor out = alias(o0, o_sizes, o_strides, 0);
  run_gemm("test", out, a, b);
  expect_product(out, a, b, {});
}

TEST(Gemm, SameBitsForEveryNumberOfThreads) {
  std::mt19937 random(10);
  const int before = get_num_threads();
  struct Size {
    int64_t batch, m, n, k;
  };
  for (Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const Size& s : {Size{1, 300, 290, 700},
                          {1, 1, 3000, 900},
                          {1, 3000, 1, 900},
                          {1, 1, 1, 200000},
                          {1, 3, 5, 200000},
                          {1, 1, 70, 70000},
                          {40, 30, 30, 30},
                          {1, 33, 4130, 40},
                          {1, 120, 1100, 600},
                          {1, 65, 300, 200},
                          {3, 150, 170, 140}}) {
      for (const Layout& layout : kLayouts) {
        const Tensor a = matrix({s.batch, s.m, s.k}, layout.a, dtype, random);
        const Tensor b = matrix({s.batch, s.k, s.n}, layout.b, dtype, random);
        const Tensor one = matrix({s.batch, s.m, s.n}, layout.out, dtype, random),
                     many = empty_like(one);
        set_num_threads(1);
        run_gemm("test", one, a, b);
        for (int threads : {2, 3}) {
          set_num_threads(threads);
          run_gemm("test", many, a, b);
          ASSERT_EQ(std::memcmp(one.data(), many.data(), one.nbytes()), 0);
        }
      }
    }
  }
  set_num_threads(before);
}

TEST(Gemm, WrongShapesNameTheOperands) {
  const Tensor a = dense({2, 3}, Dtype::f32), b = dense({4, 5}, Dtype::f32);
  try {
    run_gemm("matmul", dense({2, 5}, Dtype::f32), a, b);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::shape);
    EXPECT_NE(std::string(e.what()).find("a: f32[2, 3] on cpu, b: f32[4, 5] on cpu"),
              std::string::npos);
  }
}

TEST(Gemm, EmulatedCuda) {
  FLAM_EMULATED(emulated, kGemm);
  std::mt19937 random(11);
  const Tensor bias = matrix({1, 70}, false, Dtype::f32, random);
  for (const Layout& layout : kLayouts) {
    for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i32, Dtype::u8}) {
      check_matrix(5, 3, 2, dtype, layout);
    }
    check_matrix(66, 70, 35, Dtype::f32, layout, 1);
    check_matrix(130, 70, 0, Dtype::f32, layout, 0, {nullptr, Activation::relu, 2, -1}, bias);
  }
  const Tensor a = matrix({2, 3, 9, 17}, true, Dtype::f32, random),
               b = matrix({3, 17, 20}, false, Dtype::f32, random);
  const Tensor out = matrix({2, 3, 9, 20}, false, Dtype::f32, random);
  run_gemm("test", out, a, b);
  expect_product(out, a, b, {});
}

TEST(Gemm, OperandsShareOneDtype) {
  const Tensor x = dense({2, 2}, Dtype::f32), y = dense({2, 2}, Dtype::f64);
  EXPECT_THROW(run_gemm("matmul", x, x, y), Error);
  EXPECT_THROW(run_gemm("matmul", x, x, x, {&y}), Error);
}

// Tiny products are turned where they are tall, and depths up to 4 are known to the compiler.
TEST(Gemm, BatchesOfTinyProducts) {
  std::mt19937 random(7);
  for (const Layout& layout : kLayouts) {
    for (int64_t m : {1, 2, 3}) {
      for (int64_t n : {1, 2, 3}) {
        for (int64_t k : {1, 2, 3, 4, 7}) {
          for (Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::i32}) {
            const Tensor a = matrix({4, 5, m, k}, layout.a, dtype, random);
            const Tensor b = matrix({5, k, n}, layout.b, dtype, random);
            const Tensor out = matrix({4, 5, m, n}, layout.out, dtype, random);
            run_gemm("test", out, a, b);
            expect_product(out, a, b, {});
            GemmOptions options;
            options.alpha = 2, options.beta = 3, options.activation = Activation::relu;
            const Tensor c = matrix({4, 1, m, n}, layout.out, dtype, random);
            options.c = &c;
            run_gemm("test", out, a, b, options);
            expect_product(out, a, b, options, c);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace flambeau
