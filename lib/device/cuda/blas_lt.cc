// Opening cuBLASLt. A failed attempt is repeated at the next use: a directory may have been named
// meanwhile.
#include "device/cuda/blas_lt.h"

#include <dlfcn.h>

#include "base/error.h"
#include "device/cuda/toolkit.h"

namespace flambeau::cuda::lt {
namespace {

constexpr size_t kOldest = 120000;

std::string too_old(void* handle) {
  const auto version = reinterpret_cast<size_t (*)()>(dlsym(handle, "cublasLtGetVersion"));
  if (!version) return "it has no cublasLtGetVersion";
  return version() < kOldest ? cat_text("version ", version(), ", needed is ", kOldest, " or newer")
                             : "";
}

Functions load() {
  const Library lib = open_of_toolkit(
      {"cuBLASLt", "libcublasLt.so", "nvidia/cublas/lib", "nvidia-cublas", too_old});
  Functions f{};
  lib.bind(f.version, "cublasLtGetVersion");
  lib.bind(f.status_name, "cublasLtGetStatusName");
  lib.bind(f.create, "cublasLtCreate");
  lib.bind(f.desc_create, "cublasLtMatmulDescCreate");
  lib.bind(f.desc_set, "cublasLtMatmulDescSetAttribute");
  lib.bind(f.desc_destroy, "cublasLtMatmulDescDestroy");
  lib.bind(f.layout_create, "cublasLtMatrixLayoutCreate");
  lib.bind(f.layout_set, "cublasLtMatrixLayoutSetAttribute");
  lib.bind(f.layout_destroy, "cublasLtMatrixLayoutDestroy");
  lib.bind(f.preference_create, "cublasLtMatmulPreferenceCreate");
  lib.bind(f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  lib.bind(f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  lib.bind(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  lib.bind(f.matmul, "cublasLtMatmul");
  return f;
}

}  // namespace

const Functions& functions() {
  static const Functions f =
      load();  // an exception leaves it uninitialised: the next call tries again
  return f;
}

const Functions* functions_if_any() {
  static FunctionsIfAny<Functions> any;
  return any.get(
      &functions,
      "Products of matrices run on flambeau's own kernels, which are several times slower: ");
}

}  // namespace flambeau::cuda::lt
