// What the runtime tests share: a clean simulated machine per test and small kernels over floats.
#pragma once
#include <gtest/gtest.h>

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

namespace flambeau {

inline constexpr Device kSim0{DeviceType::sim, 0}, kSim1{DeviceType::sim, 1};

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
  launch(s, "add_one", run_add_one, &args, sizeof args, {&access, 1});
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
    for (Device d : {kSim0, kSim1}) {
      empty_cache(d);
      EXPECT_EQ(memory_stats(d).allocated_bytes.of[kAllPools].current, 0) << to_string(d);
      EXPECT_EQ(memory_stats(d).reserved_bytes.of[kAllPools].current, 0) << to_string(d);
    }
  }

 private:
  static void reset() {
    fault::clear();
    for (Device d : {kSim0, kSim1}) {
      sim::revive(d.index);
      sim::fail_launch(d.index, 0);
      sim::set_capacity(d.index, size_t(64) << 20);
      set_per_process_memory_fraction(1, d);
      set_current_stream(default_stream(d));
    }
    sim::set_schedule(sim::Schedule::eager);
    sim::clear_races();
    set_current_device(kSim0);
  }
};

}  // namespace flambeau
