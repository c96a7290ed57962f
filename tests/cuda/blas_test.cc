// Products by cuBLASLt over its stand-in, which holds a call to what was promised of its operands:
// views that begin anywhere, in any order, after others of the same shape, give the host's product
// without a breach; and where the library is missing, too old or has no algorithm, our own does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/warning.h"
#include "contract.h"
#include "device/cuda/blas_lt.h"
#include "device/graph.h"
#include "device/streams.h"
#include "kernels/gemm/precision.h"
#include "ops/ops.h"
#include "tests/kernels/tensors.h"

namespace flambeau {
namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

// [rows, cols] numbers that begin `offset` elements into their memory.
Tensor drawn(int64_t rows, int64_t cols, int64_t offset, Dtype dtype, unsigned seed) {
  const auto values = randoms<float>(size_t(rows * cols + offset), -1, 1, seed);
  const Tensor all = ops::to_dtype(tensor_of(values), dtype);
  return ops::reshape(ops::narrow(all, 0, offset, rows * cols), Dims{rows, cols});
}

// The same tensor on the device, as far into its memory.
Tensor there(const Tensor& t) {
  const Tensor base =
      ops::to_device(alias(t, Dims{t.offset() + t.numel()}, Dims{1}, 0), kCuda, false);
  return alias(base, t.sizes(), t.strides(), t.offset());
}

void expect_equal(const Tensor& found, const Tensor& wanted, double tolerance) {
  const auto a = values_of<double>(ops::to_dtype(ops::to_device(found, kCpu, false), Dtype::f64)),
             b = values_of<double>(ops::to_dtype(wanted, Dtype::f64));
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

// One operand after the other moves, the others stay.
void check_products() {
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16})
    for (int moved = 0; moved < 3; ++moved)
      for (int64_t offset : {0, 1, 2, 3}) {
        const auto by = [&](int operand) { return operand == moved ? offset : 0; };
        const Tensor a = drawn(8, 16, by(0), dtype, 1), b = drawn(16, 4, by(1), dtype, 2),
                     bias = ops::ravel(drawn(1, 4, by(2), dtype, 3));
        const double tolerance = is_half(dtype) ? 0.1 : 1e-5;
        expect_equal(ops::matmul(there(a), there(b)), ops::matmul(a, b), tolerance);
        expect_equal(ops::addmm(there(bias), there(a), there(b)), ops::addmm(bias, a, b),
                     tolerance);
      }
}

TEST(Products, OfViewsThatBeginAnywhere) {
  unsetenv("FLAMBEAU_STANDIN_CUBLASLT");
  ASSERT_NE(cuda::lt::functions_if_any(), nullptr);
  check_products();
  EXPECT_EQ(cuda_runtime::breaches(), 0);
}

// 1 + 2^-12 has more bits than TF32 holds: a product that may lose them is one of ones.
TEST(Products, LoseBitsWhereThatIsAllowedAndFromThenOn) {
  const Tensor a = there(tensor_of(std::vector<float>(128, 1 + 0x1p-12f), Dims{8, 16})),
               b = there(tensor_of(std::vector<float>(64, 1), Dims{16, 4}));
  const auto product = [&] {
    return values_of<float>(ops::to_device(ops::matmul(a, b), kCpu, false))[0];
  };
  for (const auto& [precision, wanted] : {std::pair{MatmulPrecision::highest, 16 + 0x1p-8f},
                                          {MatmulPrecision::high, 16.f},
                                          {MatmulPrecision::medium, 16.f},
                                          {MatmulPrecision::highest, 16 + 0x1p-8f}}) {
    matmul_precision = precision;
    EXPECT_EQ(product(), wanted) << int(precision);
  }
}

TEST(Products, ThatFailSayWhyAndTheNextOneWorks) {
  const Tensor a = there(drawn(8, 16, 0, Dtype::f32, 1)), b = there(drawn(16, 4, 0, Dtype::f32, 2));
  setenv("FLAMBEAU_STANDIN_CUBLASLT", "fails", 1);
  try {
    ops::matmul(a, b);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::internal);
    EXPECT_NE(std::string(e.what()).find(
                  "cuBLASLt: the product failed with CUBLAS_STATUS_EXECUTION_FAILED"),
              std::string::npos)
        << e.what();
  }
  unsetenv("FLAMBEAU_STANDIN_CUBLASLT");
  EXPECT_NO_THROW(ops::matmul(a, b));
  EXPECT_EQ(cuda_runtime::breaches(), 0);
}

