// Running joins in CUDA, each line's in an order that depends on its length alone. Lines of
// neighbours are joined by a warp where they are short, else by blocks a tile at a time; lines that
// lie side by side go a thread each, one after the other in memory. Where lines are too few to fill
// a GPU they are cut: totals of the pieces first, then every piece from what the totals before it
// come to. Where a part leaves the range of its type (`lost`) a tile is joined element by element,
// and a line whose piece ended otherwise than its totals said is taken again from there.
#pragma once
#include <algorithm>

#include "kernels/cuda_launch.h"
#include "kernels/scan/scan.h"
#include "kernels/scan/scan_type.h"
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kScanThreads = 256, kScanWarps = kScanThreads / 32;
inline constexpr int64_t kScanShort = 1024, kScanPieces = 1024;

// Elements of a thread in a tile: what 16 bytes hold, of small types as many as registers do.
template <class T> inline constexpr int kScanEach = sizeof(T) < 2 ? 8 : 16 / int(sizeof(T));
template <class T> inline constexpr int kScanTile = kScanThreads * kScanEach<T>;

// Lines are cut into pieces of so many elements, whose totals lie piece by piece.
struct ScanCut {
  int64_t pieces, length;
};

// ---- steps --------------------------------------------------------------------------------------

template <class J, class A> __device__ A join_lanes(A own) {
  for (int step = 1; step < 32; step *= 2) {
    const A left = __shfl_up_sync(0xffffffffu, own, unsigned(step));
    if (int(threadIdx.x) % 32 >= step) own = J::join(left, own);
  }
  return own;
}

// The totals of a line's pieces before `piece`, joined in order.
template <class J, class A>
__device__ A join_totals(const A* totals, int64_t lines, int64_t line, int64_t piece) {
  A before = J::template zero<A>();
  for (int64_t k = 0; k < piece; ++k) before = J::join(before, totals[k * lines + line]);
  return before;
}

// Whether both are in range, or out of it in the same way: rounding alone is no difference.
template <class J, class A> __device__ bool ended_alike(A a, A b) {
  const A some(1);
  const bool out = J::lost(a, some);
  return out == J::lost(b, some) && (!out || a == b || (a != a && b != b));
}

// The first piece of a line behind one that did not end as its totals say, and how that ended; no
// piece: `pieces`. Ends lie behind all totals.
template <class J, class A>
__device__ int64_t misled_piece(const A* totals, int64_t lines, int64_t line, int64_t pieces,
                                A& before) {
  const A* const ends = totals + pieces * lines;
  A said = J::template zero<A>();
  for (int64_t k = 0; k + 1 < pieces; ++k) {
    said = J::join(said, totals[k * lines + line]);
    before = ends[k * lines + line];
    if (!ended_alike<J>(said, before)) return k + 1;
  }
  return pieces;
}

// ---- a warp a line ------------------------------------------------------------------------------

template <class J, class T> __global__ void scan_short_kernel(ScanArgs a) {
  using A = ScanType<T>;
  const int lane = int(threadIdx.x) % 32;
  const int64_t lines = a.outer * a.inner;
  for (int64_t line = int64_t(blockIdx.x) * kScanWarps + threadIdx.x / 32; line < lines;
       line += int64_t(gridDim.x) * kScanWarps) {
    A before = J::template zero<A>();
    for (int64_t start = 0; start < a.n; start += 32) {
      const int64_t i = start + lane, at = line * a.n + (a.backwards ? a.n - 1 - i : i);
      A own = J::template zero<A>();
      if (i < a.n) {
        const T value = load_global(reinterpret_cast<const T*>(a.in) + at);
        own = A(load(&value));
      }
      A upto = J::join(before, join_lanes<J>(own));
      if constexpr (J::template loses<T>) {
        // Behind NaN all is NaN in any order.
        if (__any_sync(0xffffffffu, before == before && J::lost(upto, before))) {
          A run = before;
          for (int from = 0; from < 32; ++from) {
            run = J::join(run, __shfl_sync(0xffffffffu, own, from));
            if (lane == from) upto = run;
          }
        }
      }
      if (i < a.n) store_global(reinterpret_cast<T*>(a.out) + at, narrow<T>(upto));
      before = __shfl_sync(0xffffffffu, upto, 31);
    }
  }
}

