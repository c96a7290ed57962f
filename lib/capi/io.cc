// Weight files at the ABI.
#include "capi/gen/targets.h"
#include "io/weights.h"

namespace flambeau::capi {

void save(const flam_state* state, std::string_view path) { io::save(*state, path); }
Ref<flam_state> load(std::string_view path, Device device) {
  return io::load(path, device ? resolve(device) : device);
}

}  // namespace flambeau::capi
