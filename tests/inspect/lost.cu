// A kernel that keeps a rule, and beside it the same kernel with one property lost: what a test
// compiles to see the rule fire.
#include <cstdint>

namespace kept {

__global__ void copy(uint4* to, const uint4* from, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = from[i];
}

__global__ void scaled(float* x, float by) {
  __shared__ float all[64];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = all[63 - threadIdx.x] * by;
}

__global__ void rows(int64_t* x, uint32_t width, uint32_t n) {
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) x[i] = i / width;
}

__global__ void product(float* sums, const uint4* a, int steps) {
  __shared__ __align__(16) uint4 tile[256];
  float d[4] = {};
  for (int s = 0; s < steps; ++s) {
    const unsigned to = unsigned(__cvta_generic_to_shared(&tile[threadIdx.x]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a + s * 256)
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(to)
                 : "memory");
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%4, %5}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) sums[threadIdx.x * 4 + i] = d[i];
}

}  // namespace kept

namespace lost {

__global__ void vectors(uint32_t* to, const uint32_t* from, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = from[i];
}

// An array whose index is known when it runs alone.
__global__ void registers_of_an_array(float* x, const int* places, int n) {
  float all[64];
  for (int i = 0; i < 64; ++i) all[i] = x[i];
  for (int i = 0; i < n; ++i) all[places[i] & 63] += all[places[i + 1] & 63];
  x[threadIdx.x] = all[places[n] & 63];
}

// More values alive than the registers of 1024 threads.
__global__ void __launch_bounds__(1024, 1) registers_by_spills(float* x, float by) {
  float all[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) all[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 128; ++i) x[i * 1024 + threadIdx.x] = all[127 - i] * by + all[i];
}

__global__ void occupancy(float* x, float by) {
  __shared__ float all[65];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = all[64 - threadIdx.x] * by;
}

__global__ void singles(float* x, float by) { x[threadIdx.x] = float(x[threadIdx.x] + 0.1 * by); }

__global__ void words(int64_t* x, int64_t width, uint32_t n) {
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] / width;
}

// Fragments by plain loads.
__global__ void matrices(float* sums, const unsigned* a, int steps) {
  float d[4] = {};
  for (int s = 0; s < steps; ++s) {
    const unsigned r[4] = {a[s], a[s + 1], a[s + 2], a[s + 3]};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%4, %5}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
  }
  for (int i = 0; i < 4; ++i) sums[threadIdx.x * 4 + i] = d[i];
}

__global__ void tensor_units(float* sums, const float* a, int steps) {
  float d = 0;
  for (int s = 0; s < steps; ++s) d += a[s] * a[s + 1];
  sums[threadIdx.x] = d;
}

}  // namespace lost
