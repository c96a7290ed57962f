// The loops of running extremes: the host walks neighbouring lines together, CUDA gives a line to a
// block that scans it piece by piece.
#include "kernels/scan/scan_extreme.h"

#include <algorithm>

#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#else
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

// Whether b takes the place of a that came before it.
template <bool Max, class V> FLAM_FN bool replaces(V b, V a) {
  if constexpr (std::is_integral_v<V>) {
    return Max ? b >= a : b <= a;
  } else {
    return b != b || (a == a && (Max ? b >= a : b <= a));
  }
}

#if defined(FLAM_DEVICE_SOURCE)

inline constexpr int kExtremeThreads = 256;

template <bool Max, class T> __global__ void scan_extreme_kernel(ScanExtremeArgs a) {
  using V = Compute<T>;
  __shared__ V value[kExtremeThreads];
  __shared__ int64_t place[kExtremeThreads];  // -1: nothing yet
  const int t = int(threadIdx.x);
  for (int64_t line = blockIdx.x; line < a.outer * a.inner; line += gridDim.x) {
    const int64_t first = line / a.inner * a.n * a.inner + line % a.inner;
    const T* in = reinterpret_cast<const T*>(a.in) + first;
    T* values = reinterpret_cast<T*>(a.values) + first;
    int64_t* at = a.at + first;
    V best{};
    int64_t best_at = -1;
    for (int64_t start = 0; start < a.n; start += kExtremeThreads) {
      const int64_t i = start + t;
      value[t] = i < a.n ? load(in + i * a.inner) : V{};
      place[t] = i < a.n ? i : -1;
      __syncthreads();
      for (int step = 1; step < kExtremeThreads; step *= 2) {
        const V left = t >= step ? value[t - step] : V{};
        const int64_t left_at = t >= step ? place[t - step] : -1;
        __syncthreads();
        if (left_at >= 0 && (place[t] < 0 || !replaces<Max>(value[t], left))) {
          value[t] = left;
          place[t] = left_at;
        }
        __syncthreads();
      }
      const bool before = best_at >= 0 && !replaces<Max>(value[t], best);
      if (i < a.n) {
        values[i * a.inner] = narrow<T>(before ? best : value[t]);
        at[i * a.inner] = before ? best_at : place[t];
      }
      const int last = int(a.n - start < kExtremeThreads ? a.n - start : kExtremeThreads) - 1;
      if (best_at < 0 || replaces<Max>(value[last], best)) {
        best = value[last];
        best_at = place[last];
      }
      __syncthreads();
    }
  }
}

template <bool Max, class T> void scan_extreme_entry(void* stream, const void* p) {
  const ScanExtremeArgs& a = *static_cast<const ScanExtremeArgs*>(p);
  const int64_t lines = a.outer * a.inner;
  FLAM_LAUNCH((scan_extreme_kernel<Max, T>), dim3(unsigned(lines < 65535 ? lines : 65535)),
              dim3(kExtremeThreads), 0, stream, a);
}

#else

inline constexpr int64_t kExtremeStrip = 64;

template <bool Max, class T>
void scan_extreme_strip(const ScanExtremeArgs& a, int64_t outer, int64_t begin, int64_t width) {
  Compute<T> best[kExtremeStrip];
  int64_t best_at[kExtremeStrip];
  const int64_t first = outer * a.n * a.inner + begin;
  for (int64_t i = 0; i < a.n; ++i) {
    const int64_t row = first + i * a.inner;
    const T* in = reinterpret_cast<const T*>(a.in) + row;
    T* values = reinterpret_cast<T*>(a.values) + row;
    for (int64_t c = 0; c < width; ++c) {
      const auto x = load(in + c);
      const bool take = i == 0 || replaces<Max>(x, best[c]);
      best[c] = take ? x : best[c];
      best_at[c] = take ? i : best_at[c];
      values[c] = narrow<T>(best[c]);
      a.at[row + c] = best_at[c];
    }
  }
}

template <bool Max, class T, int64_t N> bool has_record(const T* in, Compute<T> best) {
  int32_t records = 0;
  for (int64_t k = 0; k < N; ++k) records |= replaces<Max>(load(in + k), best);
  return records;
}

// One line whose elements are neighbours. A record is rare: pieces without one are filled.
template <bool Max, class T> void scan_extreme_line(const ScanExtremeArgs& a, int64_t line) {
  constexpr int64_t kPiece = 32;
  const T* in = reinterpret_cast<const T*>(a.in) + line * a.n;
  T* values = reinterpret_cast<T*>(a.values) + line * a.n;
  int64_t* at = a.at + line * a.n;
  auto best = load(in);
  int64_t best_at = 0;
  for (int64_t i = 0; i < a.n; i += kPiece) {
    const int64_t end = i + kPiece < a.n ? i + kPiece : a.n;
    if (end - i == kPiece && !has_record<Max, T, kPiece>(in + i, best)) {
      std::fill_n(values + i, kPiece, narrow<T>(best));
      std::fill_n(at + i, kPiece, best_at);
      continue;
    }
    for (int64_t k = i; k < end; ++k) {
      const auto x = load(in + k);
      if (replaces<Max>(x, best)) {
        best = x;
        best_at = k;
      }
      values[k] = narrow<T>(best);
      at[k] = best_at;
    }
  }
}

template <bool Max, class T> void scan_extreme_entry(void*, const void* p) {
  const ScanExtremeArgs& a = *static_cast<const ScanExtremeArgs*>(p);
  const int64_t strips = (a.inner + kExtremeStrip - 1) / kExtremeStrip;
  const int64_t work = a.n * (a.inner < kExtremeStrip ? a.inner : kExtremeStrip);
  parallel_for(a.outer * strips, 16384 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      if (a.inner == 1) {
        scan_extreme_line<Max, T>(a, s);
        continue;
      }
      const int64_t c = s % strips * kExtremeStrip, left = a.inner - c;
      scan_extreme_strip<Max, T>(a, s / strips, c, left < kExtremeStrip ? left : kExtremeStrip);
    }
  });
}

#endif

template <bool Max, class... T> bool register_extreme(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &scan_extreme_entry<Max, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_extremes =
    register_extreme<true>(kCummax, AllTypes{}) && register_extreme<false>(kCummin, AllTypes{});

}  // namespace flambeau::FLAM_TARGET
