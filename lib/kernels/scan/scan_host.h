// Running joins on the host. Neighbouring lines go together in strips. A line of neighbours is
// joined a vector at once where the order of joins does not matter; where it does, several such
// lines are joined in turn, as each waits for itself. So a line's results are the same beside any
// of its kind.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/map/map_element.h"
#include "kernels/scan/scan.h"
#include "kernels/scan/scan_type.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int64_t kStrip = 64, kScanBlock = 512, kShortLine = 16;
inline constexpr int kScanBytes = FLAM_ISA_RANK == 0 ? 16 : 32;  // four doubles, see JoinProducts

// `steps` of the lines of a strip, either side's so many elements apart.
template <class J, class T, class A>
void scan_steps(A* acc, int64_t width, const T* in, T* out, int64_t step, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i, in += step, out += step) {
#pragma GCC ivdep
    for (int64_t c = 0; c < width; ++c) {
      acc[c] = J::join(acc[c], A(load(in + c)));
      out[c] = narrow<T>(acc[c]);
    }
  }
}

template <class J, class T>
void scan_strip(const ScanArgs& a, int64_t outer, int64_t begin, int64_t width) {
  ScanType<T> acc[kStrip];
  std::fill_n(acc, width, J::template zero<ScanType<T>>());
  const int64_t at = outer * a.n * a.inner + begin + (a.backwards ? (a.n - 1) * a.inner : 0);
  scan_steps<J, T>(acc, width, reinterpret_cast<const T*>(a.in) + at,
                   reinterpret_cast<T*>(a.out) + at, a.backwards ? -a.inner : a.inner, a.n);
}

// ---- one line of neighbours ---------------------------------------------------------------------

// A vector of the type that joins are computed in; integers wrap.
template <class T> struct ScanLanes {
  using A = ScanType<T>;
  using Lane = std::conditional_t<std::is_integral_v<A>, uint64_t, A>;
  static constexpr int kLanes = kScanBytes / int(sizeof(Lane));
  typedef Lane Vector __attribute__((vector_size(kScanBytes)));
  using Each = std::make_index_sequence<size_t(kLanes)>;

  // Lane i is that of i - By, of `empty` for the first By.
  template <int By, size_t... I>
  FLAM_FN static Vector shifted(Vector v, Vector empty, std::index_sequence<I...>) {
    return __builtin_shufflevector(empty, v, int(I) + kLanes - By...);
  }
  template <size_t... I> FLAM_FN static Vector last(Vector v, std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, int(I - I) + kLanes - 1 ...);
  }
  template <class J, int By = 1> FLAM_FN static Vector joined(Vector v, Vector empty) {
    if constexpr (By < kLanes) {
      return joined<J, 2 * By>(J::join(shifted<By>(v, empty, Each{}), v), empty);
    } else {
      return v;
    }
  }

  // The running joins of n, a multiple of kLanes. What waits for the vector before is one join.
  template <class J> static void scan(Lane* x, int64_t n, Vector& before) {
    const Vector empty = Vector{} + J::template zero<Lane>();
    for (int64_t i = 0; i < n; i += kLanes) {
      Vector v;
      memcpy(&v, x + i, sizeof v);
      v = joined<J>(v, empty);
      const Vector upto = J::join(before, v);
      before = J::join(before, last(v, Each{}));
      memcpy(x + i, &upto, sizeof v);
    }
  }
};

