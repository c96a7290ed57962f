// The runtime tests run on two devices, simulated in one way or another; set before anyone asks for
// a device. A further argument is added to their configuration, as in "protection=mapping".
#include <gtest/gtest.h>

#include <string>

#include "device/sim_config.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string simulated = "devices=2,memory=64MiB,schedule=eager";
  if (argc > 1) simulated.append(",").append(argv[1]);
  flambeau::sim::configure(simulated);
  return RUN_ALL_TESTS();
}
