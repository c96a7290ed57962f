// The library itself and the environment variables, and all facts as JSON. A variable of our prefix
// that nobody reads is a fault: it is a typing error that would go unnoticed.
#include "observe/environment.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/setting.h"
#include "flambeau/common.h"

namespace flambeau::observe {
namespace {

struct Variable {
  const char* name;
  const char* meaning;
  bool secret = false;  // who pastes a report shows it to everybody
};
// Those of the engine, of the bindings, of the tests, and of CUDA's driver.
constexpr Variable kVariables[] = {
    {"FLAMBEAU_LIBRARY", "the library that bindings open"},
    {"FLAMBEAU_SIM", "simulated devices"},
    {"FLAMBEAU_EMU_SEED", "order of emulated threads"},
    {"FLAMBEAU_ISA", "caps the instruction set"},
    {"FLAMBEAU_NUM_THREADS", "threads of the cpu"},
    {"FLAMBEAU_CPU_MEMORY", "limits the cpu's memory"},
    {"FLAMBEAU_LAUNCH_BLOCKING", "waits after every kernel"},
    {"FLAMBEAU_ALLOC_CONF", "how the caches of GPUs' memory behave"},
    {"FLAMBEAU_TRACK_HANDLES", "records where handles are made"},
    {"FLAMBEAU_CHECK", "handles: looks every handle up; handles,stop: stops at a wrong one"},
    {"FLAMBEAU_JOB_KEY", "by which the processes of a job know each other", true},
    {"FLAMBEAU_ROUND", "which meeting of nodes that come and go"},
    {"FLAMBEAU_LIB_DIR", "where Rust links the library from"},
    {"FLAMBEAU_TEST_TORCH", "a Python that has PyTorch, for tests"},
    {"FLAMBEAU_BENCH_TORCH", "a Python that has PyTorch, for benchmarks"},
    {"CUDA_VISIBLE_DEVICES", "GPUs that the driver shows"},
    {"CUDA_LAUNCH_BLOCKING", "waits after every kernel"},
    {"PYTORCH_ALLOC_CONF", "how the caches of GPUs' memory behave"},
    {"PYTORCH_CUDA_ALLOC_CONF", "how the caches of GPUs' memory behave"},
    {"CUDA_HOME", "where CUDA's libraries are looked for"},
    {"CUDA_PATH", "where CUDA's libraries are looked for"},
};

const Variable* known(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kVariables, [&](const Variable& v) { return name == v.name; });
  return found == std::end(kVariables) ? nullptr : found;
}

// Letters that differ when the shorter is laid over the longer: enough to find a typing error.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const char* nearest(std::string_view name) {
  return std::ranges::min_element(kVariables, {},
                                  [&](const Variable& v) { return distance(name, v.name); })
      ->name;
}

std::string own_path() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&own_path), &info) || !info.dli_fname) return "unknown";
  return info.dli_fname;
}

void add_library_facts(Facts& facts) {
  const std::string version =
      cat_text(FLAM_VERSION_MAJOR, '.', FLAM_VERSION_MINOR, '.', FLAM_VERSION_PATCH);
  facts.push_back({"library", "flambeau", State::well, version, {}});
  facts.push_back({"library", "file", State::well, own_path(), {}});
  facts.push_back({"library",
                   "compiler",
                   State::neutral,
#if defined(__clang__)
                   "clang " __clang_version__,
#else
                   "gcc " __VERSION__,
#endif
                   {}});
}

const char* state_name(State s) {
  constexpr const char* names[] = {"well", "missing", "neutral"};
  return names[int(s)];
}

}  // namespace

void add_variable_facts(Facts& facts) {
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name(text.substr(0, equals));
    if (const Variable* v = known(name)) {
      const std::string value(text.substr(std::min(equals + 1, text.size())));
      const auto problems = setting_problems(name);
      const bool well = problems.empty();
      facts.push_back({"variables", name, well ? State::neutral : State::missing,
                       well ? cat_text(v->secret ? "not shown" : cat_text('"', value, '"'), " (",
                                       v->meaning, ")")
                            : problems[0].substr(name.size() + 1),
                       well ? "" : "unset " + name});
    } else if (name.starts_with("FLAMBEAU_")) {
      facts.push_back({"variables", name, State::missing,
                       cat_text("is read by nothing; the nearest that is: ", nearest(name)),
                       "unset " + name});
    }
  }
}

std::string environment_json() {
  Facts facts;
  add_library_facts(facts);
  add_host_facts(facts);
  add_device_facts(facts);
  add_variable_facts(facts);
  std::string out;
  for (const Fact& f : facts) {
    out += cat_text(out.empty() ? "" : ",\n", "{\"group\":", json::quoted(f.group),
                    ",\"name\":", json::quoted(f.name), ",\"state\":\"", state_name(f.state),
                    "\",\"value\":", json::quoted(f.value), ",\"fix\":", json::quoted(f.fix), "}");
  }
  return "{\"facts\":[" + out + "]}";
}

}  // namespace flambeau::observe
