// A library's workspace waits for its stream's next call, and for nobody else: what counts memory
// or has too little of it finds it free, and no capture, pool or other stream is given it.
#include "device/workspace.h"

#include "device/allocator.h"
#include "device/devices.h"
#include "device/memory_pool.h"
#include "simulated.h"

namespace flambeau {
namespace {

using Workspaces = Simulated;
constexpr size_t kMiB = size_t(1) << 20;

// Where a call's workspace was.
const void* used(Stream s, size_t bytes) {
  const StreamScope scope(s);
  return Workspace(s, bytes, "a workspace").data();
}

int64_t allocated() { return memory_stats(kFirst).allocated_bytes.of[kAllPools].current; }
int64_t allocations() { return memory_stats(kFirst).allocation.of[kAllPools].allocated; }

TEST_F(Workspaces, AreThoseOfTheStreamsLastCall) {
  const Stream s = default_stream(kFirst);
  const void* const first = used(s, 4096);
  const Buffer between(kFirst, 4096);
  EXPECT_NE(between.data(), first);  // it was not in the allocator's lists
  EXPECT_EQ(used(s, 4096), first);
  EXPECT_EQ(used(s, 100), first);
  EXPECT_NE(used(create_stream(kFirst), 4096), first);
  EXPECT_EQ(allocated(), 4096);
}

TEST_F(Workspaces, TakeTheAllocatorOnce) {
  const Stream s = default_stream(kFirst);
  const int64_t before = allocations();
  for (int i = 0; i < 5; ++i) used(s, 4096);
  EXPECT_EQ(allocations(), before + 1);
  for (int i = 0; i < 5; ++i) used(s, 8192);  // the counting gave the first one back
  EXPECT_EQ(allocations(), before + 2);
}

TEST_F(Workspaces, AtOnceAreApart) {
  const Stream s = default_stream(kFirst);
  used(s, 4096);
  {
    const Workspace one(s, 4096, "a workspace"), other(s, 4096, "a workspace");
    EXPECT_NE(one.data(), other.data());
    EXPECT_EQ(allocated(), 8192);
  }
  EXPECT_EQ(allocated(), 0);
}

TEST_F(Workspaces, AreNothingWhereMemoryIsCounted) {
  used(default_stream(kFirst), 4096);
  EXPECT_EQ(allocated(), 0);
  used(default_stream(kFirst), 4096);
  empty_cache(kFirst);
  EXPECT_EQ(memory_stats(kFirst).reserved_bytes.of[kAllPools].current, 0);
  reset_peak_memory_stats(kFirst);
  used(default_stream(kFirst), 4096);
  reset_peak_memory_stats(kFirst);
  EXPECT_EQ(memory_stats(kFirst).allocated_bytes.of[kAllPools].peak, 0);
}

TEST_F(Workspaces, GiveWayWhereMemoryIsShort) {
  const size_t most = memory_info(kFirst).free / kMiB * kMiB;
  used(default_stream(kFirst), most);
  const Buffer all(kFirst, most);
  EXPECT_EQ(allocated(), int64_t(most));
}

TEST_F(Workspaces, OfACaptureOrAPoolAreNotKept) {
  const Stream s = default_stream(kFirst);
  const void* const shared = used(s, 4096);
  CachingAllocator& allocator = allocator_of(kFirst);
  allocator.begin_capture();
  EXPECT_NE(used(s, 4096), shared);
  allocator.end_capture();
  EXPECT_EQ(used(s, 4096), shared);
  {
    const auto pool = make_ref<MemoryPool>(kFirst);
    const uint32_t before = use_pool(kFirst, pool->id);
    const void* const of_the_pool = used(s, 4096);
    EXPECT_NE(of_the_pool, shared);
    EXPECT_EQ(Buffer(kFirst, 4096).data(), of_the_pool);  // it went back there
    use_pool(kFirst, before);
  }
  EXPECT_EQ(used(s, 4096), shared);
}

TEST_F(Workspaces, AreCountedWhileEveryOneIsToFail) {
  const Stream s = default_stream(kFirst);
  used(s, 4096);
  fault::fail_allocation(2, fault::Mode::once);
  used(s, 4096);
  EXPECT_EQ(code_of([&] { used(s, 4096); }), Code::out_of_device_memory);
  fault::clear();
  EXPECT_NO_THROW(used(s, 4096));
  EXPECT_EQ(allocated(), 0);
}

}  // namespace
}  // namespace flambeau
