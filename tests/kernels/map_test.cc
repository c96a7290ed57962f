// Elementwise launches over every kind of stride, at the edges of squares, tiles and blocks: what
// they read at each place is what plain loops read there.
#include "kernels/map/map.h"

#include <gtest/gtest.h>

#include "base/half.h"
#include "base/thread_pool.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/ternary.h"
#include "tensors.h"

namespace flambeau {
namespace {

template <class T> Tensor numbers(const Dims& sizes) {
  const Tensor t = empty(sizes, dtype_of<T>, kCpu);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<T>()[i] = T(float(i % 251));
  return t;
}

// Of a tensor [planes, rows, columns]: as it is, turned, mirrored, every second column, and one row
// or column or number for all.
std::vector<Tensor> views(const Tensor& t) {
  const int64_t p = t.sizes()[0], r = t.sizes()[1], c = t.sizes()[2], all = r * c;
  const Dims sizes{p, r, c};
  return {t,
          alias(t, sizes, Dims{all, 1, r}, 0),
          alias(t, sizes, Dims{1, p, p * r}, 0),
          alias(t, sizes, Dims{all, c, -1}, c - 1),
          alias(t, sizes, Dims{all, -1, r}, r - 1),
          alias(t, Dims{p, r, c / 2}, Dims{all, c, 2}, 0),
          alias(t, Dims{p, r, c / 3}, Dims{all, c, 3}, 0),
          alias(t, Dims{p, r, c / 5}, Dims{all, c, 5}, 0),
          alias(t, sizes, Dims{0, 0, 1}, 0),
          alias(t, sizes, Dims{all, c, 0}, 0),
          alias(t, sizes, Dims{0, 0, 0}, 0)};
}

const Dims kSizes[] = {{1, 1, 1},     {2, 3, 5},    {1, 8, 9},    {3, 15, 17}, {2, 16, 16},
                       {2, 31, 130},  {1, 65, 64},  {2, 33, 257}, {1, 70, 67}, {1, 20, 530},
                       {1, 17, 1100}, {40, 16, 33}, {2, 6000, 3}, {2, 34, 48}, {2, 33, 256}};

template <class T> void copies() {
  for (const Dims& sizes : kSizes) {
    const Tensor x = numbers<T>(sizes);
    for (const Tensor& from : views(x)) {
      Tensor to = empty(from.sizes(), x.dtype(), kCpu);
      run_cast(to, from);
      ASSERT_EQ(values_of<T>(to), values_of<T>(from));
      to = alias(to, from.sizes(), Dims{to.strides()[0], 1, from.sizes()[1]}, 0);
      run_cast(to, from);
      ASSERT_EQ(values_of<T>(to), values_of<T>(from));
    }
  }
}

TEST(Map, CopiesElementsOfEverySize) {
  copies<uint8_t>();
  copies<int16_t>();
  copies<float>();
  copies<double>();
}

// A signalling NaN is what a conversion would change.
TEST(Map, CopiesOfHalvesAreBitwise) {
  const Tensor x = empty(Dims{40, 48}, Dtype::f16, kCpu), y = empty(Dims{48, 40}, Dtype::f16, kCpu);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_as<uint16_t>()[i] = uint16_t(0x7c01 + i % 500);
  run_cast(y, transposed(x, 0, 1));
  for (int64_t i = 0; i < y.numel(); ++i)
    ASSERT_EQ(y.data_as<uint16_t>()[i], x.data_as<uint16_t>()[i % 40 * 48 + i / 40]);
}

// Neither side of such a copy is dense in the type between.
TEST(Map, ConvertsOneHalfToTheOther) {
  for (const Dims& sizes : {Dims{3, 700, 5}, Dims{2, 5, 1500}}) {
    const Tensor x = numbers<BFloat16>(sizes);
    for (const Tensor& from : views(x)) {
      const Tensor to = empty(from.sizes(), Dtype::f16, kCpu);
      run_cast(to, from);
      const std::vector<BFloat16> want = values_of<BFloat16>(from);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(float(to.data_as<Half>()[i]), float(want[i]));
    }
  }
}

template <class T> void sums() {
  for (const Dims& sizes : kSizes) {
    const Tensor x = numbers<T>(sizes), y = numbers<T>(sizes);
    for (const Tensor& a : views(x)) {
      for (const Tensor& b : views(y)) {
        if (a.numel() != b.numel()) continue;
        const Tensor* in[] = {&a, &b};
        const Tensor to = empty(a.sizes(), x.dtype(), kCpu);
        run_map("add", kAdd, x.dtype(), to, in, {});
        const std::vector<T> left = values_of<T>(a), right = values_of<T>(b);
        for (size_t i = 0; i < left.size(); ++i)
          ASSERT_EQ(float(to.data_as<T>()[i]), float(T(float(left[i]) + float(right[i]))));
      }
    }
  }
}

TEST(Map, AddsOperandsOfEveryStride) {
  const int before = get_num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    sums<float>();
    sums<BFloat16>();
  }
  set_num_threads(before);
  sums<double>();
}

// Operands of several widths, of which the narrowest is turned.
TEST(Map, ChoosesByATurnedMask) {
  constexpr int64_t kRows = 40, kColumns = 300;
  const Tensor mask = empty(Dims{kColumns, kRows}, Dtype::boolean, kCpu);
  for (int64_t i = 0; i < mask.numel(); ++i) mask.data_as<bool>()[i] = i % 3 == 0;
  const Tensor a = numbers<double>(Dims{kRows, kColumns}), b = numbers<double>(Dims{}),
               to = empty(Dims{kRows, kColumns}, Dtype::f64, kCpu), turned = transposed(mask, 0, 1);
  const Tensor* in[] = {&turned, &a, &b};
  run_map("where", kWhere, Dtype::f64, to, in, {});
  for (int64_t i = 0; i < to.numel(); ++i) {
    const bool taken = (i % kColumns * kRows + i / kColumns) % 3 == 0;
    ASSERT_EQ(to.data_as<double>()[i], taken ? a.data_as<double>()[i] : 0);
  }
}

}  // namespace
}  // namespace flambeau
