// The loops of running sums, products and logarithms of sums. They accumulate in a wider type and
// round each result once. CUDA gives a line to a block that scans it piece by piece, by joins of
// parts; where a part left the range of its type (`lost`), one thread joins that piece in order, so
// that the results are the host's kind everywhere.
#include "kernels/scan/scan.h"
#include "kernels/math.h"
#include "kernels/scan/scan_type.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#else
#include "kernels/scan/scan_host.h"
#endif

namespace flambeau::FLAM_TARGET {

struct JoinSums {
  // Where no part of a sum is infinite while the whole is not: integers wrap, and others have a
  // wider type.
  template <class T>
  static constexpr bool in_any_order =
      std::is_integral_v<ScanType<T>> || std::is_same_v<T, float> || std::is_same_v<T, Half>;
  template <class A> static FLAM_FN A zero() { return A(0); }
  template <class A> static FLAM_FN bool lost(A a, A) { return a - a != A(0); }  // inf or NaN
  template <class A> static FLAM_FN A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return A(uint64_t(a) + uint64_t(b));
    } else {
      return a + b;
    }
  }
};
struct JoinProducts {
  // Four floats, as a register has them, never leave the range of double: no part of a product is
  // infinite or 0 where the whole is not.
  template <class T> static constexpr bool in_any_order = std::is_same_v<T, float>;
  template <class A> static FLAM_FN A zero() { return A(1); }
  template <class A> static FLAM_FN bool lost(A a, A before) {
    return std::is_floating_point_v<A> && ((a == A(0) && before != A(0)) || a - a != A(0));
  }
  template <class A> static FLAM_FN A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return A(uint64_t(a) * uint64_t(b));
    } else {
      return a * b;
    }
  }
};

// log(exp(a) + exp(b)).
struct JoinLogSums {
  template <class T> static constexpr bool in_any_order = false;
  template <class A> static FLAM_FN A zero() { return A(-INFINITY); }
  template <class A> static FLAM_FN bool lost(A, A) { return false; }
  template <class A> static FLAM_FN A join(A a, A b) {
    const A low = a < b ? a : b, high = a < b ? b : a;
    if (a != a || b != b) return a + b;
    return low == high && (high == A(INFINITY) || high == A(-INFINITY))
               ? high
               : high + A(::log1p(::exp(low - high)));  // sooner one by one than math.h's
  }
};

#if defined(FLAM_DEVICE_SOURCE)

inline constexpr int kScanThreads = 256;

template <class J, class A> __device__ void scan_in_order(A before, A* piece) {
  for (int i = 0; i < kScanThreads; ++i) piece[i] = before = J::join(before, piece[i]);
}

// Leaves in `piece` the running joins of every thread's own element behind `before`; their last.
template <class J, class A> __device__ A scan_piece(A* piece, A before, A own) {
  const int t = int(threadIdx.x);
  piece[t] = own;
  __syncthreads();
  for (int step = 1; step < kScanThreads; step *= 2) {
    const A left = t >= step ? piece[t - step] : J::template zero<A>();
    __syncthreads();
    piece[t] = J::join(left, piece[t]);
    __syncthreads();
  }
  piece[t] = J::join(before, piece[t]);
  // Behind NaN all is NaN in any order.
  if (__syncthreads_or(before == before && J::lost(piece[t], before))) {
    piece[t] = own;
    __syncthreads();
    if (t == 0) scan_in_order<J>(before, piece);
    __syncthreads();
  }
  return piece[kScanThreads - 1];
}

template <class J, class T> __global__ void scan_kernel(ScanArgs a) {
  using A = ScanType<T>;
  __shared__ A piece[kScanThreads];
  const int t = int(threadIdx.x);
  for (int64_t line = blockIdx.x; line < a.outer * a.inner; line += gridDim.x) {
    const int64_t first = line / a.inner * a.n * a.inner + line % a.inner;
    const T* in = reinterpret_cast<const T*>(a.in) + first;
    T* out = reinterpret_cast<T*>(a.out) + first;
    A before = J::template zero<A>();
    for (int64_t start = 0; start < a.n; start += kScanThreads) {
      const int64_t i = start + t, at = (a.backwards ? a.n - 1 - i : i) * a.inner;
      const A own = i < a.n ? A(load(in + at)) : J::template zero<A>();
      before = scan_piece<J>(piece, before, own);
      if (i < a.n) out[at] = narrow<T>(piece[t]);
      __syncthreads();
    }
  }
}

template <class J, class T> void scan_entry(void* stream, const void* p) {
  const ScanArgs& a = *static_cast<const ScanArgs*>(p);
  const int64_t lines = a.outer * a.inner;
  FLAM_LAUNCH((scan_kernel<J, T>), dim3(unsigned(lines < 65535 ? lines : 65535)),
              dim3(kScanThreads), 0, stream, a);
}

#endif

template <class J, class... T> bool register_scan(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &scan_entry<J, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_cumsum =
    register_scan<JoinSums>(kCumsum, NumberTypes{});
[[maybe_unused]] static const bool registered_cumprod =
    register_scan<JoinProducts>(kCumprod, NumberTypes{});
[[maybe_unused]] static const bool registered_logcumsumexp =
    register_scan<JoinLogSums>(kLogcumsumexp, FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
