// Monitoring over the stand-in for NVML, whose GPUs are numbered the other way round, and looking
// for devices without initialising CUDA.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "contract.h"
#include "device/devices.h"
#include "device/fork.h"
#include "device/monitor.h"
#include "device/runtime.h"
#include "driver.h"

namespace flambeau {
namespace {

using hal::Reading;

constexpr Device kCuda0{DeviceType::cuda, 0}, kCuda1{DeviceType::cuda, 1};

void tell(const char* how) {
  if (how)
    setenv("FLAMBEAU_STANDIN_NVML", how, 1);
  else
    unsetenv("FLAMBEAU_STANDIN_NVML");
}

TEST(Monitor, ReadsTheGpuOfThatNumber) {
  for (const Device d : {kCuda0, kCuda1}) {
    EXPECT_EQ(read_sensor(d, Reading::utilization), 50 + d.index);
    EXPECT_EQ(read_sensor(d, Reading::memory_utilization), 20 + d.index);
    EXPECT_EQ(read_sensor(d, Reading::temperature), 40 + d.index);
    EXPECT_EQ(read_sensor(d, Reading::power_draw), 300000 + d.index);
    EXPECT_EQ(read_sensor(d, Reading::clock_rate), 1000 + d.index);
    EXPECT_EQ(read_sensor(d, Reading::memory_total), 64 << 20);
  }
  EXPECT_EQ(cuda_runtime::breaches(), 0);
}

TEST(Monitor, CountsWhatAllProcessesUse) {
  const int64_t before = read_sensor(kCuda1, Reading::memory_used);
  const Memory held = allocate(kCuda1, 8 << 20);
  EXPECT_GE(read_sensor(kCuda1, Reading::memory_used), before + (8 << 20));
  EXPECT_EQ(read_sensor(kCuda1, Reading::memory_used) + read_sensor(kCuda1, Reading::memory_free),
            read_sensor(kCuda1, Reading::memory_total));
  deallocate(held.block);
}

TEST(Monitor, ListsProcessesHoweverManyThereAre) {
  ASSERT_EQ(processes_on(kCuda0).size(), 2u);
  EXPECT_EQ(processes_on(kCuda0)[0].pid, getpid());
  EXPECT_EQ(processes_on(kCuda0)[1].bytes, -1);  // the driver does not tell
  tell("crowded");
  EXPECT_EQ(processes_on(kCuda0).size(), 40u);
  tell(nullptr);
}

TEST(Monitor, SaysWhatAGpuDoesNotTell) {
  tell("cool");
  try {
    read_sensor(kCuda0, Reading::power_draw);
    FAIL() << "there is no such sensor";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::unsupported);
    EXPECT_NE(std::string(e.what()).find("Not Supported"), std::string::npos) << e.what();
  }
  tell(nullptr);
  EXPECT_THROW(reading_named("fan"), Error);
  EXPECT_THROW(read_sensor(kCpu, Reading::utilization), Error);
}

// One that has fallen off the bus: every question of it, until the driver has it back.
TEST(Monitor, SaysThatAGpuIsLost) {
  tell("lost");
  const auto expect_lost = [](auto&& ask) {
    try {
      ask();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      EXPECT_EQ(e.code, Code::device_lost);
      EXPECT_NE(std::string(e.what()).find("NVML: GPU is lost"), std::string::npos) << e.what();
    }
  };
  for (const Reading r : {Reading::utilization, Reading::memory_used, Reading::power_draw})
    expect_lost([r] { read_sensor(kCuda0, r); });
  expect_lost([] { processes_on(kCuda0); });
  tell(nullptr);
  EXPECT_EQ(read_sensor(kCuda0, Reading::utilization), 50);
  EXPECT_EQ(cuda_runtime::breaches(), 0);
}

// Of an old driver's: there are devices, but their sensors cannot be read.
TEST(Monitor, SaysThatNvmlIsTooOld) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto reads = [] {
    tell("old");
    EXPECT_EQ(device_count(DeviceType::cuda), 2);
    try {
      read_sensor(kCuda0, Reading::utilization);
    } catch (const Error& e) {
      std::fprintf(stderr, "%s, %d", e.what(), int(e.code == Code::library_version));
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(reads(), testing::ExitedWithCode(0),
              "NVML at .* has no function nvmlDeviceGetComputeRunningProcesses_v3\n"
              ".*install NVIDIA's driver.*, 1");
}

// Children of this test that have not used CUDA: each looks for devices and tells whether that
// initialised it.
int devices_found(const char* nvml, const char* visible) {
  tell(nvml);
  if (visible) setenv("CUDA_VISIBLE_DEVICES", visible, 1);
  const int count = device_count(DeviceType::cuda);
  std::fprintf(stderr, "%d devices, initialised: %s", count,
               cuda_runtime::is_initialised() ? "yes" : "no");
  std::exit(0);
}

TEST(Looking, LeavesCudaUninitialised) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends = testing::ExitedWithCode(0);
  EXPECT_EXIT(devices_found(nullptr, nullptr), ends, "2 devices, initialised: no");
  EXPECT_EXIT(devices_found(nullptr, "1"), ends, "1 devices, initialised: no");
  EXPECT_EXIT(devices_found(nullptr, "7"), ends, "0 devices, initialised: no");
  EXPECT_EXIT(devices_found("mig", "1"), ends, "1 devices, initialised: yes");
  EXPECT_EXIT(devices_found("broken", "0,1"), ends, "2 devices, initialised: yes");
}

TEST(Monitor, FollowsCudaVisibleDevices) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto reads_the_shown_one = [] {
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    std::fprintf(stderr, "%lld percent",
                 static_cast<long long>(read_sensor(kCuda0, Reading::utilization)));
    std::exit(0);
  };
  EXPECT_EXIT(reads_the_shown_one(), testing::ExitedWithCode(0), "51 percent");
}

}  // namespace
}  // namespace flambeau
