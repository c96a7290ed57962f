// A tile of outputs in registers whose sum runs over segments: places in both operands from which
// k steps go on evenly. So a patch of an image is read where it lies, never unrolled.
#pragma once
#include "kernels/gemm/gemm_micro.h"

namespace flambeau::FLAM_TARGET {

struct Segment {
  int64_t a, b;
};

template <class C> struct SegmentArgs : MicroArgs<C> {
  const Segment* segment;
  int64_t segments;
};

template <class C, int Rows, int Vectors, bool RowMajor>
void segment_micro(const SegmentArgs<C>& g) {
  Tile<Sum<C>, Rows, Vectors> tile;
  tile.start();
  const int64_t a_row = RowMajor ? g.a_row : 1, a_depth = RowMajor ? 1 : g.a_depth,
                b_depth = g.b_depth;
  for (int64_t s = 0; s < g.segments; ++s) {
    const C *a = g.a + g.segment[s].a, *b = g.b + g.segment[s].b;
    for (int64_t p = 0; p < g.k; ++p) {
      tile.step(a, a_row, b);
      a += a_depth;
      b += b_depth;
    }
  }
  tile.finish(g);
}

template <class C> using SegmentMicro = void (*)(const SegmentArgs<C>&);

template <class C, bool RowMajor, int Vectors, size_t... I>
SegmentMicro<C> segment_micro_of(int64_t rows, std::index_sequence<I...>) {
  static constexpr SegmentMicro<C> table[] = {&segment_micro<C, int(I) + 1, Vectors, RowMajor>...};
  return table[rows - 1];
}

template <class C, bool RowMajor> void run_segments(int64_t rows, const SegmentArgs<C>& g, int n) {
  using Heights = std::make_index_sequence<size_t(kMicroRows)>;
  if (n == 1) return segment_micro_of<C, RowMajor, 1>(rows, Heights{})(g);
  segment_micro_of<C, RowMajor, 2>(rows, Heights{})(g);
}

// Columns of a strip of which `left` remain: whole vectors, and the last one's elements.
template <class C> struct Strip {
  int width, vectors, last;
  explicit Strip(int64_t left)
      : width(int(std::min<int64_t>(left, kMicroColumns<C>))),
        vectors((width + kLanes<C> - 1) / kLanes<C>),
        last(width - (vectors - 1) * kLanes<C>) {}
  int padded() const { return vectors * kLanes<C>; }
};

template <class C> int64_t whole_vectors(int64_t n) {
  return (n + kLanes<C> - 1) / kLanes<C> * kLanes<C>;
}

// Calls f(first, rows) for tiles of nearly equal height.
template <class F> void for_tiles(int64_t n, F&& f) {
  const int64_t tiles = (n + kMicroRows - 1) / kMicroRows;
  for (int64_t t = 0; t < tiles; ++t) f(n * t / tiles, n * (t + 1) / tiles - n * t / tiles);
}

}  // namespace flambeau::FLAM_TARGET
