// What CUDA can answer instead of success. Every call of the runtime that a small program makes
// fails in its turn: the program gets an Error or is right, the next run of it works, and no call
// breaks the contract. What has a meaning of its own (no memory, no code for this GPU, a lost
// device) is told as that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "contract.h"
#include "device/event.h"
#include "device/graph.h"
#include "device/stats.h"
#include "device/streams.h"
#include "ops/ops.h"
#include "tests/kernels/tensors.h"

namespace flambeau {
namespace {

using cuda_runtime::fail_calls, cuda_runtime::heal;

constexpr Device kCuda{DeviceType::cuda, 0};
constexpr int kAlways = 1 << 30;

float first_of(const Tensor& t) { return values_of<float>(ops::to_device(t, kCpu, false))[0]; }

// Memory, a side stream, an event, a graph, a product by cuBLASLt, copies: 4 + 4 and 10 * 2 * 2.
constexpr float kRight = 48;
float work() {
  const Tensor two = ops::to_device(tensor_of(std::vector<float>(100, 2.0f)), kCuda, false);
  const Tensor square = ops::reshape(two, Dims{10, 10});
  const Stream side = create_stream(kCuda);
  wait_stream(side, current_stream(kCuda));
  record_stream(two.storage()->block(), side);
  Tensor four, eight, forty;
  {
    const StreamScope on(side);
    four = ops::add(two, two);
    const auto pool = make_ref<MemoryPool>(kCuda);
    GraphCapture capture(side, *pool);
    eight = ops::add(four, four);
    forty = ops::matmul(square, square);
    capture.end().launch(side);
    Event done(kCuda);
    done.record(side);
    done.synchronize();
    return first_of(eight) + first_of(ops::ravel(forty));
  }
}

// The error of a piece of work; a test that expects one fails where there is none.
template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {Code::internal, ""};
}

// Calls that give something back, and those that say on which device: where they fail, it stays.
bool gives_back(const std::string& call) {
  for (const char* part : {"Destroy", "Free", "Unregister", "cudaGetDevice", "cudaSetDevice"})
    if (call.find(part) != call.npos) return true;
  return false;
}

void expect_held(const cuda_runtime::Held& wanted, const std::string& when) {
  empty_cache(kCuda);
  const cuda_runtime::Held now = cuda_runtime::held();
  EXPECT_EQ(now.streams, wanted.streams) << when;
  EXPECT_LE(now.events, wanted.events + 1) << when;  // a block of the run that failed had another
  EXPECT_EQ(now.graphs, wanted.graphs) << when;
  EXPECT_EQ(now.bytes, wanted.bytes) << when;
}

TEST(Failures, OfAnyCallLeaveAProgramThatGoesOn) {
  for (int i = 0; i < 40; ++i) {  // until the pools of handles are full
    EXPECT_EQ(work(), kRight);
    empty_cache(kCuda);
  }
  cuda_runtime::Held before = cuda_runtime::held();
  for (const cudaError_t error :
       {cudaErrorUnknown, cudaErrorMemoryAllocation, cudaErrorInvalidValue})
    for (int n = 0;; ++n) {
      empty_cache(kCuda);
      fail_calls(nullptr, error, n);
      float found = kRight;
      try {
        found = work();
      } catch (const Error&) {
      }
      const char* call = heal();
      if (!call) break;
      const std::string when = cat_text("after call ", n, ", ", call, ", answered ", error);
      EXPECT_EQ(found, kRight) << "told as a success " << when;
      ASSERT_NO_THROW(EXPECT_EQ(work(), kRight) << when) << when;
      ASSERT_EQ(cuda_runtime::breaches(), 0) << when;
      if (gives_back(call)) empty_cache(kCuda), before = cuda_runtime::held();
      expect_held(before, when);
      if (HasFailure()) return;
    }
  cuda_runtime::forgive();  // what calls that gave back did not
}

TEST(Failures, OfMemoryAreOutOfMemory) {
  empty_cache(kCuda);
  fail_calls("cudaMalloc", cudaErrorMemoryAllocation, 0, kAlways);
  const Error e = error_of(work);
  EXPECT_TRUE(heal());
  EXPECT_EQ(e.code, Code::out_of_device_memory) << e.what();
  EXPECT_EQ(work(), kRight);
}

TEST(Failures, OfALaunchSayWhatToDo) {
  fail_calls("cudaLaunchKernel", cudaErrorNoKernelImageForDevice);
  const Error e = error_of(work);
  EXPECT_TRUE(heal());
  EXPECT_EQ(e.code, Code::no_kernel_image) << e.what();
  EXPECT_NE(std::string(e.what()).find("this GPU's architecture"), std::string::npos) << e.what();
  EXPECT_EQ(work(), kRight);
}

// In a process of its own, which ends in order.
void lose_the_device(const char* call, cudaError_t error) {
  EXPECT_EQ(work(), kRight);
  fail_calls(call, error);
  for (int i = 0; i < 3; ++i) {
    const Error e = error_of(work);
    EXPECT_EQ(e.code, Code::device_lost) << e.what();
    EXPECT_NE(std::string(e.what()).find(cudaGetErrorString(error)), std::string::npos) << e.what();
  }
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Failures, ThatLoseADeviceStay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends = testing::ExitedWithCode(0);
  EXPECT_EXIT(lose_the_device("cudaEventSynchronize", cudaErrorIllegalAddress), ends, "");
  int kinds = 0;
  for (int i = 0; i < cudaErrorUnknown; ++i) {
    if (!cuda_runtime::is_sticky(cudaError_t(i))) continue;
    EXPECT_EXIT(lose_the_device("cudaLaunchKernel", cudaError_t(i)), ends, "");
    ++kinds;
  }
  EXPECT_EQ(kinds, 16);
}

// By NVML's word and by the driver's own, each in a process of its own.
void find_an_old_driver(const char* nvml) {
  setenv("FLAMBEAU_STANDIN_DRIVER", "12020", 1);
  setenv("FLAMBEAU_STANDIN_NVML", nvml, 1);
  EXPECT_EQ(device_count(DeviceType::cuda), 0);
  const Error e = error_of(work);
  EXPECT_EQ(e.code, Code::driver_too_old) << e.what();
  EXPECT_NE(std::string(e.what()).find("it serves CUDA 12.2"), std::string::npos) << e.what();
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Failures, OfAnOldDriverSayWhichOneItIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(find_an_old_driver("works"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(find_an_old_driver("broken"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace flambeau
