// CUDA_VISIBLE_DEVICES as we count with it, beside the devices that the driver's stand-in shows.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <vector>

#include "device/cuda/visible.h"

namespace flambeau::cuda {
namespace {

const std::vector<std::string> kTwo = {"GPU-a0111213-1415-1617-1819-1a1b1c1d1e1f",
                                       "GPU-a1111213-1415-1617-1819-1a1b1c1d1e1f"};

struct Unset {
  ~Unset() { unsetenv("CUDA_VISIBLE_DEVICES"); }
};

TEST(VisibleDevices, AreThoseThatTheDriverShows) {
  const Unset after;
  for (const char* text :
       {"",     "0",      "1",          "1,0",      " 1 , 0", "0,0",   "1,7,0",
        "7",    "-1",     "NoDevFiles", "0,-1",     "0,,1",   ",",     "0,",
        "1gpu", "GPU-a1", "GPU-a1,0",   "GPU-a1,1", "GPU-",   "GPU-b", "GPU-a0,GPU-a1"}) {
    setenv("CUDA_VISIBLE_DEVICES", text, 1);
    int shown = 0;
    cudaGetDeviceCount(&shown);
    EXPECT_EQ(visible_devices(text, kTwo), size_t(shown)) << '"' << text << '"';
  }
}

TEST(VisibleDevices, AreAllWithoutTheVariable) { EXPECT_EQ(visible_devices(nullptr, kTwo), 2u); }

TEST(VisibleDevices, AreNotCountedWherePartsAreNamed) {
  EXPECT_EQ(visible_devices("0,MIG-a1", kTwo), std::nullopt);
}

}  // namespace
}  // namespace flambeau::cuda