// ---- a block a piece of a line of neighbours ----------------------------------------------------

template <class T>
using ScanChunk = std::conditional_t<kScanEach<T> * sizeof(T) == 16, uint4, uint2>;
template <class T> union ScanRun {
  ScanChunk<T> chunk;
  T value[kScanEach<T>];
};

// Whether a thread's neighbours at p are one access.
template <class T>
__device__ bool is_run(const ScanArgs& a, const T* p, int64_t i, int64_t end) {
  return !a.backwards && i + kScanEach<T> <= end &&
         reinterpret_cast<uintptr_t>(p) % sizeof(ScanChunk<T>) == 0;
}

// A thread's neighbours of a tile; beyond the end of the piece none.
template <class J, class T, class A>
__device__ void read_run(const ScanArgs& a, int64_t line, int64_t i, int64_t end, A* own) {
  const int64_t at = line * a.n + (a.backwards ? a.n - 1 - i : i), step = a.backwards ? -1 : 1;
  const T* in = reinterpret_cast<const T*>(a.in) + at;
  if (is_run(a, in, i, end)) {
    ScanRun<T> run;
    run.chunk = load_global(reinterpret_cast<const ScanChunk<T>*>(in));
#pragma unroll
    for (int e = 0; e < kScanEach<T>; ++e) own[e] = A(load(run.value + e));
    return;
  }
#pragma unroll
  for (int e = 0; e < kScanEach<T>; ++e) {
    own[e] = J::template zero<A>();
    if (i + e >= end) continue;
    const T value = load_global(in + e * step);
    own[e] = A(load(&value));
  }
}

template <class T, class A>
__device__ void write_run(const ScanArgs& a, int64_t line, int64_t i, int64_t end, const A* x) {
  const int64_t at = line * a.n + (a.backwards ? a.n - 1 - i : i), step = a.backwards ? -1 : 1;
  T* out = reinterpret_cast<T*>(a.out) + at;
  if (is_run<T>(a, out, i, end)) {
    ScanRun<T> run;
#pragma unroll
    for (int e = 0; e < kScanEach<T>; ++e) run.value[e] = narrow<T>(x[e]);
    store_global(reinterpret_cast<ScanChunk<T>*>(out), run.chunk);
    return;
  }
#pragma unroll
  for (int e = 0; e < kScanEach<T>; ++e)
    if (i + e < end) store_global(out + e * step, narrow<T>(x[e]));
}

// The running joins of a tile behind `before`, each thread's own in x; the last of all.
template <class J, class T, class A> __device__ A scan_tile(A before, A* x, A* shared) {
  constexpr int each = kScanEach<T>;
  const int t = int(threadIdx.x), lane = t % 32, warp = t / 32;
  A upto = x[0];
#pragma unroll
  for (int e = 1; e < each; ++e) upto = J::join(upto, x[e]);
  const A lanes = join_lanes<J>(upto);
  __syncthreads();  // the tile before has read `shared`
  if (lane == 31) shared[warp] = lanes;
  const A left = __shfl_up_sync(0xffffffffu, lanes, 1);
  __syncthreads();
  A run = before, all = before;
  for (int w = 0; w < kScanWarps; ++w) {
    all = J::join(all, shared[w]);
    if (w + 1 == warp) run = all;
  }
  if (lane) run = J::join(run, left);
  A kept[each];
  bool lost = false;
#pragma unroll
  for (int e = 0; e < each; ++e) {
    kept[e] = run = J::join(run, x[e]);
    lost |= before == before && J::lost(run, before);
  }
  if constexpr (J::template loses<T>) {
    if (__syncthreads_or(lost)) {  // in turn, a thread after the other
      for (int turn = 0; turn < kScanThreads; ++turn) {
        if (t == turn) {
          run = turn ? shared[0] : before;
          for (int e = 0; e < each; ++e) kept[e] = run = J::join(run, x[e]);
          shared[0] = run;
        }
        __syncthreads();
      }
      all = shared[0];
    }
  }
#pragma unroll
  for (int e = 0; e < each; ++e) x[e] = kept[e];
  return all;
}

