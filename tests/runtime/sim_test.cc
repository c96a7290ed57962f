// Simulated devices: where memory is, when work runs, how copies, faults and races behave.
#include "simulated.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "device/label.h"
#include "device/sim/arena.h"

namespace flambeau {
namespace {

using sim::Schedule;

constexpr size_t kN = 1000;
using Sim = Simulated;

// The system's kernel reads on our behalf and refuses where we would fault.
bool host_is_shut_out(const void* p) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return false;
  const bool refused = write(pipe_ends[1], p, 4) == -1;
  const int why = errno;
  close(pipe_ends[0]), close(pipe_ends[1]);
  errno = why;
  return refused;
}

TEST_F(Sim, HostCannotReadDeviceMemory) {
  Buffer x(kFirst, kN * 4);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  EXPECT_TRUE(host_is_shut_out(x.data()));
  EXPECT_EQ(errno, EFAULT);
  add_one(current_stream(kFirst), x.data(), kN);
  EXPECT_TRUE(host_is_shut_out(x.data()));
}

// By the signal, or by the exit that a sanitizer makes of it.
bool died(int status) { return WIFSIGNALED(status) || WEXITSTATUS(status) != 0; }

// Reads or writes device memory on the host, in a process that dies of it.
void touch_on_host(float* p, bool write) {
  sim::report_host_access_to(2);
  volatile float* const direct = p;
  if (write)
    *direct = 1;
  else
    static_cast<void>(*direct);
}

TEST_F(Sim, HostAccessIsAFaultThatIsNamed) {
  NEEDS_SIM("the stand-in knows of no tensors");
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* module = intern("net.0");
  ModuleLabel in_module(module);
  OpLabel op("linear");
  Buffer x(kSecond, kN * 4);
  EXPECT_EXIT(touch_on_host(x.data() + 3, false), died,
              "host code read device memory: sim:1, address 0x[0-9a-f]+, byte 12 of a block of "
              "4000 bytes from linear in net.0;.*cpu\\(\\)");
  EXPECT_EXIT(touch_on_host(x.data(), true), died, "host code wrote to device memory: sim:1");
  float* const stale = x.data();
  x.drop();
  EXPECT_EXIT(touch_on_host(stale, false), died, "where no tensor is now");
}

// A kernel opens device memory for its own thread only, and only while it runs.
TEST_F(Sim, HostAccessFaultsWhileAKernelRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Buffer x(kFirst, kN * 4);
  add_one(current_stream(kFirst), x.data(), kN);
  EXPECT_EXIT(
      {
        sim::set_schedule(Schedule::threads);
        sim::report_host_access_to(2);
        static std::atomic<bool> running{false};
        struct {
          float* x;
        } args{x.data()};
        launch_kernel(current_stream(kFirst), "endless",
                      [](void*, const void* a) {
                        for (;;) static_cast<float* const*>(a)[0][0] += 1, running = true;
                      },
                      &args, sizeof args, {});
        while (!running) std::this_thread::yield();
        touch_on_host(x.data(), false);
      },
      died, "host code read device memory: sim:0");
}

TEST_F(Sim, AKernelThatFailedShutsDeviceMemoryAgain) {
  Buffer x(kFirst, 64);
  struct {
    float* x;
    size_t n;
  } args{x.data() + (size_t(8) << 20), 1};
  launch_kernel(current_stream(kFirst), "bad", run_add_one, &args, sizeof args, {});
  EXPECT_EQ(code_of([] { synchronize(kFirst); }), Code::device_lost);
  EXPECT_TRUE(host_is_shut_out(x.data()));
}

// An int beside padding in which the upper half of an address was left must stay what it is, where
// kernels' arguments are searched for pointers.
TEST_F(Sim, SmallNumbersAreTakenForNoAddresses) {
  const Buffer x(kFirst, 4096);
  const auto at = reinterpret_cast<uintptr_t>(x.data());
  EXPECT_GE(uint32_t(at), 1u << 30);
  for (const uintptr_t upper : {at >> 32, (at >> 32) + 1, (at >> 32) - 1}) {
    uintptr_t words[] = {upper << 32 | 24, upper << 32 | 4096, at};
    sim::Arena::instance().translate_words(words, sizeof words);
    EXPECT_EQ(words[0], upper << 32 | 24);
    EXPECT_EQ(words[1], upper << 32 | 4096);
    const auto* inside = sim::Arena::instance().translate(reinterpret_cast<const char*>(at));
    EXPECT_EQ(words[2], reinterpret_cast<uintptr_t>(inside));
  }
}

// The key where the processor has one: the fallback must not hide that it is never taken.
TEST_F(Sim, ProtectionIsTheOneAskedForOrTheBest) {
  const int key = pkey_alloc(0, 0);  // a sandbox may refuse what the processor has
  const bool has_keys = key >= 0;
  if (has_keys) pkey_free(key);
  const bool wanted = sim::config().protection != sim::Protection::mapping;
  EXPECT_EQ(sim::uses_protection_key(), has_keys && wanted);
}

TEST_F(Sim, FreshMemoryIsPoison) {
  Buffer x(kFirst, kN * 4);
  for (float v : download(x.data(), kN, kFirst)) ASSERT_TRUE(std::isnan(v));
}

TEST_F(Sim, FreedMemoryIsPoison) {
  NEEDS_SIM(kRacesEndIt);
  float* stale;
  {
    Buffer x(kFirst, kN * 4);
    fill_bytes(x.data(), kFirst, 0, x.bytes);
    stale = x.data();
  }
  std::vector<float> seen(kN);
  const std::string message =
      message_of([&] { copy_bytes(seen.data(), kCpu, stale, kFirst, seen.size() * 4, false); });
  for (float v : seen) ASSERT_TRUE(std::isnan(v));
  EXPECT_NE(message.find("after they were freed"), message.npos) << message;
}

TEST_F(Sim, EverySchedulePreservesStreamOrder) {
  for (Schedule schedule : {Schedule::eager, Schedule::lazy, Schedule::random, Schedule::threads}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      sim::set_schedule(schedule, seed);
      Buffer x(kFirst, kN * 4);
      const Stream main = current_stream(kFirst), side = create_stream(kFirst);
      fill_bytes(x.data(), kFirst, 0, x.bytes);
      for (int i = 0; i < 4; ++i) {
        wait_stream(side, main);
        add_one(side, x.data(), kN);
        wait_stream(main, side);
        add_one(main, x.data(), kN);
      }
      for (float v : download(x.data(), kN, kFirst))
        ASSERT_EQ(v, 8) << int(schedule) << ' ' << seed;
    }
  }
  EXPECT_TRUE(sim::races().empty()) << sim::races()[0];
  sim::set_schedule(Schedule::eager);
}

