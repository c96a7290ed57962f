// The loop over rows around a functor that is written once, in terms of what a row can do:
//
//   template <class T> struct Softmax {                  members: doubles, from RowArgs::params
//     template <class R>
//     FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
//       const T* x = operand<T>(a, 1, row);
//       r.each([&](int64_t i) { ... });                  all i of the row, in any order, at once
//       r.sum([&](int64_t i) { return term; })           in a wider type; everybody gets it
//       r.greatest([&](int64_t i) { return value; })
//       if (r.first()) ...                               one of the threads that work on the row
//
// The host gives a row to one thread and vectorises inside it; CUDA gives it to a block.
#pragma once
#include <cstring>

#include "kernels/report/report_device.h"
#include "kernels/row/row.h"
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/fold/fold_cuda.h"
#else
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class T> FLAM_KERNEL_FN T* operand(const RowArgs& a, int i, int64_t row) {
  return reinterpret_cast<T*>(a.data[i] + row * a.stride[i]);
}

#if defined(FLAM_DEVICE_SOURCE)

template <class V> struct JoinSum {
  using Acc = V;
  FLAM_FN V zero() const { return V(0); }
  FLAM_FN V join(V a, V b) const { return a + b; }
};
template <class V> struct JoinGreatest {
  using Acc = V;
  FLAM_FN V zero() const { return -V(__builtin_huge_val()); }
  FLAM_FN V join(V a, V b) const { return b > a ? b : a; }
};

template <class V> struct BlockRow {
  int64_t n;
  using Wide =
      V;  // elementwise arithmetic; sums of f32 are trees, which are accurate by themselves

  __device__ bool first() const { return threadIdx.x == 0; }
  template <class F> __device__ void each(const F& f) const {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
  }
  template <class F> __device__ V sum(const F& f) const {
    V a = V(0);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) a += V(f(i));
    return everywhere(block_join(JoinSum<V>{}, a));
  }
  template <class F> __device__ V greatest(const F& f) const {
    const JoinGreatest<V> m;
    V a = m.zero();
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) a = m.join(a, f(i));
    return everywhere(block_join(m, a));
  }
  __device__ void finished() const { __syncthreads(); }

 private:
  __device__ V everywhere(V a) const {  // the first warp's value, to all
    __shared__ V value;
    __syncthreads();
    if (threadIdx.x == 0) value = a;
    __syncthreads();
    return value;
  }
};

template <template <class> class F, class T> __global__ void row_kernel(RowArgs a) {
  F<T> f{};
  if constexpr (!std::is_empty_v<F<T>>) memcpy(&f, a.params, sizeof f);
  BlockRow<Compute<T>> r{a.n};
  for (int64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
    f(r, a, i);
    __syncthreads();
  }
}

template <template <class> class F, class T> void row_entry(void* stream, const void* p) {
  const RowArgs& a = *static_cast<const RowArgs*>(p);
  const unsigned threads = a.n <= 64 ? 32 : a.n <= 512 ? 128 : a.n <= 4096 ? 256 : 512;
  const unsigned blocks = unsigned(a.rows < 65535 ? a.rows : 65535);
  FLAM_LAUNCH((row_kernel<F, T>), dim3(blocks), dim3(threads), 0, stream, a);
}

#else

template <class V> struct HostRow {
  int64_t n;
  using Wide = double;
  static constexpr int kLanes = (64 << FLAM_ISA_RANK) / 8;

  FLAM_FN bool first() const { return true; }
  template <class F> FLAM_FN void each(const F& f) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) f(i);
  }
  template <class F> FLAM_FN double sum(const F& f) const {
    double lane[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) lane[l] += double(f(i + l));
    }
    for (int l = 0; i < n; ++i, ++l) lane[l] += double(f(i));
    const int used = n < kLanes ? int(n) : kLanes;
    double total = 0;
    for (int l = 0; l < used; ++l) total += lane[l];
    return total;
  }
  template <class F> FLAM_FN V greatest(const F& f) const {
    V lane[kLanes];
    for (int l = 0; l < kLanes; ++l) lane[l] = -V(__builtin_huge_val());
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) {
        const V x = f(i + l);
        lane[l] = x > lane[l] ? x : lane[l];
      }
    }
    for (; i < n; ++i) {
      const V x = f(i);
      lane[0] = x > lane[0] ? x : lane[0];
    }
    V top = lane[0];
    for (int l = 1; l < kLanes; ++l) top = lane[l] > top ? lane[l] : top;
    return top;
  }
  FLAM_FN void finished() const {}
};

template <template <class> class F, class T> void row_entry(void*, const void* p) {
  const RowArgs& a = *static_cast<const RowArgs*>(p);
  F<T> f{};
  if constexpr (!std::is_empty_v<F<T>>) memcpy(static_cast<void*>(&f), a.params, sizeof f);
  // Flattened: a loop that calls what it does for an element would not become vectors.
  const auto rows = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    HostRow<Compute<T>> r{a.n};
    for (int64_t i = begin; i < end; ++i) f(r, a, i);
  };
  parallel_for(a.rows, 16384 / (a.n + 16) + 1, rows);
}

#endif

template <template <class> class F, class... T> bool register_row(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &row_entry<F, T>), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET

#define FLAM_ROW(kernel, F, Types) \
  [[maybe_unused]] static const bool registered_##kernel = register_row<F>(kernel, Types{})