// Elements [i, end) of a line behind `before`, tile by tile; the join of all.
template <class J, class T, bool Writes, class A>
__device__ A scan_range(const ScanArgs& a, int64_t line, int64_t start, int64_t end, A before,
                        A* shared) {
  for (; start < end; start += kScanTile<T>) {
    const int64_t i = start + int64_t(threadIdx.x) * kScanEach<T>;
    A x[kScanEach<T>];
    read_run<J, T>(a, line, i, end, x);
    before = scan_tile<J, T>(before, x, shared);
    if (Writes) write_run<T>(a, line, i, end, x);
  }
  return before;
}

// The total of each piece, or with `Writes` what runs up to each element.
template <class J, class T, bool Writes>
__global__ void scan_pieces_kernel(ScanArgs a, ScanCut cut, ScanType<T>* totals) {
  using A = ScanType<T>;
  __shared__ A shared[kScanWarps];
  for (int64_t piece = blockIdx.y; piece < cut.pieces; piece += gridDim.y) {
    for (int64_t line = blockIdx.x; line < a.outer; line += gridDim.x) {
      A before = J::template zero<A>();
      if (Writes && totals) before = join_totals<J>(totals, a.outer, line, piece);
      const int64_t end = std::min(a.n, (piece + 1) * cut.length);
      before = scan_range<J, T, Writes>(a, line, piece * cut.length, end, before, shared);
      if (totals && (!Writes || J::template loses<T>) && threadIdx.x == 0)
        store_global(totals + ((Writes ? cut.pieces : 0) + piece) * a.outer + line, before);
    }
  }
}

template <class J, class T>
__global__ void scan_misled_kernel(ScanArgs a, ScanCut cut, const ScanType<T>* totals) {
  using A = ScanType<T>;
  __shared__ A shared[kScanWarps];
  for (int64_t line = blockIdx.x; line < a.outer; line += gridDim.x) {
    A before;
    const int64_t piece = misled_piece<J>(totals, a.outer, line, cut.pieces, before);
    if (piece < cut.pieces)
      scan_range<J, T, true>(a, line, piece * cut.length, a.n, before, shared);
  }
}

// ---- a thread a line, side by side --------------------------------------------------------------

// Elements [first, end) of a line behind `before`, one by one; the join of all.
template <class J, class T, bool Writes, class A>
__device__ A scan_column(const ScanArgs& a, int64_t line, int64_t first, int64_t end, A before) {
  const int64_t down = a.backwards ? -a.inner : a.inner, outer = line / a.inner;
  int64_t at =
      (outer * a.n + (a.backwards ? a.n - 1 - first : first)) * a.inner + line - outer * a.inner;
  for (int64_t i = first; i < end; ++i, at += down) {
    const T value = load_global(reinterpret_cast<const T*>(a.in) + at);
    before = J::join(before, A(load(&value)));
    if (Writes) store_global(reinterpret_cast<T*>(a.out) + at, narrow<T>(before));
  }
  return before;
}

template <class J, class T, bool Writes>
__global__ void scan_columns_kernel(ScanArgs a, ScanCut cut, ScanType<T>* totals) {
  using A = ScanType<T>;
  const int64_t lines = a.outer * a.inner, step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t piece = blockIdx.y; piece < cut.pieces; piece += gridDim.y) {
    for (int64_t line = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; line < lines;
         line += step) {
      A before = J::template zero<A>();
      if (Writes && totals) before = join_totals<J>(totals, lines, line, piece);
      const int64_t end = std::min(a.n, (piece + 1) * cut.length);
      before = scan_column<J, T, Writes>(a, line, piece * cut.length, end, before);
      if (totals && (!Writes || J::template loses<T>))
        store_global(totals + ((Writes ? cut.pieces : 0) + piece) * lines + line, before);
    }
  }
}

