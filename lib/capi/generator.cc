// Targets of generator.h: a seed and an offset are all of a generator's state; a device's default
// generator outlives its handles.
#include <sys/random.h>

#include "capi/gen/targets.h"
#include "graph/generator.h"

namespace flambeau::capi {

static Device with_index(Device d) { return resolve(d ? d : kCpu); }

Ref<flam_generator> generator_new(Device device) {
  check(!device.is_meta(), Code::unsupported, "tensors on meta have no elements to draw");
  return make_ref<flam_generator>(with_index(device));
}

Ref<flam_generator> generator_default(Device device) {
  return Ref<flam_generator>::share(&default_generator(with_index(device)));
}

void generator_manual_seed(flam_generator* g, uint64_t seed) { g->set_state({seed, 0}); }

uint64_t generator_seed(flam_generator* g) {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
    fail(Code::io, "the system gives no random number for a seed; choose one with manual_seed");
  }
  g->set_state({seed, 0});
  return seed;
}

uint64_t generator_initial_seed(const flam_generator* g) { return g->state().seed; }
uint64_t generator_offset(const flam_generator* g) { return g->state().offset; }

void generator_set_state(flam_generator* g, uint64_t seed, uint64_t offset) {
  g->set_state({seed, offset});
}

Device generator_device(const flam_generator* g) { return g->device; }
void manual_seed(uint64_t seed) { seed_default_generators(seed); }

}  // namespace flambeau::capi
