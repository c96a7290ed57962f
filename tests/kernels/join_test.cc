// Parts copied beside each other row by row are what copies one after the other make, of every
// dtype and stride, along every dimension, short and long.
#include "kernels/map/join.h"

#include <gtest/gtest.h>

#include "emulated.h"
#include "kernels/map/map.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

template <class T> Tensor numbers(const Dims& sizes, int64_t first) {
  const Tensor t = empty(sizes, dtype_of<T>, kCpu);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<T>()[i] = T((first + i) % 113);
  return t;
}

// [start, start + n) of dimension d.
Tensor part(const Tensor& t, size_t d, int64_t start, int64_t n) {
  Dims sizes(t.sizes());
  sizes[d] = n;
  return alias(t, sizes, t.strides(), t.offset() + start * t.strides()[d]);
}

// Dense, a part of something longer, mirrored, turned, and one row for all.
template <class T> std::vector<Tensor> operands(const Dims& sizes) {
  const Tensor dense = numbers<T>(sizes, 1),
               wide = numbers<T>({sizes[0], sizes[1], 2 * sizes[2]}, 2);
  const int64_t row = sizes[2], plane = sizes[1] * row;
  return {dense,
          part(wide, 2, sizes[2], sizes[2]),
          alias(dense, sizes, Dims{plane, row, -1}, row - 1),
          alias(dense, sizes, Dims{-plane, row, 1}, (sizes[0] - 1) * plane),
          alias(dense, sizes, Dims{1, sizes[0], sizes[0] * sizes[1]}, 0),
          alias(dense, sizes, Dims{0, row, 1}, 0)};
}

template <class T, class Out> void joins(const Dims& sizes, size_t d) {
  const std::vector<Tensor> from = operands<T>(sizes);
  Dims joined(sizes);
  joined[d] *= int64_t(from.size());
  const Tensor one = empty(joined, dtype_of<Out>, kCpu), other = empty(joined, dtype_of<Out>, kCpu);
  for (size_t count = 1; count <= from.size(); ++count) {
    run_cast(one, numbers<T>(joined, 5));
    run_cast(other, one);
    std::vector<Joined> parts;
    for (size_t i = 0; i < count; ++i) {
      const int64_t start = int64_t(i) * sizes[d];
      parts.push_back({part(one, d, start, sizes[d]), from[i]});
      run_cast(part(other, d, start, sizes[d]), from[i]);
    }
    run_join(parts, d);
    ASSERT_EQ(values_of<Out>(one), values_of<Out>(other)) << sizes[2] << " along " << d;
  }
}

void joins_of_every_size() {
  for (const Dims& sizes : {Dims{1, 1, 1}, Dims{3, 5, 7}, Dims{7, 3, 130}, Dims{2, 40, 516},
                            Dims{300, 1, 64}, Dims{4, 0, 3}}) {
    for (size_t d = 0; d < 3; ++d) {
      joins<uint8_t, uint8_t>(sizes, d);
      joins<int16_t, int16_t>(sizes, d);
      joins<float, float>(sizes, d);
      joins<double, double>(sizes, d);
      joins<float, double>(sizes, d);
    }
  }
}

TEST(Join, IsWhatCopiesMake) { joins_of_every_size(); }

TEST(Join, OfGpusIsWhatCopiesMake) {
  FLAM_EMULATED(emulated, kJoin);
  joins_of_every_size();
}

// Rows of 16-byte units of one part beside those of single bytes of another: one launch, and each
// line is moved once.
TEST(Join, OfGpusIsOneLaunch) {
  const Tensor wide = numbers<uint8_t>({8, 4096}, 1), odd = numbers<uint8_t>({8, 33}, 2),
               out = empty(Dims{8, 4129}, Dtype::u8, kCpu);
  const std::vector<Joined> parts{{part(out, 1, 0, 4096), wide}, {part(out, 1, 4096, 33), odd}};
  FLAM_EMULATED(emulated, kJoin);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_join(parts, 1);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 1u);
  EXPECT_LE(cuda_on_cpu::traffic.moved(), uint64_t(2 * out.nbytes()) * 105 / 100);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t row = i / 4129, column = i % 4129;
    ASSERT_EQ(out.data_as<uint8_t>()[i], column < 4096
                                             ? wide.data_as<uint8_t>()[row * 4096 + column]
                                             : odd.data_as<uint8_t>()[row * 33 + column - 4096]);
  }
}

// More parts than one launch holds, and some of them empty.
TEST(Join, TakesAnyNumberOfParts) {
  for (const int64_t count : {2, 63, 64, 65, 200}) {
    const Tensor x = numbers<float>({9, 40 * count}, 3), y = empty(x.sizes(), Dtype::f32, kCpu);
    std::vector<Joined> parts;
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back({part(y, 1, 40 * i, 40), part(x, 1, 40 * i, 40)});
      if (i % 3 == 0) parts.push_back({part(y, 1, 40 * i, 0), part(x, 1, 40 * i, 0)});
    }
    run_join(parts, 1);
    ASSERT_EQ(values_of<float>(y), values_of<float>(x));
  }
}

}  // namespace
}  // namespace flambeau
