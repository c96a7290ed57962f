// Profiles with what the devices ran, over the stand-in for CUPTI: every kernel, copy and fill
// stands under the op that launched it, with a name to read; where CUPTI is of another version or
// refuses, the profile has the times of whole ops and says why.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "contract.h"
#include "device/graph.h"
#include "device/probe.h"
#include "device/streams.h"
#include "observe/profile.h"
#include "ops/ops.h"
#include "tests/kernels/tensors.h"

namespace flambeau {
namespace {

using observe::ProfileActivity;

constexpr Device kCuda0{DeviceType::cuda, 0}, kCuda1{DeviceType::cuda, 1};
constexpr const char* kLibrary = "libcupti.so.13";

void tell(const char* how) { setenv("FLAMBEAU_STANDIN_CUPTI", how, 1); }

template <class F> Ref<flam_profile> profiled(F&& work, const probe::Options& options = {}) {
  probe::start(options);
  work();
  return make_ref<flam_profile>(probe::stop());
}

Tensor square_on(Device d) {
  return ops::to_device(ops::reshape(tensor_of(std::vector<float>(16, 1)), Dims{4, 4}), d, false);
}

void work() {
  const Tensor a = square_on(kCuda0), b = ops::add(a, a);
  fill_bytes(b.data(), kCuda0, 0, 64);
  ops::to_device(ops::matmul(b, a), kCpu, false);
  ops::exp(square_on(kCuda1));
}

// "copy of op on cuda:0: name" for each activity, in the order in which they were asked for.
std::vector<std::string> told(const flam_profile& p) {
  std::vector<ProfileActivity> all = p.activities;
  std::ranges::stable_sort(all, {}, &ProfileActivity::asked_us);
  std::vector<std::string> out;
  for (const ProfileActivity& a : all)
    out.push_back(cat_text(a.category(), " of ",
                           a.event < 0 ? "nothing" : p.events[size_t(a.event)].name, " on ",
                           to_string(a.device), ": ", a.name));
  return out;
}

class Traces : public testing::Test {
 protected:
  void SetUp() override { tell(""); }
  void TearDown() override { EXPECT_EQ(cuda_runtime::breaches(), 0); }
};

TEST_F(Traces, TellOfEachOpWhatItRan) {
  for (const char* version : {"", "twelve"}) {
    tell(version);
    const auto p = profiled(work);
    EXPECT_EQ(told(*p),
              (std::vector<std::string>{"copy of to on cuda:0: Memcpy HtoD (Pageable -> Device)",
                                        "kernel of add on cuda:0: add_kernel",
                                        "fill of nothing on cuda:0: Memset (Device)",
                                        "kernel of matmul on cuda:0: cublasLtMatmul",
                                        "copy of to on cuda:0: Memcpy DtoH (Device -> Pageable)",
                                        "copy of to on cuda:1: Memcpy HtoD (Pageable -> Device)",
                                        "kernel of exp on cuda:1: exp_kernel"}));
    EXPECT_EQ(p->untraced, "");
    const std::string& symbol = p->activities[1].symbol;
    EXPECT_TRUE(symbol.starts_with("standin::") && symbol.ends_with("(float*, int)")) << symbol;
  }
}

TEST_F(Traces, HaveTheTimesOfTheHost) {
  const auto p = profiled(work);
  std::vector<double> sums(p->events.size());
  for (const ProfileActivity& a : p->activities) {
    EXPECT_GT(a.length_us, 0) << a.name;
    EXPECT_GE(a.begin_us, a.asked_us - 1000) << a.name;  // two looks at two clocks lie between
    EXPECT_LE(a.begin_us, p->length_us + 1000) << a.name;
    if (a.event >= 0) sums[size_t(a.event)] += a.length_us;
  }
  for (size_t i = 0; i < sums.size(); ++i)
    EXPECT_NEAR(p->events[i].of_device.self, sums[i], 1e-9) << p->events[i].name;
}

TEST_F(Traces, OfReplaysBelongToWhoeverReplays) {
  const StreamScope scope(create_stream(kCuda0));
  const Tensor a = square_on(kCuda0);
  const Stream side = current_stream(kCuda0);
  const auto pool = make_ref<MemoryPool>(kCuda0);
  GraphCapture capture(side, *pool);
  const Tensor b = ops::add(a, a);
  const Graph graph = capture.end();
  const auto p = profiled([&] {
    const probe::Span range(probe::Kind::range, "replay");
    for (int i = 0; i < 2; ++i) graph.launch(side);
  });
  ASSERT_EQ(told(*p).size(), 2u);
  for (const std::string& line : told(*p))  // a replay's kernels have their own names alone
    EXPECT_TRUE(line.starts_with("kernel of replay on cuda:0: standin::")) << line;
}

TEST_F(Traces, KeepThreadsApart) {
  const Tensor a = square_on(kCuda0);
  const auto p = profiled([&] {
    const auto fills = [&](const char* name) {
      const probe::Span range(probe::Kind::range, name);
      for (int i = 0; i < 50; ++i) fill_bytes(a.data(), kCuda0, i, 64);
    };
    std::thread other(fills, "other");
    fills("this");
    other.join();
  });
  for (const char* name : {"other", "this"})
    EXPECT_EQ(
        std::ranges::count(told(*p), cat_text("fill of ", name, " on cuda:0: Memset (Device)")),
        50);
}

// What the program gets instead: an op's time from its first launch to its last, and the reason.
void expect_untraced(const char* how, const char* reason) {
  tell(how);
  const auto p = profiled(work);
  EXPECT_EQ(p->activities.size(), 0u) << how;
  EXPECT_NE(p->untraced.find(reason), std::string::npos) << p->untraced;
  EXPECT_GT(std::ranges::find(p->events, "add", &observe::ProfileEvent::name)->of_device.total, 0);
}

TEST_F(Traces, ThatAreRefusedSayWhyAndLeaveTimesOfOps) {
  expect_untraced("privileges", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: the driver keeps profiling");
  expect_untraced("busy", "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: another profiler");
  expect_untraced("memory", "CUPTI_ERROR_OUT_OF_MEMORY");
  tell("drops");
  const auto p = profiled(work);
  EXPECT_EQ(p->activities.size() + size_t(p->lost_activities), 7u);
  EXPECT_GE(p->lost_activities, 3);
}

// In processes that have not opened it.
TEST(TracesOpen, CuptiWhenAProfileMeetsADevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto checks = [] {
    const auto opened = [] { return dlopen(kLibrary, RTLD_NOLOAD | RTLD_NOW) != nullptr; };
    work();
    profiled(work, {.device_time = false});
    profiled([] { ops::exp(square_on(kCpu)); });
    EXPECT_FALSE(opened());
    expect_untraced("old", "its API is version 18, needed is that of CUDA 12 or 13");
    tell("");
    profiled(work);
    EXPECT_TRUE(opened());
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(checks(), testing::ExitedWithCode(0), "");
}

// Each rule, broken: the call fails, and is counted.
TEST(Contract, OfCuptiIsKept) {
  tell("");
  void* const library = dlopen(kLibrary, RTLD_NOW);
  const auto call = [&]<class... A>(const char* name, A... args) {
    return reinterpret_cast<int (*)(A...)>(dlsym(library, name))(args...);
  };
  using Request = void (*)(uint8_t**, size_t*, size_t*);
  using Complete = void (*)(void*, unsigned, uint8_t*, size_t, size_t);
  alignas(8) static uint8_t memory[4096];
  static size_t misplaced = 4, filled = 0;
  const Request request = [](uint8_t** buffer, size_t* size, size_t*) {
    *buffer = memory + misplaced;
    *size = 2048;
  };
  const Complete complete = [](void*, unsigned, uint8_t*, size_t, size_t valid) { filled = valid; };
  int broken = 0;
  const auto breaks = [&](int error) { return error != 0 && cuda_runtime::breaches() == ++broken; };
  const auto flush = [&] { return call("cuptiActivityFlushAll", 1u); };
  uint8_t* record = nullptr;
  const auto read = [&](uint8_t* buffer, size_t bytes) {
    return call("cuptiActivityGetNextRecord", buffer, bytes, &record);
  };
  const Tensor a = square_on(kCuda0);
  EXPECT_TRUE(breaks(call("cuptiActivityRegisterCallbacks", Request(), complete)));
  ASSERT_EQ(call("cuptiActivityRegisterCallbacks", request, complete), 0);
  EXPECT_TRUE(breaks(call("cuptiActivityDisable", 2u)));  // before it is enabled
  for (unsigned kind : {2u, 10u}) ASSERT_EQ(call("cuptiActivityEnable", kind), 0);
  EXPECT_TRUE(breaks(call("cuptiActivityEnable", 2u)));
  EXPECT_TRUE(breaks(call("cuptiActivityPushExternalCorrelationId", 0u, uint64_t(1))));
  EXPECT_TRUE(breaks(call("cuptiActivityPopExternalCorrelationId", 3u, (uint64_t*)nullptr)));
  fill_bytes(a.data(), kCuda0, 0, 64);
  EXPECT_TRUE(breaks(flush()));  // before the device is done
  synchronize(kCuda0);
  EXPECT_TRUE(breaks((flush(), 1)));  // into a buffer that is not aligned
  misplaced = 0;
  fill_bytes(a.data(), kCuda0, 0, 64);
  synchronize(kCuda0);
  ASSERT_EQ(flush(), 0);
  EXPECT_TRUE(breaks(read(memory, filled + 8)));
  ASSERT_EQ(read(memory, filled), 0);
  EXPECT_TRUE(breaks(read(memory + 8, filled)));  // not one that was filled
  std::thread([&] { call("cuptiActivityPushExternalCorrelationId", 3u, uint64_t(1)); }).join();
  EXPECT_TRUE(breaks(1));  // and never popped
  for (unsigned kind : {2u, 10u}) ASSERT_EQ(call("cuptiActivityDisable", kind), 0);
  cuda_runtime::forgive();
}

}  // namespace
}  // namespace flambeau
