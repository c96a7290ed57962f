// The loops of running sums, products and logarithms of sums. They accumulate in a wider type and
// round each result once. The host walks a strip of neighbouring lines together, CUDA gives a line
// to a block that scans it piece by piece.
#include "kernels/scan/scan.h"
#include "kernels/math.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#else
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class T> using ScanType =
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double>, double,
                       std::conditional_t<std::is_same_v<Compute<T>, float>, float, int64_t>>;

struct JoinSums {
  template <class A> static FLAM_FN A zero() { return A(0); }
  template <class A> static FLAM_FN A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return A(uint64_t(a) + uint64_t(b));
    } else {
      return a + b;
    }
  }
};
struct JoinProducts {
  template <class A> static FLAM_FN A zero() { return A(1); }
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
  template <class A> static FLAM_FN A zero() { return A(-INFINITY); }
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
      piece[t] = i < a.n ? A(load(in + at)) : J::template zero<A>();
      __syncthreads();
      for (int step = 1; step < kScanThreads; step *= 2) {
        const A left = t >= step ? piece[t - step] : J::template zero<A>();
        __syncthreads();
        piece[t] = J::join(left, piece[t]);
        __syncthreads();
      }
      if (i < a.n) out[at] = narrow<T>(J::join(before, piece[t]));
      before = J::join(before, piece[kScanThreads - 1]);
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

#else

inline constexpr int64_t kStrip = 64;

template <class J, class T>
void scan_strip(const ScanArgs& a, int64_t outer, int64_t begin, int64_t width) {
  using A = ScanType<T>;
  A acc[kStrip];
  for (int64_t c = 0; c < width; ++c) acc[c] = J::template zero<A>();
  const int64_t first = outer * a.n * a.inner + begin;
  for (int64_t i = 0; i < a.n; ++i) {
    const int64_t at = first + (a.backwards ? a.n - 1 - i : i) * a.inner;
    const T* in = reinterpret_cast<const T*>(a.in) + at;
    T* out = reinterpret_cast<T*>(a.out) + at;
    for (int64_t c = 0; c < width; ++c) {
      acc[c] = J::join(acc[c], A(load(in + c)));
      out[c] = narrow<T>(acc[c]);
    }
  }
}

template <class J, class T> void scan_entry(void*, const void* p) {
  const ScanArgs& a = *static_cast<const ScanArgs*>(p);
  const int64_t strips = (a.inner + kStrip - 1) / kStrip;
  const int64_t work = a.n * (a.inner < kStrip ? a.inner : kStrip);
  parallel_for(a.outer * strips, 16384 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t c = s % strips * kStrip, left = a.inner - c;
      scan_strip<J, T>(a, s / strips, c, left < kStrip ? left : kStrip);
    }
  });
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
