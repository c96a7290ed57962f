// Work that nothing orders breaks the contract, whoever enqueued it (a kernel, or cuBLASLt), and
// although no order in which the devices ran it shows; what the program orders does not. Each case
// is a process of its own, which ends with the status of a broken contract or with 0.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "device/runtime.h"
#include "device/streams.h"
#include "ops/ops.h"
#include "tests/kernels/tensors.h"

namespace flambeau {
namespace {

constexpr Device kCuda{DeviceType::cuda, 0};
const auto kKept = testing::ExitedWithCode(0), kBroken = testing::ExitedWithCode(97);

using Step = Tensor (*)(const Tensor& x);

Tensor doubled(const Tensor& x) { return ops::add(x, x); }
Tensor multiplied(const Tensor& x) { return ops::matmul(x, x); }

[[noreturn]] void end_after_synchronisation() {
  try {
    synchronize(kCuda);
  } catch (const Error&) {
  }
  std::exit(0);
}

// `second` reads on a side stream what `first` writes on the main one.
void pass_on(Step first, Step second, bool waits) {
  const Tensor x =
      ops::to_device(tensor_of(std::vector<float>(256, 1), Dims{16, 16}), kCuda, false);
  const Stream main = current_stream(kCuda), side = create_stream(kCuda);
  const Tensor y = first(x);
  if (waits) wait_stream(side, main);
  {
    const StreamScope on(side);
    const Tensor z = second(y);
  }
  if (waits) wait_stream(main, side);
  end_after_synchronisation();
}

TEST(Contract, OfOrderHoldsKernelsAndProducts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr const char* missing = "on stream 1 of .* reads .* missing wait_stream or event";
  EXPECT_EXIT(pass_on(doubled, doubled, false), kBroken, missing);
  EXPECT_EXIT(pass_on(multiplied, doubled, false), kBroken, missing);
  EXPECT_EXIT(pass_on(doubled, multiplied, false), kBroken, missing);
  EXPECT_EXIT(pass_on(doubled, doubled, true), kKept, "");
  EXPECT_EXIT(pass_on(multiplied, multiplied, true), kKept, "");
}

// The side stream's block is given back to its stream while the main one may still read it.
void drop_early(bool records) {
  const Stream main = current_stream(kCuda), side = create_stream(kCuda);
  {
    const StreamScope on(side);
    const Tensor x = ops::to_device(tensor_of(std::vector<float>(256, 1)), kCuda, false);
    wait_stream(main, side);
    const StreamScope back(main);
    if (records) record_stream(x.storage()->block(), main);
    const Tensor y = doubled(x);
  }
  end_after_synchronisation();
}

TEST(Contract, OfOrderHoldsTheAllocator) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(drop_early(false), kBroken, "missing record_stream");
  EXPECT_EXIT(drop_early(true), kKept, "");
}

TEST(Contract, OfOrderIsHeldWithoutASynchronisation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends_at_once = [] {
    const Tensor x = doubled(ops::to_device(tensor_of(std::vector<float>(256, 1)), kCuda, false));
    const StreamScope on(create_stream(kCuda));
    const Tensor y = doubled(x);
    std::exit(0);
  };
  EXPECT_EXIT(ends_at_once(), kBroken, "at the end: .* missing wait_stream");
}

}  // namespace
}  // namespace flambeau
