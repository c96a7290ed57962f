// The part of CUPTI's activity API that is used, declared here so that no header of it is needed;
// values are those of cupti_activity.h.
#pragma once
#include "device/activity.h"
#include "device/library.h"

namespace flambeau::cuda::cupti {

enum : int { kSuccess = 0, kNoPrivileges = 35, kOtherProfiler = 39 };  // CUptiResult
enum : uint32_t { kCustom0 = 3, kFlushForced = 1 };
enum Kind : uint32_t {  // CUpti_ActivityKind
  kMemcpy = 1,
  kMemset = 2,
  kDriverCall = 4,
  kRuntimeCall = 5,
  kKernel = 10,  // CONCURRENT_KERNEL: KERNEL would make streams wait for one another
  kPeerCopy = 22,
  kExternal = 39
};

// Where the fields of records are. Records grow at their end from one version to the next; these
// have stood where they are from CUDA 12.0 (Kernel9) to 13 (Kernel10).
inline constexpr size_t kStart = 16, kEnd = 24, kName = 104, kCopyWay = 4, kCopyFrom = 5,
                        kCopyTo = 6, kExternalOf = 4, kExternalId = 8, kExternalCall = 16;
struct Layout {
  Kind kind;
  Activity::Kind is;
  size_t device, stream, correlation;
};
inline constexpr Layout kLayouts[] = {{kKernel, Activity::Kind::kernel, 40, 48, 92},
                                      {kMemcpy, Activity::Kind::copy, 32, 40, 44},
                                      {kPeerCopy, Activity::Kind::copy, 32, 40, 60},
                                      {kMemset, Activity::Kind::fill, 32, 40, 44}};

using Request = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using Complete = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid);

struct Functions {
  int (*result_string)(int, const char**);
  int (*timestamp)(uint64_t* ns);  // by the clock of the records
  int (*callbacks)(Request, Complete);
  int (*enable)(Kind);
  int (*disable)(Kind);
  int (*push)(uint32_t of, uint64_t id);
  int (*pop)(uint32_t of, uint64_t* id);
  int (*flush)(uint32_t how);
  int (*next_record)(uint8_t* buffer, size_t valid, const char** record);
  int (*dropped)(void* context, uint32_t stream, size_t*);
};

// Opens the library on first use; throws Error(library missing, library version).
const Functions& functions();

}  // namespace flambeau::cuda::cupti
