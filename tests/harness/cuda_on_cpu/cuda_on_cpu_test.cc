// Kernels as one writes them for a GPU, run by the emulator: results, and the bugs that it must
// find.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda_launch.h"

namespace {

using cuda_on_cpu::KernelError;

// ---- correct kernels ----

template <int kThreads> __global__ void __launch_bounds__(kThreads)
    sum_kernel(const float* x, int n, float* out) {
  __shared__ float partial[kThreads / 32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += __ldg(x + i);
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < kThreads / 32 ? partial[threadIdx.x] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

TEST(CudaOnCpu, ReducesWithShufflesAndSharedMemory) {
  std::vector<float> x(100003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i % 7) - 3);
  float expected = 0, sum = 0;
  for (float v : x) expected += v;
  FLAM_LAUNCH(sum_kernel<256>, dim3(9), dim3(256), 0, nullptr, x.data(), x.size(), &sum);
  EXPECT_EQ(sum, expected);
}

// A sync left out is what a kernel's author fears most; `kSync` false leaves one out.
template <int kTile, bool kSync>
__global__ void gemm_kernel(const float* a, const float* b, float* c, int n) {
  __shared__ __align__(16) float as[kTile][kTile + 1], bs[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    if (kSync) __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

template <bool kSync> int wrong_elements() {
  const int n = 48;
  std::vector<float> a(n * n), b(n * n), c(n * n, -1.0f);
  for (int i = 0; i < n * n; ++i) a[size_t(i)] = float(i % 5 - 2), b[size_t(i)] = float(i % 3 - 1);
  FLAM_LAUNCH((gemm_kernel<16, kSync>), dim3(n / 16, n / 16), dim3(16, 16), 0, nullptr, a.data(),
              b.data(), c.data(), n);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[size_t(i * n + k)] * b[size_t(k * n + j)];
      wrong += c[size_t(i * n + j)] != sum;
    }
  }
  return wrong;
}

TEST(CudaOnCpu, TiledProduct) { EXPECT_EQ(wrong_elements<true>(), 0); }

TEST(CudaOnCpu, ShuffledOrderFindsMissingSync) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    cuda_on_cpu::set_seed(seed);
    EXPECT_GT(wrong_elements<false>(), 0) << "seed " << seed;
  }
}

__global__ void order_kernel(int* next, int* order) {
  order[atomicAdd(next, 1)] = int(threadIdx.x);
}

std::vector<int> order_of(uint64_t seed) {
  int next = 0;
  std::vector<int> order(64);
  cuda_on_cpu::set_seed(seed);
  FLAM_LAUNCH(order_kernel, dim3(1), dim3(64), 0, nullptr, &next, order.data());
  return order;
}

TEST(CudaOnCpu, SeedDecidesTheOrder) {
  EXPECT_EQ(order_of(3), order_of(3));
  EXPECT_NE(order_of(3), order_of(4));
}

__global__ void index_kernel(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned at = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[at] += at;
}

TEST(CudaOnCpu, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<unsigned> out(2 * 3 * 2 * 4 * 3 * 5);
  FLAM_LAUNCH(index_kernel, dim3(2, 3, 2), dim3(4, 3, 5), 0, nullptr, out.data());
  for (unsigned i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i);
}

__global__ void vote_kernel(int* out) {
  const int t = int(threadIdx.x), lane = t % 32;
  int* mine = out + t * 8;
  mine[0] = __syncthreads_count(t % 3 == 0);
  mine[1] = __syncthreads_and(t >= 0);
  mine[2] = __syncthreads_or(t == 1000);
  mine[3] = int(__ballot_sync(0xffffffffu, lane < 4));
  mine[4] = __any_sync(0xffffffffu, lane == 31);
  mine[5] = __all_sync(0xffffffffu, lane != 31);
  mine[6] = int(__match_any_sync(0xffffffffu, lane & 1));
  mine[7] = __reduce_add_sync(0xffffffffu, lane);
}