template <class J, class T>
__global__ void scan_misled_columns_kernel(ScanArgs a, ScanCut cut, const ScanType<T>* totals) {
  using A = ScanType<T>;
  const int64_t lines = a.outer * a.inner, step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t line = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; line < lines; line += step) {
    A before;
    const int64_t piece = misled_piece<J>(totals, lines, line, cut.pieces, before);
    if (piece < cut.pieces) scan_column<J, T, true>(a, line, piece * cut.length, a.n, before);
  }
}

// ---- the launch ---------------------------------------------------------------------------------

// As many pieces as fill a GPU, each of some tiles; their totals take little beside the line.
inline ScanCut scan_cut(int64_t n, int64_t blocks, int64_t tile, int64_t most) {
  const int64_t wanted = std::clamp<int64_t>(kScanPieces / std::max<int64_t>(blocks, 1), 1, most);
  const int64_t tiles = (n + tile - 1) / tile;
  const int64_t each = std::max<int64_t>(4, (tiles + wanted - 1) / wanted);
  return {(tiles + each - 1) / each, each * tile};
}

template <class J, class T> void scan_entry(void* stream, const void* p) {
  using A = ScanType<T>;
  const ScanArgs& a = *static_cast<const ScanArgs*>(p);
  const int64_t lines = a.outer * a.inner;
  const auto blocks = [](int64_t n) { return unsigned(std::clamp<int64_t>(n, 1, 65535)); };
  if (a.inner == 1 && a.n <= kScanShort) {
    if (a.wanted) return;
    FLAM_LAUNCH((scan_short_kernel<J, T>), dim3(blocks((lines + kScanWarps - 1) / kScanWarps)),
                dim3(kScanThreads), 0, stream, a);
    return;
  }
  const bool columns = a.inner > 1;
  const int64_t across = columns ? (lines + kScanThreads - 1) / kScanThreads : lines;
  const ScanCut cut = columns ? scan_cut(a.n, across, 16, lines < 256 ? kScanPieces : 64)
                              : scan_cut(a.n, across, kScanTile<T>, kScanPieces);
  constexpr int kept = J::template loses<T> ? 2 : 1;  // totals, and how pieces ended
  if (a.wanted) {
    if (cut.pieces > 1) *a.wanted = size_t(kept * cut.pieces * lines) * sizeof(A);
    return;
  }
  const dim3 grid(blocks(across), blocks(cut.pieces)), threads(kScanThreads);
  A* const totals = cut.pieces > 1 ? reinterpret_cast<A*>(a.scratch) : nullptr;
  if (columns) {
    if (totals) {
      FLAM_LAUNCH((scan_columns_kernel<J, T, false>), grid, threads, 0, stream, a, cut, totals);
    }
    FLAM_LAUNCH((scan_columns_kernel<J, T, true>), grid, threads, 0, stream, a, cut, totals);
  } else {
    if (totals) {
      FLAM_LAUNCH((scan_pieces_kernel<J, T, false>), grid, threads, 0, stream, a, cut, totals);
    }
    FLAM_LAUNCH((scan_pieces_kernel<J, T, true>), grid, threads, 0, stream, a, cut, totals);
  }
  if constexpr (J::template loses<T>) {
    if (!totals) return;
    const dim3 few(blocks(across));
    if (columns) {
      FLAM_LAUNCH((scan_misled_columns_kernel<J, T>), few, threads, 0, stream, a, cut, totals);
    } else {
      FLAM_LAUNCH((scan_misled_kernel<J, T>), few, threads, 0, stream, a, cut, totals);
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
