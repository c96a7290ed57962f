// The CUDA provider over the stand-in for its runtime: two devices on which nothing runs before
// someone waits for it.
#include <gtest/gtest.h>

#include "device/sim_config.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  flambeau::sim::configure("devices=2,memory=64MiB,schedule=lazy");
  return RUN_ALL_TESTS();
}
