// Devices: the questions in the order in which the answer "no" explains most, as in
// device/cuda/availability.cc, but asked of any build, with the line that helps. Libraries are
// opened here as the first use would open them.
#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"
#include "device/devices.h"
#include "device/hal.h"
#include "device/library.h"
#include "device/runtime.h"
#include "device/sim_config.h"
#include "observe/environment.h"

namespace flambeau::observe {
namespace {

constexpr const char* kSimulate = "export FLAMBEAU_SIM=devices=1,as=cuda";

// Where no GPU is to be expected its absence is no fault: without CUDA in the build, or with
// FLAMBEAU_SIM, by which the user has said what to do without one.
State absent() {
  return hal::cuda_table && !std::getenv("FLAMBEAU_SIM") ? State::missing : State::neutral;
}

std::string version_text(int v) { return cat_text(v / 1000, '.', v % 1000 / 10); }

void add(Facts& facts, const char* name, State state, std::string value, std::string fix = {}) {
  facts.push_back({"cuda", name, state, std::move(value),
                   state == State::missing ? std::move(fix) : std::string()});
}

bool add_driver(Facts& facts) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) {
    const char* problem = dlerror();
    add(facts, "driver", absent(), problem ? problem : "libcuda.so.1: not found", kSimulate);
    return false;
  }
  int version = 0;
  const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  const bool told = ask && ask(&version) == 0;
  add(facts, "driver", State::well,
      told ? cat_text("serves CUDA ", version_text(version)) : "of unknown version");
  dlclose(driver);
  return true;
}

void add_libraries(Facts& facts, bool driver) {
  if (!hal::cuda_table) {
    return add(facts, "runtime", driver ? State::missing : State::neutral,
               "this build of flambeau has no CUDA", "make build CUDA=wheels");
  }
  const hal::Table& cuda = hal::cuda_table();
  add(facts, "runtime", State::well,
      version_text(cuda.runtime_version()) + ", linked into the library");
  if (!driver) return;
  try {
    add(facts, "cuBLASLt", State::well, cat_text(cuda.matmul_version()));
  } catch (const Error& e) {
    add(facts, "cuBLASLt", State::missing, e.problem + "\n" + e.facts, e.fix);
  }
}

std::string megabytes(size_t bytes) { return cat_text(bytes >> 20, " MiB"); }

void add_devices(Facts& facts, DeviceType type) {
  for (int i = 0; i < device_count(type); ++i) {
    const Device d{type, int16_t(i)};
    try {
      const DeviceProperties p = device_properties(d);
      const MemoryInfo memory = memory_info(d);
      facts.push_back({"devices",
                       to_string(d),
                       State::well,
                       cat_text(p.name, ", compute capability ", p.major, '.', p.minor, ", ",
                                p.multiprocessors, " multiprocessors, ", megabytes(memory.free),
                                " free of ", megabytes(memory.total)),
                       {}});
    } catch (const Error& e) {
      facts.push_back({"devices", to_string(d), State::missing, e.what(), e.fix});
    }
  }
}

void add_simulated(Facts& facts) {
  constexpr const char* schedules[] = {"eager", "lazy", "random", "threads"};
  constexpr const char* races[] = {"error", "report", "off"};
  const sim::Config& c = sim::config();
  if (!c.problem.empty()) {
    facts.push_back({"devices", "simulated", State::missing, c.problem, kSimulate});
  } else if (c.devices == 0) {
    facts.push_back(
        {"devices", "simulated", State::neutral, cat_text("none; ", kSimulate, " makes one"), {}});
  } else {
    facts.push_back(
        {"devices",
         "simulated",
         State::well,
         cat_text(c.devices, " with ", megabytes(c.memory), " each, answering to ",
                  to_string(Device{c.answers_to, -1}), ", schedule ", schedules[int(c.schedule)],
                  ", seed ", c.seed, ", kernels ", c.emulated_kernels ? "emulated" : "of the host",
                  ", races ", races[int(c.races)]),
         {}});
  }
}

}  // namespace

void add_device_facts(Facts& facts) {
  const bool driver = add_driver(facts);
  add_libraries(facts, driver);
  const std::string reason = unavailable_reason(DeviceType::cuda);
  if (reason.empty())
    add(facts, "usable", State::well, cat_text(device_count(DeviceType::cuda), " devices"));
  else
    add(facts, "usable", driver ? State::missing : absent(), reason, kSimulate);
  add_devices(facts, DeviceType::cuda);
  add_simulated(facts);
  add_devices(facts, DeviceType::sim);
  const std::string searched = library_report();
  if (!searched.empty()) facts.push_back({"libraries", "looked for", State::neutral, searched, {}});
}

}  // namespace flambeau::observe
