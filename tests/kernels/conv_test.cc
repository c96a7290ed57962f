// Convolutions against plain loops in float64: one to three dimensions, strides, padding, dilation,
// groups, depthwise, channels-last operands, half types, both gradients, and the same bits for
// every number of threads.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/conv/conv_direct.h"
#include "kernels/conv/conv_product.h"
#include "kernels/map/map.h"
#include "tests/harness/cuda_on_cpu/banks.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"
#include "tests/kernels/emulated.h"
#include "tests/kernels/tensors.h"

namespace flambeau {
namespace {

struct Case {
  int64_t images, channels, outputs, groups;
  Dims in, kernel, stride, padding, dilation;
};

const Case kCases[] = {
    {2, 3, 5, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 4, 6, 2, {8, 7}, {3, 2}, {2, 3}, {2, 1}, {1, 2}},
    {3, 6, 6, 6, {10, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {2, 4, 8, 4, {12, 9}, {3, 5}, {2, 2}, {1, 2}, {1, 1}},
    {2, 16, 20, 1, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {2, 16, 4, 1, {7, 8}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {1, 5, 7, 1, {40}, {7}, {3}, {4}, {2}},
    {4, 1, 8, 1, {28, 28}, {5, 5}, {1, 1}, {0, 0}, {1, 1}},
    {1, 3, 4, 1, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}},
    {2, 40, 33, 1, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 2, 3, 1, {11, 12}, {2, 2}, {4, 3}, {0, 0}, {1, 1}},
    {1, 2, 2, 1, {20, 20}, {3, 3}, {2, 2}, {2, 2}, {2, 2}},
    // Winograd: channels, widths and heights that are no multiples; groups.
    {2, 17, 33, 1, {13, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 48, 16, 1, {21, 19}, {3, 3}, {1, 1}, {0, 0}, {1, 1}},
    {2, 18, 20, 1, {15, 12}, {5, 5}, {1, 1}, {2, 2}, {1, 1}},
    {1, 32, 40, 2, {17, 17}, {3, 3}, {1, 1}, {1, 2}, {1, 1}},
    // Groups as lanes: more than a vector of them, several channels in or out, a volume.
    {2, 35, 35, 35, {12, 31}, {3, 3}, {2, 1}, {1, 2}, {1, 2}},
    {1, 18, 36, 18, {9, 10}, {3, 2}, {1, 2}, {1, 0}, {1, 1}},
    {1, 40, 20, 20, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 16, 16, 16, {4, 5, 6}, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {2, 1, 1}},
    // Depthwise by rows: heights and widths past a tile, a plane in several blocks.
    {2, 3, 3, 3, {13, 70}, {5, 3}, {1, 1}, {2, 1}, {1, 1}},
    {1, 2, 2, 2, {50, 90}, {3, 5}, {1, 1}, {0, 3}, {1, 1}},
    // Few channels of a group: rows in phases, several vectors, sums of pairs and of five taps.
    {2, 2, 3, 1, {6}, {2}, {2}, {1}, {1}},
    {1, 8, 6, 2, {9, 41}, {3, 3}, {2, 3}, {1, 1}, {1, 2}},
    {2, 16, 24, 4, {9, 38}, {3, 3}, {1, 2}, {1, 1}, {1, 1}},
    {1, 12, 12, 4, {70, 21}, {5, 3}, {1, 1}, {2, 1}, {1, 1}},
    // Pixels: several blocks, one tap of every second pixel, a volume of one tap.
    {1, 64, 37, 1, {40, 50}, {3, 3}, {2, 2}, {0, 0}, {1, 1}},
    {3, 20, 24, 1, {11, 12}, {1, 1}, {2, 2}, {1, 0}, {1, 1}},
    {7, 17, 24, 1, {8, 7}, {3, 2}, {2, 1}, {1, 1}, {1, 1}},
    {2, 9, 17, 1, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {1, 3, 34, 1, {31, 29}, {7, 7}, {2, 2}, {3, 3}, {1, 1}},
    // depthwise: rows of one vector, of two and of several, wider than high, and beyond the image
    {2, 5, 5, 5, {9, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 2, 2, 2, {6, 70}, {5, 5}, {1, 1}, {2, 2}, {1, 1}},
    {1, 3, 3, 3, {3, 33}, {3, 7}, {1, 1}, {4, 5}, {1, 1}},
    // One tap of planes that are matrices: groups, tails, sums in two pieces that cut an image, and
    // panels of long rows.
    {2, 12, 20, 2, {33, 30}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {3, 5, 7, 1, {50, 40}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {1, 9, 61, 1, {4101}, {1}, {1}, {0}, {1}},
    // weights whose rows are put together of several channels
    {2, 70, 40, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
};

ConvParams params_of(const Case& c) { return {c.stride, c.padding, c.dilation, c.groups}; }

Dims joined(int64_t a, int64_t b, const Dims& rest) {
  Dims sizes{a, b};
  for (int64_t s : rest) sizes.push_back(s);
  return sizes;
}

// Random values; `last` puts the channels innermost in memory.
Tensor image(const Dims& sizes, Dtype dtype, bool last, unsigned seed) {
  Dims strides = contiguous_strides(sizes);
  if (last) {
    int64_t step = 1;
    for (size_t d : {size_t(1)}) strides[d] = step, step *= sizes[d];
    for (size_t d = sizes.size(); d-- > 2;) strides[d] = step, step *= sizes[d];
    strides[0] = step;
  }
  Tensor t = empty_strided(sizes, strides, dtype, kCpu);
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T>) {
      const std::vector<T> v = randoms<T>(size_t(t.numel()), -1, 1, seed);
      std::memcpy(t.data(), v.data(), t.nbytes());
    }
  });
  return t;
}

std::vector<double> doubles_of(const Tensor& t) {
  return with_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> out;
    if constexpr (!std::is_same_v<T, bool>) {
      for (T v : values_of<T>(t)) out.push_back(double(v));
    }
    return out;
  });
}

struct Sums {
  std::vector<double> value, magnitude;
};

// Calls f(y index, x index, w index) for every product of the convolution.
template <class F>
void for_products(const Case& c, const Dims& x, const Dims& w, const Dims& y, F f) {
  int64_t outs = 1, taps = 1, ins = 1;
  for (size_t d = 2; d < x.size(); ++d) outs *= y[d], taps *= w[d], ins *= x[d];
  const int64_t oc = w[0] / c.groups, ic = w[1];
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t o = 0; o < w[0]; ++o) {
      for (int64_t i = 0; i < ic; ++i) {
        for (int64_t p = 0; p < outs; ++p) {
          for (int64_t t = 0; t < taps; ++t) {
            int64_t at = 0, step = 1, p_rest = p, t_rest = t;
            bool inside = true;
            for (size_t d = x.size(); d-- > 2;) {
              const size_t s = d - 2;
              const int64_t pos =
                  p_rest % y[d] * c.stride[s] - c.padding[s] + t_rest % w[d] * c.dilation[s];
              inside &= pos >= 0 && pos < x[d];
              at += pos * step;
              step *= x[d];
              p_rest /= y[d];
              t_rest /= w[d];
            }
            if (inside)
              f((n * w[0] + o) * outs + p, (n * x[1] + o / oc * ic + i) * ins + at,
                (o * ic + i) * taps + t);
          }
        }
      }
    }
  }
}

void expect_near(const Tensor& got, const Sums& sums, double terms) {
  const std::vector<double> values = doubles_of(got);
  const double u = got.dtype() == Dtype::f64 ? 0x1p-53 : 0x1p-24;
  const double unit = got.dtype() == Dtype::f16 ? 0x1p-11 : got.dtype() == Dtype::bf16 ? 0x1p-8 : 0;
  ASSERT_EQ(values.size(), sums.value.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double bound = 4 * std::sqrt(terms) * u * sums.magnitude[i] +
                         unit * std::abs(sums.value[i]) + 0x1p-25 * (unit > 0);
    ASSERT_LE(std::abs(values[i] - sums.value[i]), bound)
        << "at " << i << " of " << to_string(got.sizes());
  }
}

struct Problem {
  Tensor x, w, y, dy, bias;
  Dims y_sizes;
};

Problem problem_of(const Case& c, Dtype dtype, bool last) {
  Problem s;
  s.x = image(joined(c.images, c.channels, c.in), dtype, last, 1);
  s.w = image(joined(c.outputs, c.channels / c.groups, c.kernel), dtype, last, 2);
  s.y_sizes = conv_sizes("conv", s.x, s.w, params_of(c));
  s.y = image(s.y_sizes, dtype, last, 3);
  s.dy = image(s.y_sizes, dtype, last, 4);
  s.bias = image(Dims{c.outputs}, dtype, false, 5);
  return s;
}

void check_case(const Case& c, Dtype dtype, bool last) {
  const Problem s = problem_of(c, dtype, last);
  const Dims x_sizes(s.x.sizes()), w_sizes(s.w.sizes());
  const std::vector<double> x = doubles_of(s.x), w = doubles_of(s.w), dy = doubles_of(s.dy),
                            bias = doubles_of(s.bias);
  auto sums_of = [](const Tensor& t) {
    return Sums{std::vector<double>(size_t(t.numel())), std::vector<double>(size_t(t.numel()))};
  };
  auto add = [](Sums& to, int64_t at, double v) {
    to.value[size_t(at)] += v;
    to.magnitude[size_t(at)] += std::abs(v);
  };
  Sums y_sums = sums_of(s.y), dx_sums = sums_of(s.x), dw_sums = sums_of(s.w);
  const int64_t positions = s.y.numel() / (c.images * c.outputs);
  for (int64_t i = 0; i < s.y.numel(); ++i) add(y_sums, i, bias[size_t(i / positions % c.outputs)]);
  for_products(c, x_sizes, w_sizes, s.y_sizes, [&](int64_t at_y, int64_t at_x, int64_t at_w) {
    add(y_sums, at_y, x[size_t(at_x)] * w[size_t(at_w)]);
    add(dx_sums, at_x, dy[size_t(at_y)] * w[size_t(at_w)]);
    add(dw_sums, at_w, dy[size_t(at_y)] * x[size_t(at_x)]);
  });
  run_conv("conv", s.y, s.x, s.w, s.bias, params_of(c));
  expect_near(s.y, y_sums, double(s.w.numel() / c.outputs + 1));
  const Tensor dx = image(x_sizes, dtype, last, 6), dw = image(w_sizes, dtype, last, 7);
  run_conv_backward_data("conv", dx, s.dy, s.w, {}, params_of(c));
  expect_near(dx, dx_sums, double(s.w.numel()));
  run_conv_backward_weight("conv", dw, s.dy, s.x, params_of(c));
  expect_near(dw, dw_sums, double(s.dy.numel()));
}

TEST(Conv, ForwardAndGradients) {
  for (const Case& c : kCases) {
    for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16})
      check_case(c, dtype, false);
  }
}

TEST(Conv, ChannelsLastOperands) {
  for (const Case& c : kCases) {
    for (Dtype dtype : {Dtype::f32, Dtype::bf16}) check_case(c, dtype, true);
  }
}

bool is_product(const Case& c) {
  return c.groups == 1 || (c.channels / c.groups >= 8 && c.outputs / c.groups >= 8);
}

// The dtypes take turns, and planes and channels-last operands.
TEST(Conv, EmulatedProducts) {
  FLAM_EMULATED(forward, kConvProduct);
  const Emulated data(kConvProductData), weight(kConvProductWeight);
  int at = 0;
  for (const Case& c : kCases) {
    if (!is_product(c)) continue;
    check_case(c, std::array{Dtype::f32, Dtype::f16, Dtype::bf16}[size_t(at % 3)], at % 2 != 0);
    ++at;
  }
  // Channels that fill chunks: operands that stay where they are, results by 16 bytes.
  for (Dtype dtype : {Dtype::f32, Dtype::f16}) {
    check_case({2, 32, 24, 2, {9, 7}, {3, 3}, {2, 1}, {1, 1}, {1, 1}}, dtype, true);
    check_case({1, 16, 136, 1, {12, 11}, {1, 1}, {1, 1}, {0, 0}, {1, 1}}, dtype, true);
  }
}

// In place of a kernel that must not be asked for.
class Refused {
 public:
  explicit Refused(Kernel& kernel) : kernel_(kernel) {
    std::copy_n(kernel.cells[0], kComputedDtypes, before_);
    std::fill_n(kernel.cells[0], kComputedDtypes,
                [](void*, const void*) { ADD_FAILURE() << "the plain kernel ran"; });
  }
  ~Refused() { std::copy_n(before_, kComputedDtypes, kernel_.cells[0]); }
  Refused(const Refused&) = delete;
  Refused& operator=(const Refused&) = delete;

