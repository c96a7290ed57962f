// See providers.h.
#include "dist/providers.h"

#include <dlfcn.h>

#include "base/error.h"
#include "device/library.h"

namespace flambeau::dist {
namespace {

constexpr const char* kAdaptor[] = {"libflambeau_gloo.so"};
constexpr const char* kFix =
    "build flambeau where Gloo is: apt-get install libgloo-dev && make build; or run one process";

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

const flam_dist_provider& provider(const std::string& name) {
  if (name == "local") return local_provider();
  if (name == "gloo") return gloo_provider();
  if (name == "mpi") return mpi_provider();
  fail(Code::invalid_argument, "Invalid backend: '", name, "'; there are gloo, mpi and local");
}

}  // namespace flambeau::dist