TEST_F(Sim, LazyRunsNothingBeforeASync) {
  sim::set_schedule(Schedule::lazy);
  Buffer x(kFirst, kN * 4);
  const Stream s = current_stream(kFirst);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  EXPECT_FALSE(query(s));
  int polls = 0;
  while (!query(s)) ASSERT_LT(++polls, 100);  // but a waiting loop ends
  EXPECT_EQ(download(x.data(), 1, kFirst)[0], 0);
}

TEST_F(Sim, PageableUploadIsStagedPinnedIsNot) {
  sim::set_schedule(Schedule::lazy);
  Buffer x(kFirst, kN * 4), pinned(kN * 4);
  std::vector<float> pageable(kN, 1.f);
  copy_bytes(x.data(), kFirst, pageable.data(), kCpu, x.bytes, true);
  pageable.assign(kN, 2.f);
  EXPECT_EQ(download(x.data(), kN, kFirst)[kN - 1], 1);

  std::fill_n(pinned.data(), kN, 1.f);
  copy_bytes(x.data(), kFirst, pinned.data(), kCpu, x.bytes, true);
  pinned.data()[0] = 2;  // too early: the copy has not run
  EXPECT_EQ(download(x.data(), kN, kFirst)[0], 2);
}

TEST_F(Sim, PinnedDownloadIsThereAfterWaitForHostAccess) {
  sim::set_schedule(Schedule::lazy);
  Buffer x(kFirst, kN * 4), pinned(kN * 4);
  EXPECT_TRUE(is_pinned(pinned.data() + 1));
  EXPECT_FALSE(is_pinned(&x));
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  pinned.data()[0] = 7;
  copy_bytes(pinned.data(), kCpu, x.data(), kFirst, x.bytes, true);
  EXPECT_EQ(pinned.data()[0], 7);
  wait_for_host_access(pinned.memory.block);
  EXPECT_EQ(pinned.data()[0], 0);
}

TEST_F(Sim, PinnedBlockIsNotReusedWhileACopyReadsIt) {
  sim::set_schedule(Schedule::lazy);
  Buffer x(kFirst, kN * 4);
  const void* first;
  {
    Buffer pinned(kN * 4);
    first = pinned.data();
    std::fill_n(pinned.data(), kN, 3.f);
    copy_bytes(x.data(), kFirst, pinned.data(), kCpu, x.bytes, true);
  }
  Buffer next(kN * 4);
  EXPECT_NE(next.data(), first);
  std::fill_n(next.data(), kN, 4.f);
  EXPECT_EQ(download(x.data(), kN, kFirst)[5], 3);
}

TEST_F(Sim, CopiesBetweenDevicesWaitForBoth) {
  sim::set_schedule(Schedule::lazy);
  Buffer a(kFirst, kN * 4), b(kSecond, kN * 4);
  fill_bytes(a.data(), kFirst, 0, a.bytes);
  add_one(current_stream(kFirst), a.data(), kN);
  copy_bytes(b.data(), kSecond, a.data(), kFirst, a.bytes, true);
  add_one(current_stream(kFirst), a.data(), kN);
  EXPECT_EQ(download(b.data(), kN, kSecond)[0], 1);
  EXPECT_EQ(download(a.data(), kN, kFirst)[0], 2);
}