TEST(CudaOnCpu, Votes) {
  std::vector<int> out(96 * 8);
  FLAM_LAUNCH(vote_kernel, dim3(1), dim3(96), 0, nullptr, out.data());
  for (int t = 0; t < 96; ++t) {
    const int* mine = &out[size_t(t) * 8];
    EXPECT_EQ(mine[0], 32);
    EXPECT_EQ(mine[1], 1);
    EXPECT_EQ(mine[2], 0);
    EXPECT_EQ(mine[3], 15);
    EXPECT_EQ(mine[4], 1);
    EXPECT_EQ(mine[5], 0);
    EXPECT_EQ(unsigned(mine[6]), t % 2 ? 0xaaaaaaaau : 0x55555555u);
    EXPECT_EQ(mine[7], 31 * 32 / 2);
  }
}

__global__ void segment_kernel(double* out) {
  const double v = threadIdx.x;
  out[threadIdx.x * 4 + 0] = __shfl_sync(0xffffffffu, v, 1, 8);
  out[threadIdx.x * 4 + 1] = __shfl_up_sync(0xffffffffu, v, 2u, 8);
  out[threadIdx.x * 4 + 2] = __shfl_down_sync(0xffffffffu, v, 2u, 8);
  if (threadIdx.x >= 16) out[threadIdx.x * 4 + 3] = __shfl_xor_sync(0xffff0000u, v, 5, 8);
}

TEST(CudaOnCpu, ShufflesStayInTheirSegmentAndMask) {
  std::vector<double> out(32 * 4);
  FLAM_LAUNCH(segment_kernel, dim3(1), dim3(32), 0, nullptr, out.data());
  for (int t = 0; t < 32; ++t) {
    const int start = t / 8 * 8;
    EXPECT_EQ(out[size_t(t * 4)], start + 1);
    EXPECT_EQ(out[size_t(t * 4 + 1)], t - 2 < start ? t : t - 2);
    EXPECT_EQ(out[size_t(t * 4 + 2)], t + 2 > start + 7 ? t : t + 2);
    EXPECT_EQ(out[size_t(t * 4 + 3)], t >= 16 ? t ^ 5 : 0);
  }
}

__global__ void atomics_kernel(int* i, unsigned long long* u, double* d, unsigned* lock) {
  atomicMax(i, int(threadIdx.x));
  atomicAdd(u, 1ull << 33);
  atomicAdd(d, 0.5);
  for (unsigned old = *lock, seen;; old = seen) {
    seen = atomicCAS(lock, old, old + 2);
    if (seen == old) break;
  }
}

TEST(CudaOnCpu, Atomics) {
  int i = -1;
  unsigned long long u = 0;
  double d = 0;
  unsigned lock = 1;
  FLAM_LAUNCH(atomics_kernel, dim3(4), dim3(128), 0, nullptr, &i, &u, &d, &lock);
  EXPECT_EQ(i, 127);
  EXPECT_EQ(u, 512ull << 33);
  EXPECT_EQ(d, 256);
  EXPECT_EQ(lock, 1025u);
}

__global__ void reverse_kernel(int* x, int past) {
  FLAM_DYNAMIC_SHARED(int, s);
  s[threadIdx.x] = x[threadIdx.x];
  if (past && threadIdx.x == 0) s[blockDim.x] = 1;
  __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

TEST(CudaOnCpu, DynamicSharedMemory) {
  std::vector<int> x(200);
  for (int i = 0; i < 200; ++i) x[size_t(i)] = i;
  FLAM_LAUNCH(reverse_kernel, dim3(1), dim3(200), 200 * sizeof(int), nullptr, x.data(), 0);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(x[size_t(i)], 199 - i);
}

// ---- what is counted ----

__global__ void copy_kernel(float* to, const float* from, int step) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  cuda_on_cpu::touch_global(from + i * step, 4, false);
  cuda_on_cpu::touch_global(to + i, 4, true);
  to[i] = from[i * step];
}