 private:
  Kernel& kernel_;
  KernelFn before_[kComputedDtypes];
};

int64_t product(const Dims& n) {
  int64_t all = 1;
  for (int64_t i : n) all *= i;
  return all;
}

// Planes of f32 are read where they lie, and weights with them.
TEST(Conv, EmulatedPlanes) {
  FLAM_EMULATED(forward, kConvPlanes);
  const Emulated data(kConvPlanesData), weight(kConvPlanesWeight);
  const Refused product_of_pixels(kConvProduct), product_data(kConvProductData),
      product_weight(kConvProductWeight);
  for (const Case& c : kCases) {
    if (is_product(c) && product(c.kernel) <= kConvMostTaps) check_case(c, Dtype::f32, false);
  }
  check_case({2, 32, 24, 2, {9, 7}, {3, 3}, {2, 1}, {1, 1}, {1, 1}}, Dtype::f32, false);
  check_case({1, 20, 136, 1, {12, 11}, {1, 1}, {2, 2}, {0, 0}, {1, 1}}, Dtype::f32, false);
  check_case({1, 9, 70, 1, {5, 6, 7}, {3, 2, 3}, {2, 3, 1}, {1, 1, 2}, {2, 1, 1}}, Dtype::f32,
             false);
}

// Windows that overlap little: half types are read where they lie in planes.
TEST(Conv, EmulatedPairs) {
  FLAM_EMULATED(forward, kConvPlanes);
  const Emulated data(kConvPlanesData), weight(kConvPlanesWeight);
  const Refused product_of_pixels(kConvProduct), product_data(kConvProductData),
      product_weight(kConvProductWeight);
  cuda_on_cpu::bank_counts = {};
  cuda_on_cpu::counting_banks = true;
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    check_case({1, 20, 136, 1, {12, 11}, {1, 1}, {2, 2}, {0, 0}, {1, 1}}, dtype, false);
    check_case({3, 20, 24, 1, {11, 12}, {1, 1}, {2, 3}, {1, 0}, {1, 1}}, dtype, false);
    check_case({2, 72, 16, 2, {40}, {1}, {2}, {0}, {1}}, dtype, false);
    check_case({2, 9, 70, 1, {3, 4, 5}, {1, 1, 1}, {1, 2, 1}, {0, 1, 0}, {1, 1, 1}}, dtype, false);
    check_case({2, 10, 24, 1, {9, 8}, {2, 2}, {2, 2}, {1, 0}, {1, 1}}, dtype, false);
    check_case({2, 10, 12, 1, {17}, {3}, {1}, {2}, {2}}, dtype, false);
  }
  cuda_on_cpu::counting_banks = false;
  EXPECT_GT(cuda_on_cpu::bank_counts.phases, 10000u);
  EXPECT_EQ(cuda_on_cpu::bank_counts.conflicts, 0u);
}

// At most five copies of a value, of which blocks beside each other take their own; else it is
// turned once before, and so it is under one tap that meets all values.
TEST(Conv, EmulatedPairsAreForFewCopies) {
  FLAM_EMULATED(forward, kConvPlanes);
  const Emulated pixels(kConvProduct);
  const auto run = [](const Case& c, bool in_planes) {
    const Refused other(in_planes ? kConvProduct : kConvPlanes);
    const Problem s = problem_of(c, Dtype::bf16, false);
    run_conv("conv", s.y, s.x, s.w, {}, params_of(c));
  };
  run({2, 8, 64, 1, {19}, {5}, {1}, {0}, {1}}, true);
  run({2, 8, 65, 1, {19}, {5}, {1}, {0}, {1}}, false);
  run({2, 8, 64, 1, {19}, {6}, {1}, {0}, {1}}, false);
  run({1, 8, 320, 1, {6, 6}, {2, 2}, {2, 2}, {0, 0}, {1, 1}}, true);
  run({1, 8, 321, 1, {6, 6}, {2, 2}, {2, 2}, {0, 0}, {1, 1}}, false);
}
TEST(Conv, EmulatedPairsAreNotForOneTapThatMeetsAll) {
  FLAM_EMULATED(forward, kConvProduct);
  const Emulated data(kConvProductData), weight(kConvProductWeight);
  const Refused planes(kConvPlanes), planes_data(kConvPlanesData), planes_weight(kConvPlanesWeight);
  check_case({2, 20, 24, 1, {7, 6}, {1, 1}, {1, 1}, {0, 0}, {1, 1}}, Dtype::bf16, false);
}

// The pass reads what the tap meets and writes the result, once each; sectors that strides cut are
// moved whole.
TEST(Conv, EmulatedPairsMoveNothingBefore) {
  FLAM_EMULATED(forward, kConvPlanes);
  const Refused product_of_pixels(kConvProduct);
  const Case c{2, 32, 64, 1, {32, 32}, {1, 1}, {2, 2}, {0, 0}, {1, 1}};
  const Problem s = problem_of(c, Dtype::bf16, false);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_conv("conv", s.y, s.x, s.w, {}, params_of(c));
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 1u);
  EXPECT_LE(cuda_on_cpu::traffic.read, s.x.nbytes() / 2);  // every second row
}

