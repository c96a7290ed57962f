// The simulated device that runs emulated CUDA kernels, for tests that hold them to the host's, and
// tensors' way there and back.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/runtime.h"
#include "kernels/fold/fold.h"
#include "tensors.h"

namespace flambeau {

// Before anything asks for devices, and whatever the environment asks for.
inline const bool kAsked = setenv("FLAMBEAU_SIM", "devices=1,kernels=emu", 1) == 0;
inline const Device kSim{DeviceType::sim, 0};

inline Tensor there(const Tensor& t) {
  const Tensor on = empty(t.sizes(), t.dtype(), kSim);
  copy_bytes(on.data(), kSim, t.data(), kCpu, t.nbytes(), false);
  return on;
}
inline Tensor back(const Tensor& t) {
  const Tensor here = empty(t.sizes(), t.dtype(), kCpu);
  copy_bytes(here.data(), kCpu, t.data(), kSim, t.nbytes(), false);
  return here;
}

// Builds without the emulation have no such kernels: the test says so.
class Simulated : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kAsked);
    if (!is_available(DeviceType::sim) || !kSum.cells[int(KernelColumn::emu)][int(Dtype::f32)]) {
      GTEST_SKIP() << "no emulated kernels in this build";
    }
  }
};

}  // namespace flambeau
