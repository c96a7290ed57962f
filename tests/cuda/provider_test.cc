// The calls of the CUDA provider: what they do to memory and in which order, on which device, and
// that none of them breaks the runtime's contract. What a test breaks on purpose it forgives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "base/error.h"
#include "contract.h"
#include "device/event.h"
#include "device/graph.h"
#include "device/runtime.h"
#include "device/streams.h"

namespace flambeau {
namespace {

constexpr Device kCuda0{DeviceType::cuda, 0}, kCuda1{DeviceType::cuda, 1};

class Provider : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(is_available(DeviceType::cuda)) << unavailable_reason(DeviceType::cuda);
    set_current_device(kCuda0);
  }
  void TearDown() override { EXPECT_EQ(cuda_runtime::breaches(), 0); }
};

struct Buffer {
  Memory memory;
  size_t n;

  Buffer(Device d, size_t count) : memory(allocate(d, count * sizeof(float))), n(count) {}
  ~Buffer() { deallocate(memory.block); }
  float* data() const { return static_cast<float*>(memory.data); }
};

std::vector<float> counted(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = float(i);
  return v;
}

TEST_F(Provider, CopiesThereAndBackAndAcross) {
  const std::vector<float> given = counted(1000);
  std::vector<float> back(given.size());
  const size_t bytes = given.size() * sizeof(float);
  const Buffer a(kCuda0, given.size()), b(kCuda1, given.size());
  copy_bytes(a.data(), kCuda0, given.data(), kCpu, bytes, false);
  for (int i = 0; i < 2; ++i) copy_bytes(b.data(), kCuda1, a.data(), kCuda0, bytes, false);
  copy_bytes(back.data(), kCpu, b.data(), kCuda1, bytes, false);
  EXPECT_EQ(back, given);
  EXPECT_EQ(cuda_runtime::peers(), (std::set<std::pair<int, int>>{{0, 1}}));
}

// Memory that another library has page-locked, or had managed, is read when the copy runs, not when
// it is enqueued: a blocking copy waits for that, one that does not block is at the program's own
// risk.
void expect_read_in_time(float* given) {
  const std::vector<float> wanted = counted(1000), later(1000, -1.0f);
  std::vector<float> back(1000);
  const Buffer a(kCuda0, 1000);
  for (const bool non_blocking : {false, true}) {
    std::ranges::copy(wanted, given);
    copy_bytes(a.data(), kCuda0, given, kCpu, 4000, non_blocking);
    std::ranges::copy(later, given);
    copy_bytes(back.data(), kCpu, a.data(), kCuda0, 4000, false);
    EXPECT_EQ(back, non_blocking ? later : wanted);
  }
}

TEST_F(Provider, BlockingCopiesHaveReadMemoryThatOthersPageLocked) {
  std::vector<float> given(1000);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaHostRegister(given.data(), 4000, 0), cudaSuccess);
  expect_read_in_time(given.data());
  ASSERT_EQ(cudaHostUnregister(given.data()), cudaSuccess);
}

TEST_F(Provider, BlockingCopiesHaveReadManagedMemory) {
  void* given = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&given, 4000, cudaMemAttachGlobal), cudaSuccess);
  expect_read_in_time(static_cast<float*>(given));
  const Buffer a(kCuda0, 1000);
  fill_bytes(a.data(), kCuda0, 0, 4000);
  copy_bytes(given, kCpu, a.data(), kCuda0, 4000, false);  // and written it
  EXPECT_EQ(*static_cast<float*>(given), 0);
  EXPECT_EQ(cudaFree(given), cudaSuccess);
}

TEST_F(Provider, StreamsRunInTheOrderOfTheirEvents) {
  const Stream side = create_stream(kCuda0);
  const std::vector<float> given = counted(500);
  std::vector<float> back(given.size());
  const size_t bytes = given.size() * sizeof(float);
  const Buffer a(kCuda0, given.size()), b(kCuda0, given.size());
  copy_bytes(a.data(), kCuda0, given.data(), kCpu, bytes, false);
  wait_stream(side, current_stream(kCuda0));
  {
    const StreamScope on(side);
    copy_bytes(b.data(), kCuda0, a.data(), kCuda0, bytes, true);
  }
  Event done(kCuda0);
  done.record(side);
  EXPECT_FALSE(done.query());
  wait_stream(current_stream(kCuda0), side);
  copy_bytes(back.data(), kCpu, b.data(), kCuda0, bytes, false);
  EXPECT_TRUE(done.query());
  EXPECT_EQ(back, given);
}

TEST_F(Provider, StreamsThatOthersMadeAreUsedAndLeftAlone) {
  cudaStream_t theirs = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithPriority(&theirs, cudaStreamNonBlocking, 0), cudaSuccess);
  const Stream s = external_stream(kCuda0, theirs);
  EXPECT_EQ(external_stream(kCuda0, theirs), s);
  const std::vector<float> given = counted(500);
  std::vector<float> back(given.size());
  {
    const StreamScope on(s);
    const Buffer a(kCuda0, given.size());
    copy_bytes(a.data(), kCuda0, given.data(), kCpu, 2000, false);
    copy_bytes(back.data(), kCpu, a.data(), kCuda0, 2000, false);
  }
  EXPECT_EQ(back, given);
  EXPECT_EQ(cudaStreamDestroy(theirs), cudaSuccess);
}

