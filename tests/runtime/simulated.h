// What the runtime tests share: the two devices under test, which are simulated ones behind the HAL
// or, where FLAMBEAU_TEST_DEVICE says cuda, below the stand-in for CUDA's runtime; a clean machine
// per test, and small kernels over floats.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/event.h"
#include "device/fault.h"
#include "device/runtime.h"
#include "device/sim/control.h"
#include "device/stats.h"
#include "device/streams.h"
#include "tests/harness/cuda_on_cpu/grid.h"

namespace flambeau {

inline Device device_under_test(int16_t index) {
  const char* named = std::getenv("FLAMBEAU_TEST_DEVICE");
  return {parse_device(named ? named : "sim").type, index};
}
inline const Device kFirst = device_under_test(0), kSecond = device_under_test(1);

// First in a test, or in what sets it up, of something that only a device right behind the HAL has.
#define NEEDS_SIM(why) \
  if (kFirst.type != DeviceType::sim) GTEST_SKIP() << why
inline constexpr const char* kRacesEndIt =
    "over the stand-in a race breaks the contract, and no process that broke it ends well";

// Owns one allocation.
struct Buffer {
  Memory memory;
  size_t bytes;

  Buffer(Device d, size_t bytes) : memory(allocate(d, bytes)), bytes(bytes) {}
  explicit Buffer(size_t bytes) : memory(allocate_pinned(bytes)), bytes(bytes) {}
  Buffer(Buffer&& o) noexcept : memory(std::exchange(o.memory, {})), bytes(o.bytes) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(memory, o.memory), std::swap(bytes, o.bytes);
    return *this;
  }
  ~Buffer() { drop(); }
  void drop() { deallocate(std::exchange(memory, {}).block); }
  float* data() const { return static_cast<float*>(memory.data); }
};

// A kernel of the host's code. What CUDA launches is a function of the host that puts the kernel on
// its stream, as the emulated ones do.
inline void launch_kernel(Stream s, const char* name, KernelFn fn, const void* args = nullptr,
                          size_t bytes = 0, std::span<const Access> accesses = {}) {
  if (s.device.type == DeviceType::sim) return launch(s, name, fn, args, bytes, accesses);
  struct {
    const char* name;
    KernelFn fn;
    const void* args;
    size_t bytes;
  } call{name, fn, args, bytes};
  launch(
      s, name,
      [](void* stream, const void* p) {
        const auto& c = *static_cast<const decltype(call)*>(p);
        cuda_on_cpu::enqueue(stream, c.name, c.fn, c.args, c.bytes);
      },
      &call, sizeof call, accesses);
}

// Not watched: some tests leave out a synchronisation, and the device's checker is to name it.
[[gnu::no_sanitize("thread")]] inline void run_add_one(void*, const void* args) {
  struct Args {
    float* x;
    size_t n;
  };
  const Args& a = *static_cast<const Args*>(args);
  for (size_t i = 0; i < a.n; ++i) a.x[i] += 1;
}

// x[0..n) += 1 on stream s
inline void add_one(Stream s, float* x, size_t n) {
  struct {
    float* x;
    size_t n;
  } args{x, n};
  const Access access{x, n * sizeof(float), true};
  launch_kernel(s, "add_one", run_add_one, &args, sizeof args, {&access, 1});
}

inline std::vector<float> download(const float* x, size_t n, Device d) {
  std::vector<float> host(n);
  copy_bytes(host.data(), kCpu, x, d, n * sizeof(float), false);
  return host;
}

inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

inline Code code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code;
  }
  return Code::ok;
}

class Simulated : public testing::Test {
 protected:
  void SetUp() override { reset(); }
  void TearDown() override {
    reset();
    for (Device d : {kFirst, kSecond}) {
      empty_cache(d);
      EXPECT_EQ(memory_stats(d).allocated_bytes.of[kAllPools].current, 0) << to_string(d);
      EXPECT_EQ(memory_stats(d).reserved_bytes.of[kAllPools].current, 0) << to_string(d);
    }
  }

 private:
  static void reset() {
    fault::clear();
    for (Device d : {kFirst, kSecond}) {
      sim::revive(d.index);
      sim::fail_launch(d.index, 0);
      sim::set_capacity(d.index, size_t(64) << 20);
      set_per_process_memory_fraction(1, d);
      set_current_stream(default_stream(d));
    }
    sim::set_schedule(sim::Schedule::eager);
    sim::clear_races();
    set_current_device(kFirst);
  }
};

}  // namespace flambeau
