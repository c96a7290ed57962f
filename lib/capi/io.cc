// Targets of io.h: a file's name says its format, and a file is whole or not written.
#include "capi/gen/targets.h"
#include "io/weights.h"

namespace flambeau::capi {

void save(const flam_state* state, std::string_view path) { io::save(*state, path); }
Ref<flam_state> load(std::string_view path, Device device) {
  return io::load(path, device ? resolve(device) : device);
}

}  // namespace flambeau::capi