// Weights and images that lie in other orders, some of them expanded: the same sums.
TEST(Conv, EmulatedPlanesTakeStrides) {
  FLAM_EMULATED(forward, kConvPlanes);
  const Emulated data(kConvPlanesData), weight(kConvPlanesWeight), pixels(kConvProduct),
      pixels_data(kConvProductData), pixels_weight(kConvProductWeight);
  const Case c{2, 12, 10, 1, {9, 8}, {3, 3}, {2, 1}, {1, 1}, {1, 1}};
  const Problem s = problem_of(c, Dtype::f32, false), last = problem_of(c, Dtype::f32, true);
  const auto as_wide = [](const Tensor& t) {  // rows with gaps
    Dims strides = contiguous_strides(t.sizes());
    for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] *= 3;
    const Tensor to = empty_strided(t.sizes(), strides, t.dtype(), kCpu);
    run_cast(to, t);
    return to;
  };
  const auto run = [&](const Tensor& x, const Tensor& w, const Tensor& dy) {
    const Tensor y = empty(s.y_sizes, Dtype::f32, kCpu), dx = empty(s.x.sizes(), Dtype::f32, kCpu),
                 dw = empty_strided(s.w.sizes(), w.strides(), Dtype::f32, kCpu);
    run_conv("conv", y, x, w, {}, params_of(c));
    run_conv_backward_data("conv", dx, dy, w, {}, params_of(c));
    run_conv_backward_weight("conv", dw, dy, x, params_of(c));
    return std::vector{doubles_of(y), doubles_of(dx), doubles_of(dw)};
  };
  const Tensor w = empty_strided(s.w.sizes(), last.w.strides(), Dtype::f32, kCpu);
  run_cast(w, s.w);
  const auto wanted = run(s.x, s.w, s.dy);
  EXPECT_EQ(run(as_wide(s.x), s.w, as_wide(s.dy)), wanted);
  EXPECT_EQ(run(s.x, w, s.dy), wanted);
  EXPECT_EQ(run(s.x, as_wide(s.w), s.dy), wanted);
}

