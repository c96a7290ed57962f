// Indexed reads and writes on a device give the host's results: rows of any width by words as wide
// as they allow, walks of several dimensions and lists, positions of true elements, and in
// deterministic mode whatever meets. Rows move at the memory's grain.
#include "kernels/index/index.h"

#include <array>

#include "kernels/deterministic.h"
#include "simulated.h"
#include "tests/harness/cuda_on_cpu/grid.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using IndexOnDevice = Simulated;

template <class T> Tensor numbers(Dims sizes) {
  std::vector<T> v(size_t(numel_of(sizes)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = T(float(i % 119));
  return tensor_of(v, sizes);
}

Tensor indices(int64_t n, int64_t size) {
  std::vector<int64_t> at(size_t(n), 0);
  for (size_t i = 0; i < at.size(); ++i)
    at[i] = int64_t(i * i * 7 % size_t(size)) - (i % 3 == 0 ? size : 0);
  return tensor_of(at);
}

void expect_bits(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(std::memcmp(got.data(), want.data(), want.nbytes()), 0) << name_of(want.dtype());
}

template <class T> void reads_and_sets_rows(int64_t width, int64_t skip) {
  const Tensor wide = numbers<T>(Dims{9, width + skip}), at = indices(50, 9), far = there(wide);
  const auto cut = [&](const Tensor& t) {
    return alias(t, Dims{9, width}, Dims{width + skip, 1}, skip);
  };
  const Tensor want = empty(Dims{50, width}, wide.dtype(), kCpu),
               got = empty(Dims{50, width}, wide.dtype(), kSim);
  run_index_read("index", want, cut(wide), {at});
  run_index_read("index", got, cut(far), {there(at)});
  expect_bits(back(got), want);
  const Tensor once = tensor_of<int64_t>({-9, 7, 1, 3});
  const Tensor rows = numbers<T>(Dims{4, width});
  run_index_write("index_put", kIndexSet, cut(wide), {once}, rows);
  run_index_write("index_put", kIndexSet, cut(far), {there(once)}, there(rows));
  expect_bits(back(far), wide);
}

TEST_F(IndexOnDevice, RowsOfAnyWidth) {
  for (const int64_t width : {1, 2, 3, 4, 8, 12, 33, 64}) {
    for (const int64_t skip : {0, 1, 4}) {
      reads_and_sets_rows<uint8_t>(width, skip);
      reads_and_sets_rows<Half>(width, skip);
      reads_and_sets_rows<float>(width, skip);
      reads_and_sets_rows<double>(width, skip);
    }
  }
}

TEST_F(IndexOnDevice, SeveralDimensionsAndLists) {
  const Tensor x = numbers<float>(Dims{5, 6, 7, 8}), far = there(x);
  const Tensor a = indices(10, 5), b = indices(10, 7);
  const IndexTensors lists[] = {{{}, indices(4, 6)}, {a, {}, b}, {{}, {}, {}, indices(3, 8)}, {a}};
  for (const IndexTensors& near : lists) {
    IndexTensors on;
    for (const Tensor& t : near) on.push_back(t.defined() ? there(t) : t);
    const Dims sizes = indexed_shape("index", x, near);
    const Tensor want = empty(sizes, Dtype::f32, kCpu), got = empty(sizes, Dtype::f32, kSim);
    run_index_read("index", want, x, near);
    run_index_read("index", got, far, on);
    expect_bits(back(got), want);
  }
}

TEST_F(IndexOnDevice, PositionsOfTrueElements) {
  for (const int64_t n : {1, 31, 4096, 4097, 20001}) {
    std::vector<float> v(size_t(n), 0.0f);
    for (size_t i = 0; i < v.size(); ++i) v[i] = i % 7 == 2 || i / 500 == 3 ? 1.0f : -0.0f;
    const Tensor x = tensor_of(v);
    expect_bits(back(true_positions("nonzero", there(x))), true_positions("nonzero", x));
  }
}

template <class T> void writes_meet(const Kernel& kernel) {
  for (const auto& [rows, columns, writes] :
       {std::array<int64_t, 3>{3, 1, 1500}, {40, 5, 300}, {2, 300, 20}, {7, 3, 1}}) {
    const Tensor start = tensor_of(randoms<T>(size_t(rows * columns), -3, 3), Dims{rows, columns});
    const Tensor values =
        tensor_of(randoms<T>(size_t(writes * columns), -3, 3, 5), Dims{writes, columns});
    const Tensor list = indices(writes, rows), far = there(start), crossed = there(start);
    std::vector<int64_t> each(size_t(writes * columns), 0);
    for (size_t i = 0; i < each.size(); ++i) each[i] = int64_t(i * i % size_t(rows));
    const Tensor index = tensor_of(each, Dims{writes, columns});
    const Tensor other = empty(start.sizes(), start.dtype(), kCpu);
    std::memcpy(other.data(), start.data(), start.nbytes());
    run_index_write("index_put", kernel, start, {list}, values);
    run_index_write("index_put", kernel, far, {there(list)}, there(values));
    expect_bits(back(far), start);
    run_scatter("scatter", kernel, other, 0, index, values);
    run_scatter("scatter", kernel, crossed, 0, there(index), there(values));
    expect_bits(back(crossed), other);
  }
}

// Floats in the host's order, whole numbers in any.
TEST_F(IndexOnDevice, DeterministicWritesAreTheHosts) {
  deterministic_algorithms = true;
  for (const uint64_t seed : {1, 2}) {
    cuda_on_cpu::set_seed(seed);
    writes_meet<float>(kIndexAdd);
    writes_meet<double>(kIndexSet);
    writes_meet<float>(kIndexMul);
    writes_meet<float>(kIndexMax);
    writes_meet<int64_t>(kIndexAdd);
    writes_meet<int16_t>(kIndexSet);
    writes_meet<int8_t>(kIndexMin);
  }
  deterministic_algorithms = false;
  cuda_on_cpu::set_seed(1);
}

TEST_F(IndexOnDevice, RowsMoveAtTheMemorysGrain) {
  const int64_t n = 256, width = 128;
  const Tensor x = there(numbers<Half>(Dims{300, width})), at = there(indices(n, 300)),
               y = empty(Dims{n, width}, Dtype::f16, kSim);
  synchronize(kSim);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_index_read("index", y, x, {at});
  synchronize(kSim);
  cuda_on_cpu::counting_traffic = false;
  EXPECT_EQ(cuda_on_cpu::traffic.launches, 1u);
  EXPECT_EQ(cuda_on_cpu::traffic.accesses, uint64_t(3 * n * width * 2 / 16));  // index, row, row
  EXPECT_LE(double(cuda_on_cpu::traffic.moved()), 1.05 * double(n * (8 + 2 * width * 2)));
}

}  // namespace
}  // namespace flambeau
