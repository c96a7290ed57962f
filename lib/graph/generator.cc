// Default generators: made on first use, all from the seed that was set last.
#include "graph/generator.h"

#include <map>

#include "base/thread_state.h"

namespace flambeau {

namespace {

struct Defaults {
  std::mutex mutex;
  // As torch starts: a fixed seed, so that a program without one repeats.
  uint64_t seed = 67280421310721ull;
  std::map<int32_t, Ref<Generator>> by_device;
};

// Leaked on purpose: ops may run while statics are torn down.
Defaults& table() {
  static Defaults* d = new Defaults;
  return *d;
}

FLAM_THREAD_LOCAL Generator* t_override = nullptr;
const Carried<Generator*> carried_generator([]() -> Generator*& { return t_override; });

}  // namespace

Generator& default_generator(Device d) {
  if (t_override) return *t_override;
  std::lock_guard lock(table().mutex);
  Ref<Generator>& g = table().by_device[d.code()];
  if (!g) g = make_ref<Generator>(d, table().seed);
  return *g;
}

void seed_default_generators(uint64_t seed) {
  std::lock_guard lock(table().mutex);
  table().seed = seed;
  for (auto& [code, g] : table().by_device) g->set_state({seed, 0});
}

GeneratorStates::GeneratorStates() {
  if (t_override) entries_.push_back({Ref<Generator>::share(t_override), t_override->state()});
  std::lock_guard lock(table().mutex);
  for (const auto& [code, g] : table().by_device) entries_.push_back({g, g->state()});
  seed_ = table().seed;
}

void GeneratorStates::restore() const {
  std::lock_guard lock(table().mutex);
  for (const auto& [code, g] : table().by_device) g->set_state({seed_, 0});
  for (const Entry& e : entries_) e.generator->set_state(e.state);
}

GeneratorScope::GeneratorScope(Generator& g) : before_(t_override) { t_override = &g; }
GeneratorScope::~GeneratorScope() { t_override = before_; }

}  // namespace flambeau
