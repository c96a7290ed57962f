// A device as streams, graphs and pools are asked for one.
#pragma once
#include "base/device.h"

namespace flambeau::capi {

// The device itself, or where none is given the current accelerator, CUDA before simulated.
Device accelerator_or(Device d);

}  // namespace flambeau::capi