// A block of a line in the type of its joins, in their order, and back.
template <class T, class Lane> void read_block(Lane* x, const T* in, int64_t step, int64_t n) {
  if constexpr (std::is_same_v<Lane, Compute<T>>) {
    gather_run<T>(reinterpret_cast<char*>(x), reinterpret_cast<const char*>(in),
                  step * int64_t(sizeof(T)), n);
  } else if (step < 0) {
    for (int64_t i = 0; i < n; ++i) x[i] = Lane(load(in - i));
  } else {
    for (int64_t i = 0; i < n; ++i) x[i] = Lane(load(in + i));
  }
}
template <class T, class Lane> void write_block(T* out, const Lane* x, int64_t step, int64_t n) {
  if constexpr (std::is_same_v<Lane, Compute<T>>) {
    scatter_run<T>(reinterpret_cast<char*>(out), step * int64_t(sizeof(T)),
                   reinterpret_cast<const char*>(x), n);
  } else if (step < 0) {
    for (int64_t i = 0; i < n; ++i) out[-i] = narrow<T>(x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = narrow<T>(x[i]);
  }
}

// Lines first to first + Lines - 1, which do not wait for each other.
template <class J, class T, int Lines> void scan_lines(const ScanArgs& a, int64_t first) {
  using Lanes = ScanLanes<T>;
  using Lane = typename Lanes::Lane;
  alignas(64) Lane x[Lines][kScanBlock];
  Lane acc[Lines];
  std::fill_n(acc, Lines, J::template zero<Lane>());
  typename Lanes::Vector before = typename Lanes::Vector{} + J::template zero<Lane>();
  const int64_t start = first * a.n + (a.backwards ? a.n - 1 : 0), step = a.backwards ? -1 : 1;
  const T* in = reinterpret_cast<const T*>(a.in) + start;
  T* out = reinterpret_cast<T*>(a.out) + start;
  for (int64_t i = 0; i < a.n; i += kScanBlock) {
    const int64_t m = std::min(kScanBlock, a.n - i);
    for (int c = 0; c < Lines; ++c) read_block(x[c], in + c * a.n + i * step, step, m);
    if constexpr (J::template in_any_order<T>) {
      const int64_t whole = (m + Lanes::kLanes - 1) / Lanes::kLanes * Lanes::kLanes;
      std::fill(x[0] + m, x[0] + whole, J::template zero<Lane>());
      Lanes::template scan<J>(x[0], whole, before);
    } else {
      for (int64_t k = 0; k < m; ++k) {
#pragma GCC unroll 4
        for (int c = 0; c < Lines; ++c) x[c][k] = acc[c] = J::join(acc[c], x[c][k]);
      }
    }
    for (int c = 0; c < Lines; ++c) write_block(out + c * a.n + i * step, x[c], step, m);
  }
}

// A line for which a block is not worth its start.
template <class J, class T> void scan_short(const ScanArgs& a, int64_t line) {
  const int64_t start = line * a.n + (a.backwards ? a.n - 1 : 0), step = a.backwards ? -1 : 1;
  const T* in = reinterpret_cast<const T*>(a.in) + start;
  T* out = reinterpret_cast<T*>(a.out) + start;
  auto acc = J::template zero<typename ScanLanes<T>::Lane>();
  for (int64_t i = 0; i < a.n; ++i, in += step, out += step) {
    acc = J::join(acc, static_cast<decltype(acc)>(load(in)));
    *out = narrow<T>(acc);
  }
}

// ---- the launch ---------------------------------------------------------------------------------

template <class J, class T> void scan_entry(void*, const void* p) {
  const ScanArgs& a = *static_cast<const ScanArgs*>(p);
  const int64_t strips = (a.inner + kStrip - 1) / kStrip;
  const int64_t work = a.n * std::min(a.inner, kStrip), grain = 16384 / (work + 1) + 1;
  parallel_for(a.outer * strips, grain, [&](int64_t begin, int64_t end) {
    if (a.inner > 1) {
      for (int64_t s = begin; s < end; ++s) {
        const int64_t c = s % strips * kStrip;
        scan_strip<J, T>(a, s / strips, c, std::min(a.inner - c, kStrip));
      }
      return;
    }
    constexpr int kTogether = J::template in_any_order<T> ? 1 : 4;
    const bool is_short = a.n <= kShortLine;
    for (; !is_short && begin + kTogether <= end; begin += kTogether)
      scan_lines<J, T, kTogether>(a, begin);
    for (; begin < end; ++begin)
      is_short ? scan_short<J, T>(a, begin) : scan_lines<J, T, 1>(a, begin);
  });
}

}  // namespace flambeau::FLAM_TARGET
