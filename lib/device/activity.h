// What devices ran, as a provider that traces tells it: kernels, copies and fills with their times
// on the host's steady clock. `launch` is the number under which the host asked for it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"

namespace flambeau {

struct Activity {
  enum class Kind : int8_t { kernel, copy, fill };

  Kind kind;
  std::string name;  // of copies and fills PyTorch's
  Device device;
  uint32_t stream;           // by the provider's own count
  int64_t begin_ns, end_ns;  // by steady_ns
  uint64_t launch = 0;       // 0: asked for by nobody that is known
};

struct Activities {
  std::vector<Activity> all;
  int64_t lost = 0;     // how many more there were
  std::string problem;  // why there is no trace
};

}  // namespace flambeau
