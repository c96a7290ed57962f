// See providers.h.
#include "dist/providers.h"

#include <dlfcn.h>

#include <sstream>

#include "base/error.h"
#include "device/devices.h"
#include "device/hal.h"
#include "device/library.h"
#include "device/runtime.h"
#include "dist/mpi_library.h"
#include "dist/nccl_library.h"

namespace flambeau::dist {
namespace {

constexpr const char* kAdaptor[] = {"libflambeau_gloo.so"};
constexpr const char* kFix =
    "build flambeau where Gloo is: apt-get install libgloo-dev && make build, and for a wheel name "
    "that build's folder in LD_LIBRARY_PATH; or run one process";

using Entry = const flam_dist_provider* (*)();

Entry entry_of(void* handle) {
  return reinterpret_cast<Entry>(dlsym(handle, "flam_gloo_provider"));
}

std::string reject(void* handle) {
  const Entry entry = entry_of(handle);
  if (!entry) return "no function flam_gloo_provider";
  if (entry()->abi != FLAM_DIST_ABI)
    return cat_text("it speaks version ", entry()->abi, " of the table, not ", int(FLAM_DIST_ABI));
  return {};
}

// A backend by kind of device; empty: none.
struct Words {
  std::string cpu, gpu;
};

void check_known(const std::string& word) {
  for (const char* known : {"gloo", "nccl", "mpi", "local", "ucc", "xccl"})
    if (word == known) return;
  fail(Code::invalid_argument, "Invalid backend: '", word, "'; there are gloo, nccl and mpi");
}

Words parsed(const std::string& name) {
  Words words;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t colon = part.find(':');
    const std::string word = colon == part.npos ? part : part.substr(colon + 1);
    check_known(word);
    const std::string device = colon == part.npos ? "" : part.substr(0, colon);
    check(device.empty() || device == "cpu" || device == "cuda" || device == "sim",
          Code::invalid_argument, "Invalid backend: '", part, "' names no device; write cpu:", word,
          " or cuda:", word);
    if (device == "cpu" || (device.empty() && word != "nccl")) words.cpu = word;
    if (device != "cpu") words.gpu = word;
  }
  return words;
}

void check_supported(const std::string& word) {
  check(word != "ucc" && word != "xccl", Code::unsupported, "the backend ", word,
        " is unsupported in this version; gloo moves tensors ",
        "of all devices: init_process_group(\"gloo\")");
}

const flam_dist_provider& provider(const std::string& word) {
  if (word == "local") return local_provider();
  if (word == "gloo") return gloo_provider();
  if (word == "mpi") {
    mpi_open();
    return mpi_provider();
  }
  if (word == "nccl") {
    if (hal::provider(DeviceType::cuda) == &hal::sim_table()) return gloo_provider();
    check(device_count(DeviceType::cuda) > 0, Code::no_gpu,
          "the backend nccl moves tensors of GPUs, and there is none: ",
          unavailable_reason(DeviceType::cuda));
    nccl_library();
    return nccl_provider();
  }
  fail(Code::internal, "no provider is called ", word);
}

}  // namespace

const flam_dist_provider& gloo_provider() {
  static const flam_dist_provider* found = [] {
    const LibrarySpec spec{"Gloo's adaptor", kAdaptor, {}, kFix, reject};
    Entry entry = nullptr;
    Library::open(spec).bind(entry, "flam_gloo_provider");
    return entry();
  }();
  return *found;
}

Backend backend(const std::string& name, int size) {
  const Words words = parsed(name.empty() ? "cpu:gloo,cuda:nccl" : name);
  for (const std::string& word : {words.cpu, words.gpu}) check_supported(word);
  const bool any = size == 1 && device_count(DeviceType::cuda) == 0;
  Backend found{nullptr, nullptr, any || !words.cpu.empty(), any || !words.gpu.empty(), {}};
  if (size == 1) {
    found.provider = &local_provider();
    return found;
  }
  if (!words.cpu.empty()) found.provider = &provider(words.cpu);
  if (words.gpu.empty() || words.gpu == words.cpu) return found;
  if (!words.cpu.empty() && device_count(DeviceType::cuda) == 0) return found;  // nobody asks
  try {
    const flam_dist_provider& gpu = provider(words.gpu);
    if (gpu.on_streams) {
      found.streams = &gpu;
      return found;
    }
    check(!found.provider || found.provider == &gpu, Code::unsupported, "the backend '", name,
          "' is unsupported: beside nccl, one group moves its bytes by one library");
    found.provider = &gpu;
  } catch (const Error& e) {
    if (!found.provider) throw;
    found.gpu = false;
    found.why_no_gpu = e.fix.empty() ? e.problem : cat_text(e.problem, "; ", e.fix);
  }
  return found;
}

}  // namespace flambeau::dist
