// NVIDIA's nccl.h beside what dist/nccl_library.h declares of it: numbers, layouts and signatures.
// It compiles where the two agree; test_nccl.py does that where the header is.
#include <cstddef>
#include <type_traits>

#include <nccl.h>

#include "dist/nccl_library.h"

using namespace flambeau::dist;

#define SAME(ours, theirs) static_assert(int(nccl::ours) == int(theirs))
SAME(success, ncclSuccess);
SAME(unhandled_cuda_error, ncclUnhandledCudaError);
SAME(system_error, ncclSystemError);
SAME(internal_error, ncclInternalError);
SAME(invalid_argument, ncclInvalidArgument);
SAME(invalid_usage, ncclInvalidUsage);
SAME(remote_error, ncclRemoteError);
SAME(in_progress, ncclInProgress);
SAME(int8, ncclInt8);
SAME(uint8, ncclUint8);
SAME(int32, ncclInt32);
SAME(uint32, ncclUint32);
SAME(int64, ncclInt64);
SAME(uint64, ncclUint64);
SAME(float16, ncclFloat16);
SAME(float32, ncclFloat32);
SAME(float64, ncclFloat64);
SAME(bfloat16, ncclBfloat16);
SAME(sum, ncclSum);
SAME(product, ncclProd);
SAME(max, ncclMax);
SAME(min, ncclMin);
SAME(average, ncclAvg);
SAME(scalar_on_host, ncclScalarHostImmediate);
SAME(kUndefined, NCCL_CONFIG_UNDEF_INT);
static_assert(nccl::kMagic == NCCL_API_MAGIC && nccl::kOldest == NCCL_VERSION(2, 18, 0));
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));

#define PLACED(ours, theirs) \
  static_assert(offsetof(nccl::Config, ours) == offsetof(ncclConfig_t, theirs))
PLACED(size, size);
PLACED(magic, magic);
PLACED(version, version);
PLACED(blocking, blocking);
PLACED(cga_cluster_size, cgaClusterSize);
PLACED(min_ctas, minCTAs);
PLACED(max_ctas, maxCTAs);
PLACED(net_name, netName);
PLACED(split_share, splitShare);
#if NCCL_VERSION_CODE >= 22500
PLACED(traffic_class, trafficClass);
#endif
static_assert(sizeof(nccl::Config) <= sizeof(ncclConfig_t));

// A type of theirs as we declare it.
template <class T> struct As {
  using type = T;
};
#define OURS(theirs, ours)        \
  template <> struct As<theirs> { \
    using type = ours;            \
  }
OURS(ncclComm_t, nccl::Comm);
OURS(ncclComm_t*, nccl::Comm*);
OURS(cudaStream_t, nccl::Stream);
OURS(ncclUniqueId, nccl::UniqueId);
OURS(ncclUniqueId*, nccl::UniqueId*);
OURS(ncclConfig_t*, nccl::Config*);
OURS(ncclResult_t, nccl::Result);
OURS(ncclResult_t*, nccl::Result*);
OURS(ncclDataType_t, nccl::Datatype);
OURS(ncclRedOp_t, nccl::Operation);
OURS(ncclRedOp_t*, nccl::Operation*);
OURS(ncclScalarResidence_t, int);
template <class R, class... A> struct As<R(A...)> {
  using type = typename As<R>::type (*)(typename As<A>::type...);
};

#define CALLED(name) \
  static_assert(std::is_same_v<decltype(NcclLibrary::name), As<decltype(nccl##name)>::type>, #name)
CALLED(GetVersion);
CALLED(GetUniqueId);
CALLED(CommInitRankConfig);
CALLED(CommSplit);
CALLED(CommFinalize);
CALLED(CommDestroy);
CALLED(CommAbort);
CALLED(CommGetAsyncError);
CALLED(GetErrorString);
CALLED(GetLastError);
CALLED(RedOpCreatePreMulSum);
CALLED(RedOpDestroy);
CALLED(AllReduce);
CALLED(Reduce);
CALLED(Broadcast);
CALLED(AllGather);
CALLED(ReduceScatter);
CALLED(Send);
CALLED(Recv);
CALLED(GroupStart);
CALLED(GroupEnd);
