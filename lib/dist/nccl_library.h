// NCCL, opened on first use and declared here as far as it is called, so that no header of it is
// needed: names are NCCL's, numbers and layouts those of nccl.h from 2.18 on, which later versions
// only add to. Communicators never block the host: a call that cannot end at once says in_progress,
// and who made it asks until it has.
#pragma once
#include <climits>
#include <cstddef>
#include <string>

namespace flambeau::dist {

namespace nccl {

using Comm = struct CommTag*;
using Stream = void*;  // cudaStream_t

struct UniqueId {
  char bytes[128];
};

enum Result : int {
  success,
  unhandled_cuda_error,
  system_error,
  internal_error,
  invalid_argument,
  invalid_usage,
  remote_error,
  in_progress
};

enum Datatype : int {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16
};

// Numbers from 5 on are those of operations that a program has made.
enum Operation : int { sum, product, max, min, average };

enum : int { scalar_on_host = 1 };

inline constexpr int kOldest = 21800;  // 2.18: the first that splits a communicator
inline constexpr int kUndefined = INT_MIN;
inline constexpr unsigned kMagic = 0xcafebeef;

struct Config {  // of 2.18, and a member of 2.25 where it had a gap
  size_t size = sizeof(Config);
  unsigned magic = kMagic, version = kOldest;
  int blocking = 0;
  int cga_cluster_size = kUndefined, min_ctas = kUndefined, max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined, traffic_class = kUndefined;
};

}  // namespace nccl

struct NcclLibrary {
  nccl::Result (*GetVersion)(int*);
  nccl::Result (*GetUniqueId)(nccl::UniqueId*);
  nccl::Result (*CommInitRankConfig)(nccl::Comm*, int ranks, nccl::UniqueId, int rank,
                                     nccl::Config*);
  nccl::Result (*CommSplit)(nccl::Comm, int color, int key, nccl::Comm*, nccl::Config*);
  nccl::Result (*CommFinalize)(nccl::Comm);
  nccl::Result (*CommDestroy)(nccl::Comm);
  nccl::Result (*CommAbort)(nccl::Comm);
  nccl::Result (*CommGetAsyncError)(nccl::Comm, nccl::Result*);
  const char* (*GetErrorString)(nccl::Result);
  const char* (*GetLastError)(nccl::Comm);
  nccl::Result (*RedOpCreatePreMulSum)(nccl::Operation*, void* scalar, nccl::Datatype,
                                       int residence, nccl::Comm);
  nccl::Result (*RedOpDestroy)(nccl::Operation, nccl::Comm);
  nccl::Result (*AllReduce)(const void*, void*, size_t, nccl::Datatype, nccl::Operation, nccl::Comm,
                            nccl::Stream);
  nccl::Result (*Reduce)(const void*, void*, size_t, nccl::Datatype, nccl::Operation, int root,
                         nccl::Comm, nccl::Stream);
  nccl::Result (*Broadcast)(const void*, void*, size_t, nccl::Datatype, int root, nccl::Comm,
                            nccl::Stream);
  nccl::Result (*AllGather)(const void*, void*, size_t, nccl::Datatype, nccl::Comm, nccl::Stream);
  nccl::Result (*ReduceScatter)(const void*, void*, size_t, nccl::Datatype, nccl::Operation,
                                nccl::Comm, nccl::Stream);
  nccl::Result (*Send)(const void*, size_t, nccl::Datatype, int peer, nccl::Comm, nccl::Stream);
  nccl::Result (*Recv)(void*, size_t, nccl::Datatype, int peer, nccl::Comm, nccl::Stream);
  nccl::Result (*GroupStart)();
  nccl::Result (*GroupEnd)();
};

// Throws Error(library missing) with every place that was looked at and the line that installs one,
// and Error(library version) where all that were found are too old.
const NcclLibrary& nccl_library();

}  // namespace flambeau::dist