// Parts of sums over many positions, by the last block of a tile where they are few, else by a
// launch; without parts where the sum is short. No order of blocks or threads changes a bit.
TEST(Conv, EmulatedSplitsAreAddedInOrder) {
  FLAM_EMULATED(forward, kConvProductWeight);
  const Emulated planes(kConvPlanesWeight);
  struct Length {
    Dims in;
    bool launch;  // adds the parts up
  };
  for (const Length& length : {Length{{9, 8}, false}, {{20, 15}, false}, {{40, 40}, true}}) {
    for (const auto& [dtype, last] :
         {std::pair{Dtype::f32, false}, {Dtype::f32, true}, {Dtype::bf16, true}}) {
      const Case c{2, 8, 16, 1, length.in, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
      const Problem s = problem_of(c, dtype, last);
      std::vector<double> first;
      for (const uint64_t seed : {1, 2, 3}) {
        cuda_on_cpu::set_seed(seed);
        const Tensor dw = image(s.w.sizes(), dtype, last, 7);
        cuda_on_cpu::traffic = {};
        cuda_on_cpu::counting_traffic = true;
        run_conv_backward_weight("conv", dw, s.dy, s.x, params_of(c));
        cuda_on_cpu::counting_traffic = false;
        EXPECT_EQ(cuda_on_cpu::traffic.launches, length.launch ? 2u : 1u);
        if (first.empty()) first = doubles_of(dw);
        EXPECT_EQ(doubles_of(dw), first);
      }
    }
  }
}

TEST(Conv, EmulatedProductsMeetNoBankTwice) {
  FLAM_EMULATED(forward, kConvProduct);
  const Emulated data(kConvProductData), weight(kConvProductWeight), planes(kConvPlanes),
      planes_data(kConvPlanesData), planes_weight(kConvPlanesWeight);
  cuda_on_cpu::bank_counts = {};
  cuda_on_cpu::counting_banks = true;
  for (int64_t channels : {40, 72}) {
    const Case c{1, channels, channels, 1, {9, 8}, {3, 3}, {1, 2}, {1, 1}, {1, 1}};
    check_case(c, Dtype::f32, false);
    check_case(c, Dtype::f32, true);
    check_case(c, Dtype::f16, true);
  }
  cuda_on_cpu::counting_banks = false;
  EXPECT_GT(cuda_on_cpu::bank_counts.phases, 10000u);
  EXPECT_EQ(cuda_on_cpu::bank_counts.conflicts, 0u);
}

// What products do not serve; more channels than a block has, strides, dilations, lines, volumes.
const Case kDirect[] = {
    {2, 16, 16, 16, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 72, 72, 72, {9, 10}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {2, 24, 24, 24, {11, 6}, {5, 3}, {3, 1}, {2, 1}, {1, 2}},
    {1, 16, 16, 16, {8, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {3, 8, 8, 8, {70}, {4}, {1}, {3}, {1}},
    {1, 8, 8, 8, {5, 6, 7}, {3, 2, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}},
    {1, 136, 136, 136, {7, 7}, {7, 7}, {1, 1}, {3, 3}, {1, 1}},
    {9, 4, 4, 4, {33, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
};

struct EmulatedDirectKernels {
  Emulated narrow{kConvDirect}, wide{kConvDirectWide}, weight{kConvDirectWeight},
      wide_weight{kConvDirectWeightWide};
};

TEST(Conv, EmulatedDirect) {
  FLAM_EMULATED(forward, kConvDirect);
  const EmulatedDirectKernels kernels;
  const Refused plain(kConv), data(kConvBackwardData), weight(kConvBackwardWeight);
  const std::array dtypes{Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64};
  int at = 0;
  for (const Case& c : kCases) {
    if (!is_product(c)) check_case(c, dtypes[size_t(at % 4)], at % 3 == 0);
    ++at;
  }
  for (const Case& c : kDirect) {
    for (Dtype dtype : dtypes) check_case(c, dtype, dtype != Dtype::f64);
    check_case(c, dtypes[size_t(at++ % 4)], false);
  }
}

// A run's outputs share the rows that they meet: six of three pixels for four outputs, where each
// alone would ask for nine pixels. Memory moves the image and the result once.
TEST(Conv, EmulatedDirectAsksForSharedRowsOnce) {
  FLAM_EMULATED(forward, kConvDirectWide);
  const EmulatedDirectKernels kernels;
  const Case c{1, 64, 64, 64, {32, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  const Problem s = problem_of(c, Dtype::f16, true);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_conv("conv", s.y, s.x, s.w, {}, params_of(c));
  cuda_on_cpu::counting_traffic = false;
  const uint64_t vectors = 32 * 32 * 64 / 8, weights = 64 * 9;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 1u);
  EXPECT_LE(cuda_on_cpu::traffic.accesses, vectors / 4 * (6 * 3 + 4) + 8 * weights);
  EXPECT_LE(double(cuda_on_cpu::traffic.moved()), 1.05 * double(2 * s.y.nbytes()));
}

TEST(Conv, EmulatedCuda) {
  FLAM_EMULATED(forward, kConv);
  const Emulated data(kConvBackwardData), weight(kConvBackwardWeight);
  for (const Case& c : kCases) {
    if (c.channels * c.outputs < 100) check_case(c, Dtype::f32, false);
  }
  check_case(kCases[1], Dtype::bf16, true);
}

TEST(Conv, ReluIsTheLastStep) {
  for (const Case& c : kCases) {
    for (Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      const Problem s = problem_of(c, dtype, false);
      const Tensor fused = empty(s.y_sizes, dtype, kCpu);
      run_conv("conv", s.y, s.x, s.w, s.bias, params_of(c));
      run_conv("conv", fused, s.x, s.w, s.bias, params_of(c), Activation::relu);
      const std::vector<double> y = doubles_of(s.y), f = doubles_of(fused);
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(f[i], y[i] < 0 ? 0 : y[i]);
    }
  }
}

TEST(Conv, TransposedConvolutionTakesABias) {
  const Case& c = kCases[1];
  const Problem s = problem_of(c, Dtype::f32, false);
  const Tensor bias = image(Dims{c.channels}, Dtype::f32, false, 8);
  const Tensor without = empty(s.x.sizes(), Dtype::f32, kCpu),
               with = empty(s.x.sizes(), Dtype::f32, kCpu);
  run_conv_backward_data("conv_transpose", without, s.dy, s.w, {}, params_of(c));
  run_conv_backward_data("conv_transpose", with, s.dy, s.w, bias, params_of(c));
  const int64_t space = c.in[0] * c.in[1];
  for (int64_t i = 0; i < with.numel(); ++i) {
    ASSERT_NEAR(with.data_as<float>()[i],
                without.data_as<float>()[i] + bias.data_as<float>()[i / space % c.channels], 1e-5);
  }
}

// Transforms of tiles must not carry what is not finite to where no tap meets it.
TEST(Conv, WhatIsNotFiniteStaysUnderItsTaps) {
  const Case c{1, 16, 16, 1, {18, 18}, {3, 3}, {1, 1}, {0, 0}, {1, 1}};
  for (const float bad : {INFINITY, -INFINITY, NAN, 3e38f}) {
    const Problem s = problem_of(c, Dtype::f32, false);
    for (int64_t i = 0; i < s.w.numel(); ++i) s.w.data_as<float>()[i] = 2;
    s.x.data_as<float>()[0] = bad;
    run_conv("conv", s.y, s.x, s.w, s.bias, params_of(c));
    run_conv_backward_weight("conv", s.w, s.dy, s.x, params_of(c));
    for (int64_t i = 0; i < s.y.numel(); ++i)
      ASSERT_EQ(std::isfinite(s.y.data_as<float>()[i]), i % (16 * 16) != 0) << bad << " at " << i;
    for (int64_t i = 0; i < s.w.numel(); ++i) {
      const bool met = i % (16 * 9) == 0, stays = bad == 3e38f;  // times a gradient below 1
      ASSERT_EQ(std::isfinite(s.w.data_as<float>()[i]), !met || stays) << bad << " at " << i;
    }
  }
}

Tensor doubled(const Tensor& t, bool magnitudes) {
  const Tensor to = empty_strided(t.sizes(), t.strides(), Dtype::f64, kCpu);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = double(t.data_as<float>()[i]);
    to.data_as<double>()[i] = magnitudes ? std::abs(v) : v;
  }
  return to;
}

// Beside sums in float64, within 1e-5 of the sums of magnitudes.
void expect_close(const Tensor& got, const Tensor& want, const Tensor& magnitude) {
  const std::vector<double> g = doubles_of(got), w = doubles_of(want), m = doubles_of(magnitude);
  for (size_t i = 0; i < g.size(); ++i) {
    ASSERT_EQ(std::isfinite(g[i]), std::isfinite(w[i])) << "at " << i;
    if (!std::isfinite(w[i])) continue;
    ASSERT_LE(std::abs(g[i] - w[i]), 1e-5 * m[i]) << "at " << i;
  }
}

// Where there are more taps than images, Winograd's transforms go by strips of outputs, some lines
// at a time: with outputs that see only zeros, and pixels that only plain sums take.
TEST(Conv, ManyTapsGoByStrips) {
  const Case c{16, 424, 420, 1, {10, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  for (const bool last : {false, true}) {
    const Problem s = problem_of(c, Dtype::f32, last);
    const auto pixel = [&](int64_t n, int64_t h, int64_t w) {
      const DimsView step = s.x.strides();
      return s.x.data_as<float>() + n * step[0] + h * step[2] + w * step[3];
    };
    for (int64_t i = 0; i < 6 * 9 * c.channels; ++i)
      pixel(0, i % 6, i / 6 % 9)[i / 54 * s.x.strides()[1]] = 0;
    *pixel(1, 0, 0) = 1e3f;
    *pixel(2, 2, 3) = INFINITY;
    Tensor y[2], dx[2];
    for (const bool magnitudes : {false, true}) {
      const auto of = [&](const Tensor& t) { return doubled(t, magnitudes); };
      y[magnitudes] = empty(s.y_sizes, Dtype::f64, kCpu);
      dx[magnitudes] = empty(s.x.sizes(), Dtype::f64, kCpu);
      run_conv("conv", y[magnitudes], of(s.x), of(s.w), of(s.bias), params_of(c));
      run_conv_backward_data("conv", dx[magnitudes], of(s.dy), of(s.w), {}, params_of(c));
    }
    const Tensor got = empty(s.x.sizes(), Dtype::f32, kCpu);
    run_conv("conv", s.y, s.x, s.w, s.bias, params_of(c));
    run_conv_backward_data("conv", got, s.dy, s.w, {}, params_of(c));
    expect_close(s.y, y[0], y[1]);
    expect_close(got, dx[0], dx[1]);
  }
}

void check_threads(const Case& c, Dtype dtype) {
  const Problem s = problem_of(c, dtype, false);
  std::vector<double> first[3];
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Tensor y = empty(s.y_sizes, dtype, kCpu), dx = empty(s.x.sizes(), dtype, kCpu),
                 dw = empty(s.w.sizes(), dtype, kCpu);
    run_conv("conv", y, s.x, s.w, s.bias, params_of(c));
    run_conv_backward_data("conv", dx, s.dy, s.w, {}, params_of(c));
    run_conv_backward_weight("conv", dw, s.dy, s.x, params_of(c));
    const Tensor* results[] = {&y, &dx, &dw};
    for (int i = 0; i < 3; ++i) {
      if (threads == 1) first[i] = doubles_of(*results[i]);
      EXPECT_EQ(doubles_of(*results[i]), first[i]);
    }
  }
}

// A gradient by the weight of one tap has dense rows where its channels lie together, and dense
// columns where its outputs do.
TEST(Conv, GradientOfAWeightThatIsTurned) {
  const Case c{2, 20, 24, 1, {9, 8}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  const Problem s = problem_of(c, Dtype::f32, false);
  const Tensor rows = image(s.w.sizes(), Dtype::f32, false, 8),
               columns = empty_strided(s.w.sizes(), Dims{1, 24, 24, 24}, Dtype::f32, kCpu);
  run_conv_backward_weight("conv", rows, s.dy, s.x, params_of(c));
  run_conv_backward_weight("conv", columns, s.dy, s.x, params_of(c));
  for (int64_t i = 0; i < rows.numel(); ++i)
    ASSERT_NEAR(columns.data_as<float>()[i / 20 + i % 20 * 24], rows.data_as<float>()[i], 1e-4);
}

TEST(Conv, SameBitsForEveryNumberOfThreads) {
  const int before = get_num_threads();
  const Case large{3, 20, 40, 1, {30, 31}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back(large);
  for (const Case& c : cases) {
    for (Dtype dtype : {Dtype::f32, Dtype::bf16}) check_threads(c, dtype);
  }
  check_threads({3, 424, 420, 1, {10, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}, Dtype::f32);
  set_num_threads(before);
}

TEST(Conv, NoImages) {
  const Tensor x = empty(Dims{0, 3, 8, 8}, Dtype::f32, kCpu),
               w = empty(Dims{4, 3, 3, 3}, Dtype::f32, kCpu);
  const ConvParams params{{1, 1}, {0, 0}, {1, 1}, 1};
  const Tensor y = empty(conv_sizes("conv", x, w, params), Dtype::f32, kCpu),
               dw = image(Dims{4, 3, 3, 3}, Dtype::f32, false, 1);
  run_conv("conv", y, x, w, {}, params);
  run_conv_backward_weight("conv", dw, y, x, params);
  for (float v : values_of<float>(dw)) EXPECT_EQ(v, 0);
}

TEST(Conv, WrongShapesAreNamed) {
  const ConvParams params{{1, 1}, {0, 0}, {1, 1}, 1};
  const Tensor x = empty(Dims{1, 3, 8, 8}, Dtype::f32, kCpu);
  EXPECT_THROW(conv_sizes("conv", x, empty(Dims{4, 2, 3, 3}, Dtype::f32, kCpu), params), Error);
  EXPECT_THROW(conv_sizes("conv", x, empty(Dims{4, 3, 9, 3}, Dtype::f32, kCpu), params), Error);
}

}  // namespace
}  // namespace flambeau