TEST_F(Provider, GraphsAreReplayed) {
  const Stream s = create_stream(kCuda0);
  const StreamScope on(s);
  const Buffer a(kCuda0, 100), b(kCuda0, 100);
  fill_bytes(a.data(), kCuda0, 0, 400);
  const auto pool = make_ref<MemoryPool>(kCuda0);
  GraphCapture capture(s, *pool);
  copy_bytes(b.data(), kCuda0, a.data(), kCuda0, 400, true);
  EXPECT_TRUE(is_capturing(s));
  const Graph graph = capture.end();
  const std::vector<float> given = counted(100);
  std::vector<float> back(100);
  copy_bytes(a.data(), kCuda0, given.data(), kCpu, 400, false);
  graph.launch(s);
  copy_bytes(back.data(), kCpu, b.data(), kCuda0, 400, false);
  EXPECT_EQ(back, given);
}

// A process that names cuda:1 only has a context there and nowhere else: each costs a GPU half a
// gigabyte.
TEST(Contexts, AppearWhereTheProgramWorks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto works_on_one = [] {
    std::vector<float> given = counted(100), back(100);
    set_current_device(kCuda1);
    const Memory pinned = allocate_pinned(400);  // before anything says where, but that
    const StreamScope on(create_stream(kCuda1));
    const Buffer a(kCuda1, 100);
    copy_bytes(a.data(), kCuda1, given.data(), kCpu, 400, false);
    copy_bytes(pinned.data, kCpu, a.data(), kCuda1, 400, true);
    Event done(kCuda1);
    done.record(current_stream(kCuda1));
    synchronize(kCuda1);
    deallocate(pinned.block);
    for (int d : cuda_runtime::contexts()) std::fprintf(stderr, "a context on %d\n", d);
    std::exit(cuda_runtime::contexts() == std::set<int>{1} ? 0 : 1);
  };
  EXPECT_EXIT(works_on_one(), testing::ExitedWithCode(0), "a context on 1");
}

TEST(Contract, OfGraphsIsKept) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr, other = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  int broken = 0;
  const auto breaks = [&](cudaError_t error) {
    return error != cudaSuccess && cuda_runtime::breaches() == ++broken;
  };
  EXPECT_TRUE(breaks(cudaGraphInstantiate(&other, graph, 0)));  // all of dead ones
  EXPECT_TRUE(breaks(cudaGraphDestroy(graph)));
  EXPECT_TRUE(breaks(cudaGraphLaunch(exec, stream)));
  EXPECT_TRUE(breaks(cudaGraphExecDestroy(exec)));
  EXPECT_TRUE(breaks(cudaGraphExecDestroy(nullptr)));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  (void)cudaGetLastError();
  cuda_runtime::forgive();
}

TEST(Contract, WhatIsMadeIsGivenBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto keeps_a_graph = [] {
    const Stream s = create_stream(kCuda0);
    const StreamScope on(s);
    const auto pool = make_ref<MemoryPool>(kCuda0);
    new Graph(GraphCapture(s, *pool).end());
    std::exit(0);
  };
  const auto keeps_a_registration = [] {
    static char host[64];
    std::exit(cudaSetDevice(0) != cudaSuccess || cudaHostRegister(host, 64, 0) != cudaSuccess);
  };
  const auto broken = testing::ExitedWithCode(97);
  EXPECT_EXIT(keeps_a_graph(), broken, "at the end: 1 graphs that nobody destroyed");
  EXPECT_EXIT(keeps_a_registration(), broken, "at the end: 1 pieces that nobody unregistered");
}

// Each rule, broken: the call fails, and is counted.
TEST(Contract, IsKept) {
  using cuda_runtime::breaches;
  void *here = nullptr, *there = nullptr;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&there, 64), cudaSuccess);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&here, 64), cudaSuccess);
  ASSERT_EQ(breaches(), 0);
  char host[64] = {};
  int broken = 0;
  const auto breaks = [&](cudaError_t error) {
    return error != cudaSuccess && breaches() == ++broken;
  };
  EXPECT_TRUE(breaks(cudaMemsetAsync(here, 0, 64, other)));     // a stream of another device
  EXPECT_TRUE(breaks(cudaMemsetAsync(there, 0, 64, nullptr)));  // memory of another device
  EXPECT_TRUE(breaks(cudaMemsetAsync(here, 0, 65, nullptr)));   // beyond its end
  EXPECT_TRUE(breaks(cudaMemcpyAsync(here, there, 8, cudaMemcpyHostToDevice, nullptr)));
  EXPECT_TRUE(breaks(cudaMemcpyAsync(host, host, 8, cudaMemcpyDeviceToHost, nullptr)));
  EXPECT_TRUE(breaks(cudaFree(static_cast<char*>(here) + 8)));
  EXPECT_TRUE(breaks(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal)));
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_TRUE(breaks(cudaEventRecord(event, nullptr)));  // a dead one
  ASSERT_EQ(
      cudaLaunchHostFunc(nullptr, [](void*) { (void)cudaFree(nullptr); }, nullptr), cudaSuccess);
  EXPECT_TRUE(breaks((cudaDeviceSynchronize(), cudaErrorUnknown)));  // CUDA in a host function
  EXPECT_EQ(cudaFree(here), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaFree(there), cudaSuccess);
  (void)cudaGetLastError();
  cuda_runtime::forgive();
}

}  // namespace
}  // namespace flambeau