// CUDA says of a kernel's fault that there was one, and no more.
void expect_fault(const std::function<void()>& synchronisation, const char* text) {
  const std::string message = message_of(synchronisation);
  if (kFirst.type != DeviceType::sim) text = "an illegal memory access was encountered";
  EXPECT_NE(message.find(text), message.npos) << message;
}

TEST_F(Sim, KernelFaultShowsAtTheNextSyncAndStays) {
  Buffer x(kFirst, kN * 4);
  const Stream s = current_stream(kFirst);
  sim::fail_launch(0, 1);
  EXPECT_EQ(code_of([&] { add_one(s, x.data(), kN); }), Code::ok);
  expect_fault([&] { synchronize(s); },
               "kernel \"add_one\" failed (injected) on stream 0 of sim:0");
  EXPECT_EQ(code_of([&] { add_one(s, x.data(), kN); }), Code::device_lost);
  EXPECT_EQ(code_of([&] { synchronize(kFirst); }), Code::device_lost);
  EXPECT_EQ(code_of([&] { synchronize(kSecond); }), Code::ok);
}

TEST_F(Sim, IllegalAddressIsAFaultOfTheDevice) {
  Buffer x(kFirst, 64);
  struct {
    float* x;
    size_t n;
  } args{x.data() + (size_t(8) << 20), 1};  // beyond every segment
  launch_kernel(current_stream(kFirst), "bad", run_add_one, &args, sizeof args, {});
  expect_fault([] { synchronize(kFirst); }, "kernel \"bad\" accessed an illegal address");
}

TEST_F(Sim, ThrowingKernelIsAFaultOfTheDevice) {
  launch_kernel(current_stream(kFirst), "thrower",
                [](void*, const void*) { throw Error(Code::index, "why", "facts", "fix"); },
                nullptr, 0, {});
  expect_fault([] { synchronize(kFirst); },
               "kernel \"thrower\" failed: why on stream 0 of sim:0\n");
}

TEST_F(Sim, PointersInDeviceMemoryWork) {
  // A table of pointers that the translation of arguments cannot see.
  Buffer x(kFirst, kN * 4), table(kFirst, sizeof(float*));
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  float* const entry = x.data();
  copy_bytes(table.data(), kFirst, &entry, kCpu, sizeof entry, false);
  struct {
    float** table;
  } args{reinterpret_cast<float**>(table.data())};
  const Access access[] = {{table.data(), sizeof entry, false}, {x.data(), x.bytes, true}};
  launch_kernel(
      current_stream(kFirst), "indirect",
      [](void*, const void* a) { (*static_cast<float** const*>(a))[0][3] = 5; }, &args, sizeof args,
      access);
  EXPECT_EQ(download(x.data(), kN, kFirst)[3], 5);
}

TEST_F(Sim, HostIsShutOutAgainAfterSuchAKernel) {
  Buffer x(kFirst, kN * 4);
  float* const* const table = new float* const(x.data());  // a pointer behind a pointer of the host
  struct {
    float* const* table;
  } args{table};
  const Access access{x.data(), x.bytes, true};
  launch_kernel(current_stream(kFirst), "indirect",
                [](void*, const void* a) { (**static_cast<float* const* const*>(a))[0] = 5; },
                &args, sizeof args, {&access, 1});
  EXPECT_EQ(download(x.data(), 1, kFirst)[0], 5);
  delete table;
  EXPECT_TRUE(host_is_shut_out(x.data()));
}

TEST_F(Sim, VirtualClockGivesElapsedTime) {
  Buffer x(kFirst, 1 << 20);
  Event start(kFirst, true), end(kFirst, true);
  const Stream s = current_stream(kFirst);
  start.record(s);
  for (int i = 0; i < 10; ++i) fill_bytes(x.data(), kFirst, 0, x.bytes);
  end.record(s);
  end.synchronize();
  EXPECT_NEAR(start.elapsed_ms(end), 10 * (2 + 1.048576) / 1000, 1e-4);
}

TEST(SimConfig, MalformedTextGivesNoDevices) {
  EXPECT_EQ(sim::parse_config("").devices, 0);
  EXPECT_EQ(sim::parse_config("as=cuda").devices, 1);
  EXPECT_EQ(sim::parse_config("as=cuda,devices=0").devices, 0);
  const sim::Config c = sim::parse_config("devices=2,memory=lots");
  EXPECT_EQ(c.devices, 0);
  EXPECT_NE(c.problem.find("memory=lots"), c.problem.npos);
  const sim::Config good =
      sim::parse_config("devices=2,memory=256MiB,as=cuda,schedule=random(7),kernels=emu");
  EXPECT_EQ(good.devices, 2);
  EXPECT_EQ(good.memory, size_t(256) << 20);
  EXPECT_EQ(good.answers_to, DeviceType::cuda);
  EXPECT_EQ(good.schedule, Schedule::random);
  EXPECT_EQ(good.seed, 7u);
  EXPECT_TRUE(good.emulated_kernels);
}

}  // namespace
}  // namespace flambeau
