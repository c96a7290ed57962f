// Facts of the environment at the ABI.
#include "observe/environment.h"

#include "capi/gen/targets.h"
#include "capi/quiet.h"

namespace flambeau::capi {

const char* environment() {
  return borrowed_text([] { return observe::environment_json(); });
}

}  // namespace flambeau::capi
