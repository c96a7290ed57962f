// Readings of a GPU and the processes on it, as its provider's monitoring library tells them.
#pragma once
#include <string_view>
#include <vector>

#include "device/hal.h"

namespace flambeau {

hal::Reading reading_named(std::string_view key);  // of flambeau/monitor.h; throws for any other
int64_t read_sensor(Device d, hal::Reading what);
std::vector<hal::Process> processes_on(Device d);

}  // namespace flambeau
