// Opening CUPTI. A failed attempt is repeated at the next use, as cuBLASLt's.
#include "device/cuda/cupti.h"

#include <dlfcn.h>

#include "base/error.h"
#include "device/cuda/toolkit.h"

namespace flambeau::cuda::cupti {
namespace {

// CUPTI counted its versions up to 12.9, where it had come to 28; 13.0 is 130000.
std::string unknown_version(void* handle) {
  constexpr uint32_t oldest = 19, next_major = 140000;
  const auto ask = reinterpret_cast<int (*)(uint32_t*)>(dlsym(handle, "cuptiGetVersion"));
  uint32_t version = 0;
  if (!ask || ask(&version) != kSuccess) return "it does not tell its version";
  return version < oldest || version >= next_major
             ? cat_text("its API is version ", version, ", needed is that of CUDA 12 or 13")
             : "";
}

Functions load() {
  const Library lib = open_of_toolkit(
      {"CUPTI", "libcupti.so", "nvidia/cuda_cupti/lib", "nvidia-cuda-cupti", unknown_version});
  Functions f{};
  lib.bind(f.result_string, "cuptiGetResultString");
  lib.bind(f.timestamp, "cuptiGetTimestamp");
  lib.bind(f.callbacks, "cuptiActivityRegisterCallbacks");
  lib.bind(f.enable, "cuptiActivityEnable");
  lib.bind(f.disable, "cuptiActivityDisable");
  lib.bind(f.push, "cuptiActivityPushExternalCorrelationId");
  lib.bind(f.pop, "cuptiActivityPopExternalCorrelationId");
  lib.bind(f.flush, "cuptiActivityFlushAll");
  lib.bind(f.next_record, "cuptiActivityGetNextRecord");
  lib.bind(f.dropped, "cuptiActivityGetNumDroppedRecords");
  return f;
}

}  // namespace

const Functions& functions() {
  static const Functions f = load();  // an exception leaves it uninitialised
  return f;
}

}  // namespace flambeau::cuda::cupti
