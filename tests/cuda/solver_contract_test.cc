// What the stand-ins for cuSOLVER and cuBLAS hold their callers to, rule by rule: each is broken
// by a call that fails and is counted, after one that breaks none.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include "contract.h"
#include "device/cuda/solver_library.h"

namespace flambeau {
namespace {

using namespace cuda::solver;

constexpr int64_t kM = 6, kN = 4;

struct Broken {
  int count = 0;
  bool operator()(int error) { return error != kSuccess && cuda_runtime::breaches() == ++count; }
  ~Broken() { cuda_runtime::forgive(); }
};

// For the time of one call.
template <class V> class Instead {
 public:
  Instead(V& place, V value) : place_(place), before_(place) { place = value; }
  ~Instead() { place_ = before_; }

 private:
  V &place_, before_;
};

template <class F> F destroyer(const char* library, const char* name) {
  return reinterpret_cast<F>(dlsym(dlopen(library, RTLD_NOW), name));
}

// A matrix [m, n] of f32 on device 0, to be factored; and what else the calls take.
struct Call {
  const Functions& f = functions();
  Handle handle = nullptr;
  BlasHandle blas = nullptr;
  Params params = nullptr;
  char* memory = nullptr;
  cudaStream_t stream = nullptr;
  void *a = nullptr, *b = nullptr, *tau = nullptr, *u = nullptr, *vt = nullptr, *work = nullptr;
  int64_t* pivots = nullptr;
  int* info = nullptr;
  int64_t m = kM, n = kN, lda = kM;
  int type = kReal32;
  size_t device_bytes = 0, host_bytes = 0;
  char host[256];
  void* on_host = host;

  Call() {
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    void* all = nullptr;
    EXPECT_EQ(cudaMalloc(&all, 16384), cudaSuccess);
    memory = static_cast<char*>(all);
    a = memory, b = memory + 1024, tau = memory + 2048, u = memory + 3072, vt = memory + 4096;
    work = memory + 8192;
    pivots = reinterpret_cast<int64_t*>(memory + 5120);
    info = reinterpret_cast<int*>(memory + 6144);
    EXPECT_EQ(cudaMemsetAsync(memory, 0, 16384, stream), cudaSuccess);
    EXPECT_EQ(f.create(&handle), kSuccess);
    EXPECT_EQ(f.create_params(&params), kSuccess);
    EXPECT_EQ(f.set_stream(handle, stream), kSuccess);
    EXPECT_EQ(f.blas_create(&blas), kSuccess);
    EXPECT_EQ(f.blas_set_stream(blas, stream), kSuccess);
    EXPECT_EQ(f.blas_set_workspace(blas, work, 4096), kSuccess);
  }
  ~Call() {
    const auto destroy = destroyer<int (*)(Handle)>("libcusolver.so.12", "cusolverDnDestroy");
    const auto destroy_blas = destroyer<int (*)(BlasHandle)>("libcublas.so.13", "cublasDestroy_v2");
    EXPECT_EQ(destroy(handle), kSuccess);
    EXPECT_EQ(destroy_blas(blas), kSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
  Call(const Call&) = delete;

  int ask() {
    return f.getrf_size(handle, params, m, n, type, a, lda, type, &device_bytes, &host_bytes);
  }
  int lu() {
    return f.getrf(handle, params, m, n, type, a, lda, pivots, type, work, device_bytes, on_host,
                   host_bytes, info);
  }
  int ask_singular() {
    return f.gesvd_size(handle, params, 'S', 'S', m, n, type, a, lda, type, b, type, u, m, type, vt,
                        n, type, &device_bytes, &host_bytes);
  }
  int singular() {
    return f.gesvd(handle, params, 'S', 'S', m, n, type, a, lda, type, b, type, u, m, type, vt, n,
                   type, work, device_bytes, on_host, host_bytes, info);
  }
  int solve(int side = kLeft) {
    const float one = 1;
    return f.trsm[0](blas, side, kLower, kPlain, kUnit, int(n), 2, &one, a, int(lda), b, int(n));
  }
};

TEST(Contract, OfCusolverIsKept) {
  Broken breaks;
  Call p;
  ASSERT_EQ(p.ask(), kSuccess);
  ASSERT_GT(p.device_bytes, 0U);
  ASSERT_EQ(p.lu(), kSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cuda_runtime::breaches(), 0);
  const auto with = [&](auto& place, auto value) {
    const Instead for_now(place, value);
    return breaks(p.lu());
  };
  EXPECT_TRUE(with(p.handle, reinterpret_cast<Handle>(99)));
  EXPECT_TRUE(with(p.params, reinterpret_cast<Params>(99)));
  EXPECT_TRUE(with(p.type, 5));
  EXPECT_TRUE(with(p.lda, kM - 1));
  EXPECT_TRUE(with(p.a, static_cast<void*>(p.memory + 16384 - 8)));  // beyond the memory
  EXPECT_TRUE(with(p.a, static_cast<void*>(&p)));                    // the host's
  EXPECT_TRUE(with(p.pivots, reinterpret_cast<int64_t*>(p.memory + 4)));
  EXPECT_TRUE(with(p.info, static_cast<int*>(nullptr)));
  EXPECT_TRUE(with(p.device_bytes, p.device_bytes - 1));
  EXPECT_TRUE(with(p.work, static_cast<void*>(p.memory + 8200)));  // not aligned
  EXPECT_TRUE(with(p.work, static_cast<void*>(&p)));
  EXPECT_TRUE(with(p.on_host, p.work));
  EXPECT_TRUE(with(p.n, kN - 1));  // asked for another matrix
  const Instead never(p.handle, static_cast<Handle>(nullptr));
  ASSERT_EQ(p.f.create(&p.handle), kSuccess);
  EXPECT_TRUE(breaks(p.ask()));  // its stream was not said
  EXPECT_EQ(destroyer<int (*)(Handle)>("libcusolver.so.12", "cusolverDnDestroy")(p.handle),
            kSuccess);
}

TEST(Contract, OfCusolversSingularValuesIsKept) {
  Broken breaks;
  Call p;
  ASSERT_EQ(p.ask_singular(), kSuccess);
  ASSERT_EQ(p.singular(), kSuccess);
  p.m = 3, p.lda = 3;
  EXPECT_TRUE(breaks(p.ask_singular()));  // wider than tall
  p.m = kM, p.lda = kM;
  ASSERT_EQ(cudaMemsetAsync(p.a, 0xff, 16, p.stream), cudaSuccess);  // NaN
  ASSERT_EQ(p.singular(), kSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cuda_runtime::breaches(), ++breaks.count);
}

TEST(Contract, OfCublasIsKept) {
  Broken breaks;
  Call p;
  ASSERT_EQ(p.solve(), kSuccess);
  EXPECT_TRUE(breaks(p.solve(1)));  // from the right
  p.lda = kN - 1;
  EXPECT_TRUE(breaks(p.solve()));
  p.lda = kM;
  ASSERT_EQ(p.f.blas_set_stream(p.blas, nullptr), kSuccess);
  EXPECT_TRUE(breaks(p.solve()));  // without a workspace
  EXPECT_TRUE(breaks(p.f.blas_set_workspace(p.blas, &p, 64)));
}

TEST(Contract, OfCusolverNamesNoCapture) {
  Broken breaks;
  Call p;
  ASSERT_EQ(p.ask(), kSuccess);
  cudaStream_t side = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, 0), cudaSuccess);
  ASSERT_EQ(p.f.set_stream(p.handle, side), kSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(breaks(p.lu()));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(side, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(side), cudaSuccess);
}

}  // namespace
}  // namespace flambeau
