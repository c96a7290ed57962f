// What the stand-in for cuBLASLt holds its callers to, rule by rule: each is broken by a call that
// fails and is counted, after a product that breaks none. What is left at the end of a process is
// found in processes of their own.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "device/cuda/blas_lt.h"

namespace flambeau {
namespace {

using namespace cuda::lt;

constexpr uint64_t kM = 8, kN = 4, kK = 16;

struct Objects {
  Handle handle = nullptr;
  Desc desc = nullptr;
  Layout a = nullptr, b = nullptr, d = nullptr;
  Preference preference = nullptr;
};

// [m, k] @ [k, n] -> [m, n] in columns, with a bias, on device 0: its objects, and its memory.
struct Call : Objects {
  const Functions& f = functions();
  int (*destroy)(Handle);
  Heuristic chosen{};
  char* memory = nullptr;
  cudaStream_t stream = nullptr;
  void *at_a, *at_b, *at_d, *workspace, *bias;
  size_t bytes = 0;

  Call() {
    destroy = reinterpret_cast<int (*)(Handle)>(
        dlsym(dlopen("libcublasLt.so.13", RTLD_NOW), "cublasLtDestroy"));
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    void* all = nullptr;
    EXPECT_EQ(cudaMalloc(&all, 16384), cudaSuccess);
    memory = static_cast<char*>(all);
    at_a = memory, at_b = memory + 1024, at_d = memory + 2048, bias = memory + 3072;
    workspace = memory + 4096;
    EXPECT_EQ(f.create(&handle), kSuccess);
    EXPECT_EQ(f.desc_create(&desc, kCompute32, kReal32), kSuccess);
    EXPECT_EQ(set(kEpilogue, uint32_t(kBias)), kSuccess);
    EXPECT_EQ(set(kBiasPointer, bias), kSuccess);
    EXPECT_EQ(f.layout_create(&a, kReal32, kM, kK, kM), kSuccess);
    EXPECT_EQ(f.layout_create(&b, kReal32, kK, kN, kK), kSuccess);
    EXPECT_EQ(f.layout_create(&d, kReal32, kM, kN, kM), kSuccess);
    EXPECT_EQ(f.preference_create(&preference), kSuccess);
    const size_t most = 4096;
    EXPECT_EQ(f.preference_set(preference, kMaxWorkspace, &most, sizeof most), kSuccess);
    EXPECT_EQ(ask(), kSuccess);
    bytes = chosen.workspace;
  }
  ~Call() {
    for (Layout l : {a, b, d}) EXPECT_EQ(f.layout_destroy(l), kSuccess);
    EXPECT_EQ(f.preference_destroy(preference), kSuccess);
    EXPECT_EQ(f.desc_destroy(desc), kSuccess);
    EXPECT_EQ(destroy(handle), kSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
  Call(const Call&) = delete;

  template <class V> int set(int attribute, V value) {
    return f.desc_set(desc, attribute, &value, sizeof value);
  }
  template <class V> int set(Layout l, int attribute, V value) {
    return f.layout_set(l, attribute, &value, sizeof value);
  }
  int ask() {
    int found = 0;
    return f.heuristic(handle, desc, a, b, d, d, preference, 1, &chosen, &found);
  }
  int run(Layout c = nullptr) {
    const float one = 1, zero = 0;
    return f.matmul(handle, desc, &one, at_a, a, at_b, b, &zero, at_d, c ? c : d, at_d, d,
                    &chosen.algo, workspace, bytes, stream);
  }
};

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

TEST(Contract, OfCublasLtIsKept) {
  Broken breaks;
  Call p;
  ASSERT_EQ(p.run(), kSuccess);
  ASSERT_EQ(cuda_runtime::breaches(), 0);
  const auto with = [&](auto& place, auto value) {
    const Instead for_now(place, value);
    return breaks(p.run());
  };
  EXPECT_TRUE(with(p.at_a, static_cast<void*>(p.memory + 4)));  // not as aligned as promised
  EXPECT_TRUE(with(p.at_b, static_cast<void*>(p.memory + 16384 - 8)));  // beyond the memory
  EXPECT_TRUE(with(p.at_d, static_cast<void*>(nullptr)));
  EXPECT_TRUE(with(p.at_d, p.at_a));  // written over what is read
  EXPECT_TRUE(with(p.bytes, p.bytes - 1));
  EXPECT_TRUE(with(p.workspace, static_cast<void*>(p.memory + 4104)));
  EXPECT_TRUE(with(p.workspace, static_cast<void*>(&p)));
  ASSERT_EQ(p.set(kBiasPointer, p.memory + 16384 - 16), kSuccess);  // shorter than a column
  ASSERT_EQ(p.ask(), kSuccess);
  EXPECT_TRUE(breaks(p.run()));
  ASSERT_EQ(p.set(kBiasPointer, static_cast<void*>(nullptr)), kSuccess);
  EXPECT_TRUE(breaks(p.run()));
  EXPECT_TRUE(breaks(p.ask()));
}

// Of a's rows, which are as many as a bias has, or of b's columns.
TEST(Contract, OfCublasLtsSumsIsKept) {
  Broken breaks;
  Call p;
  for (const auto& [epilogue, count] : {std::pair{kRowSums, kM}, {kColumnSums, kN}}) {
    ASSERT_EQ(p.set(kEpilogue, uint32_t(epilogue)), kSuccess);
    ASSERT_EQ(p.set(kBiasPointer, p.memory + 16384 - count * 4), kSuccess);
    ASSERT_EQ(p.ask(), kSuccess);
    EXPECT_EQ(p.run(), kSuccess);
    ASSERT_EQ(p.set(kBiasPointer, p.memory + 16384 - (count - 1) * 4), kSuccess);
    ASSERT_EQ(p.ask(), kSuccess);
    EXPECT_TRUE(breaks(p.run()));  // beyond the memory
    ASSERT_EQ(p.set(kBiasPointer, p.at_d), kSuccess);
    ASSERT_EQ(p.ask(), kSuccess);
    EXPECT_TRUE(breaks(p.run()));  // over the product
    ASSERT_EQ(p.set(kEpilogue, uint32_t(epilogue | kRelu)), kSuccess);
    EXPECT_TRUE(breaks(p.ask()));
    ASSERT_EQ(p.set(kEpilogue, uint32_t(epilogue)), kSuccess);
    ASSERT_EQ(p.set(kBiasPointer, static_cast<void*>(nullptr)), kSuccess);
    EXPECT_TRUE(breaks(p.ask()));
  }
}

// What went into a GELU: as many elements as the product, in columns of a multiple of 8.
TEST(Contract, OfCublasLtsSlopeOfGeluIsKept) {
  Broken breaks;
  Call p;
  const auto describe = [&](int epilogue, const void* aux, int64_t columns) {
    EXPECT_EQ(p.set(kEpilogue, uint32_t(epilogue)), kSuccess);
    EXPECT_EQ(p.set(kAuxPointer, aux), kSuccess);
    EXPECT_EQ(p.set(kAuxLd, columns), kSuccess);
  };
  const auto runs_wrong = [&](const void* aux) {
    describe(kGeluSlope, aux, kM);
    EXPECT_EQ(p.ask(), kSuccess);
    return breaks(p.run());
  };
  ASSERT_EQ(p.set(kBiasPointer, static_cast<void*>(nullptr)), kSuccess);
  char* const last = p.memory + 16384 - kM * kN * 4;
  describe(kGeluSlope, last, kM);
  ASSERT_EQ(p.ask(), kSuccess);
  EXPECT_EQ(p.run(), kSuccess);
  EXPECT_TRUE(runs_wrong(last + 16));  // beyond the memory
  EXPECT_TRUE(runs_wrong(last - 8));   // not aligned
  EXPECT_TRUE(runs_wrong(p.at_d));     // written over what is read
  for (const int64_t columns : {int64_t(kM) + 4, int64_t(0)}) {
    describe(kGeluSlope, last, columns);
    EXPECT_TRUE(breaks(p.ask()));
  }
  describe(kGeluSlope, nullptr, kM);
  EXPECT_TRUE(breaks(p.ask()));
  for (const int epilogue : {64, 64 | kRelu, kGeluSlope | kBias, kGeluSlope | kRelu}) {
    describe(epilogue, last, kM);
    EXPECT_TRUE(breaks(p.ask()));  // there is none
  }
  describe(kPlain, last, kM);
  EXPECT_TRUE(breaks(p.ask()));  // an aux that is not used
}

TEST(Contract, OfCublasLtsLayoutsIsKept) {
  Broken breaks;
  Call p;
  const auto with = [&](Layout& place, uint64_t rows, uint64_t cols, int type = kReal32) {
    Layout other = nullptr;
    EXPECT_EQ(p.f.layout_create(&other, type, rows, cols, int64_t(rows)), kSuccess);
    bool both = false;
    {
      const Instead for_now(place, other);
      both = breaks(p.ask()) && breaks(p.run());
    }
    EXPECT_EQ(p.f.layout_destroy(other), kSuccess);
    return both;
  };
  EXPECT_TRUE(with(p.a, kK, kM));  // as if it were transposed
  EXPECT_TRUE(with(p.b, kK - 1, kN));
  EXPECT_TRUE(with(p.d, kM, kN - 1));
  EXPECT_TRUE(with(p.b, kK, kN, kReal16));
  ASSERT_EQ(p.set(kTransB, int32_t(1)), kSuccess);
  EXPECT_TRUE(breaks(p.ask()));
  ASSERT_EQ(p.set(kTransB, int32_t(0)), kSuccess);
  ASSERT_EQ(p.set(p.a, kBatchCount, int32_t(2)), kSuccess);
  EXPECT_TRUE(breaks(p.ask()));  // of one operand alone
  for (Layout l : {p.b, p.d}) ASSERT_EQ(p.set(l, kBatchCount, int32_t(2)), kSuccess);
  EXPECT_TRUE(breaks(p.ask()));  // one result over the other
  ASSERT_EQ(p.set(p.d, kBatchOffset, int64_t(kM * kN)), kSuccess);
  EXPECT_TRUE(breaks(p.run()));  // by an algorithm for one product
  ASSERT_EQ(p.ask(), kSuccess);
  EXPECT_EQ(p.run(), kSuccess);
  Layout none = nullptr;
  EXPECT_TRUE(breaks(p.f.layout_create(&none, kReal32, kM, kN, kM - 1)));
  EXPECT_TRUE(breaks(p.f.layout_create(&none, kReal32, 0, kN, kM)));
  EXPECT_TRUE(breaks(p.set(p.a, kBatchCount, int64_t(2))));  // of another size
  EXPECT_TRUE(breaks(p.set(99, int32_t(2))));
}

TEST(Contract, OfCublasLtsTypesIsKept) {
  Broken breaks;
  Call p;
  for (const auto& [compute, scale] :
       {std::pair<int, int>{kCompute64, kReal64}, {kCompute32, kReal64}, {kCompute32, kReal16}}) {
    Desc other = nullptr;
    ASSERT_EQ(p.f.desc_create(&other, compute, scale), kSuccess);
    {
      const Instead for_now(p.desc, other);
      EXPECT_TRUE(breaks(p.ask()));
    }
    ASSERT_EQ(p.f.desc_destroy(other), kSuccess);
  }
}

TEST(Contract, OfCublasLtsObjectsIsKept) {
  Broken breaks;
  Call p;
  const Objects dead = [] {
    const Call gone;
    return Objects(gone);
  }();
  const auto with = [&](auto& place, auto value) {
    const Instead for_now(place, value);
    return breaks(p.run()) && breaks(p.ask());
  };
  EXPECT_TRUE(with(p.handle, dead.handle));
  EXPECT_TRUE(with(p.desc, dead.desc));
  EXPECT_TRUE(with(p.a, dead.a));
  EXPECT_TRUE(with(p.d, dead.d));
  {
    const Instead for_now(p.preference, dead.preference);
    EXPECT_TRUE(breaks(p.ask()));
  }
  EXPECT_TRUE(breaks(p.f.layout_destroy(dead.a)));
  EXPECT_TRUE(breaks(p.f.desc_destroy(dead.desc)));
  EXPECT_TRUE(breaks(p.f.preference_destroy(dead.preference)));
  EXPECT_TRUE(breaks(p.destroy(dead.handle)));
  const size_t most = 0;
  EXPECT_TRUE(breaks(p.f.preference_set(dead.preference, kMaxWorkspace, &most, sizeof most)));
  EXPECT_TRUE(breaks(p.set(dead.a, kBatchCount, int32_t(1))));
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_TRUE(breaks(p.run()));  // a handle of device 0
  EXPECT_TRUE(breaks(p.ask()));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

// What may allocate does not while a capture forbids it, in global mode to other threads as well.
TEST(Contract, OfCublasLtIsKeptWhileAGraphIsCaptured) {
  Broken breaks;
  Call p;
  ASSERT_EQ(cudaStreamCreateWithPriority(&p.stream, cudaStreamNonBlocking, 0), cudaSuccess);
  for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    ASSERT_EQ(cudaStreamBeginCapture(p.stream, mode), cudaSuccess);
    Handle more = nullptr;
    EXPECT_TRUE(breaks(p.f.create(&more)));
    EXPECT_TRUE(breaks(p.ask()));
    int error = 0;
    std::thread([&] { error = p.ask(); }).join();
    EXPECT_EQ(breaks(error), mode == cudaStreamCaptureModeGlobal);
    EXPECT_EQ(p.run(), kSuccess);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(p.stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamDestroy(p.stream), cudaSuccess);
}

// A process of its own that leaves one more object than it should.
void expect_left(const std::function<int(Call&)>& make, const char* text) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leaves = [&] {
    int error = 0;
    {
      Call p;
      error = make(p);
    }
    std::exit(error);
  };
  EXPECT_EXIT(leaves(), testing::ExitedWithCode(97), text);
}

TEST(Contract, ObjectsOfCublasLtAreGivenUp) {
  expect_left([](Call& p) { return p.f.layout_create(&p.a, kReal32, kM, kK, kM); }, "1 layouts");
  expect_left([](Call& p) { return p.f.desc_create(&p.desc, kCompute32, kReal32); },
              "1 descriptors");
  expect_left([](Call& p) { return p.f.preference_create(&p.preference); }, "1 preferences");
  expect_left([](Call& p) { return p.f.create(&p.handle) + p.f.create(&p.handle); },
              "2 handles of device 0");
}

// One of each device that products ran on is kept: CUDA may be gone by the time the library could
// destroy it.
TEST(Contract, OneHandleOfCublasLtForEachDeviceStays) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto keeps = [] {
    int error = 0;
    for (int device : {0, 1}) {
      Handle kept = nullptr;
      error += cudaSetDevice(device) + functions().create(&kept);
    }
    std::exit(error);
  };
  EXPECT_EXIT(keeps(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace flambeau
