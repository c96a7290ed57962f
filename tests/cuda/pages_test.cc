// Virtual memory by the driver's calls: what the provider makes of them, and the contract that the
// stand-in holds it to. The rest of the provider runs over such memory in the suite's second round.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "contract.h"
#include "device/allocator_settings.h"
#include "device/cuda/driver.h"
#include "device/runtime.h"
#include "device/stats.h"

namespace flambeau {
namespace {

using namespace cuda::driver;

constexpr Device kCuda1{DeviceType::cuda, 1};
constexpr size_t kMiB = size_t(1) << 20, kPage = 2 * kMiB;

class Paged : public testing::Test {
 protected:
  void SetUp() override {
    empty_cache(kCuda1);
    set_allocator_settings(parse_settings("expandable_segments:True"));
  }
  void TearDown() override {
    set_allocator_settings(before_);
    empty_cache(kCuda1);
    EXPECT_EQ(memory_stats(kCuda1).reserved_bytes.of[kAllPools].current, 0);
    EXPECT_EQ(cuda_runtime::breaches(), 0);
  }

 private:
  const AllocatorSettings before_ = allocator_settings();
};

float kept_by(Device d, size_t bytes) {
  const std::vector<float> given(bytes / sizeof(float), 3.0f);
  std::vector<float> back(given.size());
  const Memory m = allocate(d, bytes);
  copy_bytes(m.data, d, given.data(), kCpu, bytes, false);
  copy_bytes(back.data(), kCpu, m.data, d, bytes, false);
  deallocate(m.block);
  return back.back();
}

TEST_F(Paged, MemoryGrowsInPlace) {
  const int64_t before = memory_stats(kCuda1).num_device_alloc;
  for (const size_t n : {18, 30, 60}) EXPECT_EQ(kept_by(kCuda1, n * kMiB), 3);
  EXPECT_EQ(memory_stats(kCuda1).reserved_bytes.of[kAllPools].current, int64_t(60 * kMiB));
  EXPECT_EQ(memory_stats(kCuda1).num_device_alloc - before, 3);
}

TEST_F(Paged, FailuresAreToldAndLeaveNothing) {
  for (const char* call : {"cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess"})
    for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorNotSupported}) {
      empty_cache(kCuda1);
      cuda_runtime::fail_calls(call, error, 0, 1 << 30);
      Code code = Code::ok;
      try {
        kept_by(kCuda1, 4096);
      } catch (const Error& e) {
        code = e.code;
      }
      EXPECT_TRUE(cuda_runtime::heal()) << call;
      // Without addresses, or where pages fail for want of memory, a plain segment does.
      const bool works = error == cudaErrorMemoryAllocation;
      EXPECT_EQ(code, works ? Code::ok : Code::unsupported) << call;
      EXPECT_EQ(kept_by(kCuda1, 4096), 3) << call;
    }
}

// Each rule, broken: the call fails, and is counted.
TEST(Contract, OfPagesIsKept) {
  Pages p{};
  const auto bind = [](auto& f, const char* name) {
    f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(cuda::driver::function(name));
  };
  bind(p.reserve, "cuMemAddressReserve"), bind(p.release, "cuMemAddressFree");
  bind(p.create, "cuMemCreate"), bind(p.destroy, "cuMemRelease");
  bind(p.map, "cuMemMap"), bind(p.unmap, "cuMemUnmap"), bind(p.set_access, "cuMemSetAccess");
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  const Allocation here{kPinned, 0, {kOnDevice, 0}, nullptr, {}};
  const cuda::driver::Access mine{{kOnDevice, 0}, kReadWrite}, other{{kOnDevice, 1}, kReadWrite};
  Address at = 0;
  Handle handle = 0;
  int broken = 0;
  const auto breaks = [&](int error) {
    return error != kSuccess && cuda_runtime::breaches() == ++broken;
  };
  EXPECT_TRUE(breaks(p.reserve(&at, kPage + 4096, 0, 0, 0)));  // no whole pages
  EXPECT_TRUE(breaks(p.create(&handle, 4096, &here, 0)));
  ASSERT_EQ(p.reserve(&at, 4 * kPage, kPage, 0, 0), kSuccess);
  ASSERT_EQ(p.create(&handle, kPage, &here, 0), kSuccess);
  EXPECT_TRUE(breaks(p.map(at + 4096, kPage, 0, handle, 0)));       // not at a page
  EXPECT_TRUE(breaks(p.map(at + 4 * kPage, kPage, 0, handle, 0)));  // beyond the range
  EXPECT_TRUE(breaks(p.set_access(at, kPage, &mine, 1)));           // nothing is mapped
  ASSERT_EQ(p.map(at, kPage, 0, handle, 0), kSuccess);
  EXPECT_TRUE(breaks(p.map(at, kPage, 0, handle, 0)));                                // twice
  EXPECT_TRUE(breaks(cudaMemsetAsync(reinterpret_cast<void*>(at), 0, 64, nullptr)));  // no access
  EXPECT_TRUE(breaks(p.set_access(at, kPage, &other, 1)));  // for another device
  ASSERT_EQ(p.set_access(at, kPage, &mine, 1), kSuccess);
  ASSERT_EQ(p.destroy(handle), kSuccess);
  EXPECT_TRUE(breaks(p.destroy(handle)));  // a dead one
  ASSERT_EQ(cudaMemsetAsync(reinterpret_cast<void*>(at), 0, kPage, nullptr), cudaSuccess);
  EXPECT_TRUE(breaks(p.unmap(at, kPage)));  // while the device works
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(breaks(cudaFree(reinterpret_cast<void*>(at))));
  EXPECT_TRUE(breaks(p.unmap(at, 2 * kPage)));    // more than is mapped
  EXPECT_TRUE(breaks(p.release(at, 4 * kPage)));  // still mapped
  ASSERT_EQ(p.unmap(at, kPage), kSuccess);
  EXPECT_TRUE(breaks(p.release(at, kPage)));  // not the whole range
  ASSERT_EQ(p.release(at, 4 * kPage), kSuccess);
  (void)cudaGetLastError();
  cuda_runtime::forgive();
}

TEST(Contract, HandlesOfMemoryAreGivenUp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto forgets = [] {
    const auto create =
        reinterpret_cast<decltype(Pages::create)>(cuda::driver::function("cuMemCreate"));
    const Allocation here{kPinned, 0, {kOnDevice, 0}, nullptr, {}};
    Handle handle = 0;
    std::exit(create(&handle, kPage, &here, 0));
  };
  EXPECT_EXIT(forgets(), testing::ExitedWithCode(97), "handles of memory that nobody released");
}

}  // namespace
}  // namespace flambeau