struct Heard final : WarningSink {
  std::vector<std::string> texts;
  void warn(Warning, const std::string& text) override { texts.push_back(text); }
};

// What follows runs in processes of its own: what was found once stays.
template <class F>
void expect_in_a_process(const char* told, F&& checks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto whole = [&] {
    setenv("FLAMBEAU_STANDIN_CUBLASLT", told, 1);
    checks();
    EXPECT_EQ(cuda_runtime::breaches(), 0);
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(whole(), testing::ExitedWithCode(0), "");
}

// The program is told once what it is that cuBLASLt does not do.
void check_without(const char* why, bool present) {
  const auto heard = std::make_shared<Heard>();
  set_warning_sink(heard);
  check_products();
  EXPECT_EQ(cuda::lt::functions_if_any() != nullptr, present);
  ASSERT_EQ(heard->texts.size(), 1u);
  for (const char* part : {"flambeau's own kernel", "cuBLASLt", why})
    EXPECT_NE(heard->texts[0].find(part), std::string::npos) << heard->texts[0];
}

TEST(Products, AreOursWhereCublasLtHasNone) {
  expect_in_a_process("none", [] { check_without("no algorithm for a product of [8, 16]", true); });
}

TEST(Products, AreOursWhereCublasLtKnowsNoSuchGpu) {
  expect_in_a_process("arch", [] { check_without("CUBLAS_STATUS_ARCH_MISMATCH", true); });
}

TEST(Products, AreOursWhereCublasLtIsTooOld) {
  expect_in_a_process("old", [] { check_without("libcublasLt.so.13", false); });
}

Error error_of_a_product(const Tensor& a) {
  try {
    ops::matmul(a, a);
  } catch (const Error& e) {
    return e;
  }
  return {Code::ok, "none"};
}

Tensor big() { return empty(Dims{10 << 20}, Dtype::f32, kCuda); }  // of the 64 MiB

TEST(Products, EmptyTheCacheWhereCublasLtFindsNoMemory) {
  expect_in_a_process("memory", [] {
    const Tensor a = there(drawn(4, 4, 0, Dtype::f32, 1));
    Tensor held = big();
    for (int i = 0; i < 2; ++i) {
      const Error e = error_of_a_product(a);
      EXPECT_EQ(e.code, Code::out_of_device_memory) << e.what();
      EXPECT_NE(std::string(e.what()).find("CUBLAS_STATUS_ALLOC_FAILED"), std::string::npos)
          << e.what();
    }
    held = {};  // into the cache, which stays as it is while a graph is captured
    {
      const StreamScope on(create_stream(kCuda));
      const auto pool = make_ref<MemoryPool>(kCuda);
      const GraphCapture capture(current_stream(kCuda), *pool);
      EXPECT_EQ(error_of_a_product(a).code, Code::out_of_device_memory);
    }
    EXPECT_EQ(error_of_a_product(a).code, Code::ok);
  });
}

TEST(Products, WithoutAHandleAreOutOfMemory) {
  expect_in_a_process("uninitialised", [] {
    const Error e = error_of_a_product(there(drawn(4, 4, 0, Dtype::f32, 1)));
    EXPECT_EQ(e.code, Code::out_of_device_memory) << e.what();
    EXPECT_NE(std::string(e.what()).find("CUBLAS_STATUS_NOT_INITIALIZED"), std::string::npos)
        << e.what();
  });
}

// Which makes the handle and asks for an algorithm while a capture forbids the thread to allocate.
void capture_the_first_product(GraphCapture::Mode mode) {
  const Tensor a = drawn(8, 16, 0, Dtype::f32, 1), b = drawn(16, 4, 0, Dtype::f32, 2);
  const Tensor ours = there(a), theirs = there(b);
  const Stream side = create_stream(kCuda);
  wait_stream(side, current_stream(kCuda));
  const StreamScope on(side);
  const auto pool = make_ref<MemoryPool>(kCuda);
  GraphCapture capture(side, *pool, mode);
  const Tensor product = ops::matmul(ours, theirs);
  const Graph graph = capture.end();
  graph.launch(side);
  expect_equal(product, ops::matmul(a, b), 1e-5);
}

TEST(Products, MayBeTheFirstOnesInAGraph) {
  for (const auto mode : {GraphCapture::Mode::global, GraphCapture::Mode::thread_local_only})
    expect_in_a_process("", [=] { capture_the_first_product(mode); });
}

}  // namespace
}  // namespace flambeau
