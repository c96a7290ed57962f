// The runtime tests run on two simulated devices; set before anyone asks for a device.
#include <gtest/gtest.h>

#include "device/sim/config.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  flambeau::sim::configure("devices=2,memory=64MiB,schedule=eager");
  return RUN_ALL_TESTS();
}
