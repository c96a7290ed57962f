// See nccl_library.h. A failed attempt is repeated at the next use, as cuBLASLt's.
#include "dist/nccl_library.h"

#include <dlfcn.h>

#include "base/error.h"
#include "device/library.h"

namespace flambeau::dist {
namespace {

constexpr const char* kSonames[] = {"libnccl.so.2"};
constexpr const char* kWheels[] = {"nvidia/nccl/lib"};
constexpr const char* kFix = "pip install nvidia-nccl-cu13, or nvidia-nccl-cu12 for CUDA 12";

std::string too_old(void* handle) {
  const auto get = reinterpret_cast<nccl::Result (*)(int*)>(dlsym(handle, "ncclGetVersion"));
  int version = 0;
  if (!get || get(&version) != nccl::success) return "it does not tell its version";
  if (version >= nccl::kOldest) return {};
  return cat_text("its version has the number ", version, ", needed is ", nccl::kOldest,
                  " (2.18) or newer");
}

NcclLibrary bound() {
  const LibrarySpec spec{"NCCL", kSonames, kWheels, kFix, too_old};
  const Library library = Library::open(spec);
  NcclLibrary n{};
#define FLAM_BIND(name) library.bind(n.name, "nccl" #name)
  FLAM_BIND(GetVersion);
  FLAM_BIND(GetUniqueId);
  FLAM_BIND(CommInitRankConfig);
  FLAM_BIND(CommSplit);
  FLAM_BIND(CommFinalize);
  FLAM_BIND(CommDestroy);
  FLAM_BIND(CommAbort);
  FLAM_BIND(CommGetAsyncError);
  FLAM_BIND(GetErrorString);
  FLAM_BIND(GetLastError);
  FLAM_BIND(RedOpCreatePreMulSum);
  FLAM_BIND(RedOpDestroy);
  FLAM_BIND(AllReduce);
  FLAM_BIND(Reduce);
  FLAM_BIND(Broadcast);
  FLAM_BIND(AllGather);
  FLAM_BIND(ReduceScatter);
  FLAM_BIND(Send);
  FLAM_BIND(Recv);
  FLAM_BIND(GroupStart);
  FLAM_BIND(GroupEnd);
#undef FLAM_BIND
  return n;
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = bound();  // an exception leaves it uninitialised
  return library;
}

}  // namespace flambeau::dist
