// What monitoring tells, as text: processes as JSON and for people, and a table of everything.
#pragma once
#include <string>

#include "base/device.h"

namespace flambeau::observe {

std::string processes_json(Device d);
std::string process_list(Device d);
std::string monitor_table();

}  // namespace flambeau::observe
