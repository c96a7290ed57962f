// Random kernels of GPUs, executed: the same numbers as the host's at every length and address, and
// dropout moves its two tensors and no more.
#include <gtest/gtest.h>

#include "emulated.h"
#include "kernels/random/random.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

Tensor from_element(Dtype dtype, int64_t first, int64_t n) {
  const Tensor all = empty(Dims{first + n}, dtype, kCpu);
  std::memset(all.data(), 0, all.nbytes());
  return alias(all, Dims{n}, Dims{1}, first);
}

std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.data()), size_t(t.nbytes())};
}

template <class Make> void expect_same(Kernel& kernel, Dtype dtype, const Make& make) {
  for (const int64_t n : {1, 16, 63, 64, 500, 4096}) {
    const Tensor want = from_element(dtype, 0, n);
    make(want);
    FLAM_EMULATED(emulated, kernel);
    for (const int64_t first : {0, 1}) {
      const Tensor got = from_element(dtype, first, n);
      make(got);
      ASSERT_TRUE(bytes_of(got) == bytes_of(want)) << kernel.name << name_of(dtype) << n << first;
    }
  }
}

constexpr RandomState kState{(uint64_t{7} << 32) | 5, 11};

TEST(RandomDevice, DrawsWhatTheHostDraws) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
    expect_same(kDropout, dtype, [&](const Tensor& out) {
      const Tensor x = from_element(dtype, 0, out.numel());
      with_dtype(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t i = 0; i < x.numel(); ++i) x.data_as<T>()[i] = T(float(i % 37 + 1));
      });
      run_random("dropout", kDropout, out, {kState}, {0.3}, {.input = x});
    });
  }
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::u8, Dtype::boolean, Dtype::i64}) {
    for (const double p : {0.0, 0.25, 1.0}) {
      expect_same(kBernoulli, dtype, [&](const Tensor& out) {
        run_random("bernoulli", kBernoulli, out, {kState}, {p});
      });
    }
    if (dtype == Dtype::boolean) continue;
    expect_same(kRandint, dtype, [&](const Tensor& out) {
      run_random("randint", kRandint, out, {kState}, {}, {.low = 3, .high = 100});
    });
  }
}

TEST(RandomDevice, DropoutMovesItsTwoTensors) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
    const Tensor x = from_element(dtype, 0, 1 << 14), out = from_element(dtype, 0, 1 << 14);
    FLAM_EMULATED(emulated, kDropout);
    cuda_on_cpu::traffic = {};
    cuda_on_cpu::counting_traffic = true;
    run_random("dropout", kDropout, out, {kState}, {0.5}, {.input = x});
    cuda_on_cpu::counting_traffic = false;
    const auto held = uint64_t(x.nbytes() + out.nbytes());
    EXPECT_EQ(cuda_on_cpu::traffic.moved(), held) << name_of(dtype);
    EXPECT_EQ(cuda_on_cpu::traffic.asked, held) << name_of(dtype);
    EXPECT_EQ(cuda_on_cpu::traffic.accesses, held / 16) << name_of(dtype);
  }
}

}  // namespace
}  // namespace flambeau