cuda_on_cpu::Traffic traffic_of(int step) {
  alignas(32) static float from[128 * 8], to[128];
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  FLAM_LAUNCH(copy_kernel, dim3(2), dim3(64), 0, nullptr, to, from, step);
  cuda_on_cpu::counting_traffic = false;
  return cuda_on_cpu::traffic;
}

TEST(CudaOnCpu, CountsTheSectorsThatWarpsTouch) {
  const auto dense = traffic_of(1), apart = traffic_of(8), one = traffic_of(0);
  EXPECT_EQ(dense.launches, 1u);
  EXPECT_EQ(dense.accesses, 256u);
  EXPECT_EQ(dense.read, 512u);
  EXPECT_EQ(dense.written, 512u);
  EXPECT_EQ(dense.asked, 1024u);
  EXPECT_EQ(apart.read, 128u * 32);
  EXPECT_EQ(apart.asked, 128u * 32 + 512);
  EXPECT_EQ(one.read, 32u);
  EXPECT_EQ(one.asked, 4u * 32 + 512);  // each of four warps asks for it
}

// ---- rules that kernels break ----

template <class F> std::string error_of(F launch) {
  try {
    launch();
  } catch (const KernelError& e) {
    return e.what();
  }
  return "no error";
}

TEST(CudaOnCpu, WriteBehindDynamicSharedMemoryIsFound) {
  std::vector<int> x(64);
  EXPECT_NE(error_of([&] {
              FLAM_LAUNCH(reverse_kernel, dim3(1), dim3(64), 64 * sizeof(int), nullptr, x.data(),
                          1);
            }).find("wrote past its 256 bytes"),
            std::string::npos);
}

__global__ void lonely_shuffle_kernel(int* out) {
  int v = int(threadIdx.x);
  if (threadIdx.x != 5) v = __shfl_xor_sync(0xffffffffu, v, 1);
  out[threadIdx.x] = v;
}

TEST(CudaOnCpu, LaneThatNeverComesIsFound) {
  std::vector<int> out(32);
  const std::string e = error_of(
      [&] { FLAM_LAUNCH(lonely_shuffle_kernel, dim3(1), dim3(32), 0, nullptr, out.data()); });
  EXPECT_NE(e.find("waits at __shfl_xor_sync for lanes that never come"), std::string::npos) << e;
}

__global__ void split_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else if (threadIdx.x > 32) {
    __syncwarp();  // its first lane has left the kernel
  }
}

TEST(CudaOnCpu, BarrierThatSomeNeverReachIsFound) {
  EXPECT_NE(
      error_of([] { FLAM_LAUNCH(split_kernel, dim3(1), dim3(64), 0, nullptr); }).find("never come"),
      std::string::npos);
}

__global__ void trap_kernel() {
  __syncthreads();
  if (threadIdx.x == 3 && blockIdx.x == 2) __trap();
}

TEST(CudaOnCpu, TrapNamesItsThread) {
  const std::string e = error_of([] { FLAM_LAUNCH(trap_kernel, dim3(4), dim3(64), 0, nullptr); });
  EXPECT_EQ(e, "trap_kernel: __trap in thread (3, 0, 0) of block (2, 0, 0)");
}

TEST(CudaOnCpu, RefusesWhatCudaRefuses) {
  EXPECT_NE(error_of([] {
              FLAM_LAUNCH(trap_kernel, dim3(1), dim3(1025), 0, nullptr);
            }).find("threads of a block"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              FLAM_LAUNCH(trap_kernel, dim3(0), dim3(1), 0, nullptr);
            }).find("blocks of the grid"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              FLAM_LAUNCH(trap_kernel, dim3(1), dim3(1), 1 << 20, nullptr);
            }).find("shared memory"),
            std::string::npos);
}

TEST(CudaOnCpu, RunsAgainAfterAnError) {
  error_of([] { FLAM_LAUNCH(trap_kernel, dim3(4), dim3(64), 0, nullptr); });
  EXPECT_EQ(wrong_elements<true>(), 0);
}

}  // namespace
