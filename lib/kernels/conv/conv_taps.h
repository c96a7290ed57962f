// Forward and gradient by the data are one thing, a TapProduct: out = weight @ what a position's
// taps meet. A tap is one element of the kernel. A TapProduct is brought into the plainest form of
// itself and cut into blocks, whose window of the image each engine lays out as it reads it.
#pragma once
#include <algorithm>

#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm_block.h"

namespace flambeau::FLAM_TARGET {

// Tap t of position j reads element j * step + first + t * delta, zero outside of the image.
struct TapDim {
  int64_t size, stride;        // of the image read
  int64_t step, count;         // positions
  int64_t taps, first, delta;  // of the kernel

  int64_t start(int64_t position) const { return position * step + first; }
  // Elements from the first to the last that neighbouring positions read.
  int64_t length(int64_t positions) const {
    return taps ? (positions - 1) * step + (taps - 1) * delta + 1 : 0;
  }
  bool inside() const { return first >= 0 && first + length(count) <= size; }
  bool whole() const { return taps == 1 && step == 1 && first == 0 && count == size; }
};

// out [images, groups, rows, positions] = weight [groups, rows, channels * taps] @ patches of x.
// The gradient by the weight has the same terms: `out` is read and `w` written.
template <class T> struct TapProduct {
  int64_t images, groups, rows, channels;
  const T* x;
  int64_t x_image, x_channel;
  TapDim dim[kConvDims];
  T* w;
  int64_t w_group, w_row, w_channel, w_tap[kConvDims];
  T* out;
  int64_t out_image, out_channel, out_step[kConvDims];
  const T* bias;
  int64_t bias_stride;
  Activation activation;

  int64_t taps() const { return dim[0].taps * dim[1].taps * dim[2].taps; }
  int64_t tap_offset(int64_t t) const {  // in the weight
    const int64_t line = t / dim[2].taps;
    return t % dim[2].taps * w_tap[2] + line % dim[1].taps * w_tap[1] +
           line / dim[1].taps * w_tap[0];
  }
  int64_t positions() const { return dim[0].count * dim[1].count * dim[2].count; }
  bool inside() const { return dim[0].inside() && dim[1].inside() && dim[2].inside(); }

  void simplify() {
    for (int d = 0; d < kConvDims; ++d) turn(d), thin(d);
    merge(1, 2);
    merge(0, 2);
  }

 private:
  // Taps in the direction of the image.
  void turn(int d) {
    TapDim& t = dim[d];
    if (t.taps == 0 || t.delta >= 0) return;
    w += (t.taps - 1) * w_tap[d];
    w_tap[d] = -w_tap[d];
    t.first += (t.taps - 1) * t.delta;
    t.delta = -t.delta;
  }

  // One tap reads an image of every step-th element.
  void thin(int d) {
    TapDim& t = dim[d];
    if (t.taps != 1 || t.step == 1) return;
    const int64_t rest = (t.first % t.step + t.step) % t.step;
    x += rest * t.stride;
    t.size = std::max<int64_t>(0, t.size - rest + t.step - 1) / t.step;
    t.stride *= t.step;
    t.first = (t.first - rest) / t.step;
    t.step = 1;
  }

  void merge(int outer, int inner) {
    TapDim &o = dim[outer], &i = dim[inner];
    if (!o.whole() || !i.whole()) return;
    if (i.size == 1) std::swap(o, i), std::swap(out_step[outer], out_step[inner]);
    if (o.size == 1 || o.stride != i.size * i.stride ||
        out_step[outer] != i.size * out_step[inner]) {
      return;
    }
    i.size = i.count = i.size * o.size;
    o.size = o.count = 1;
  }
};

// Rows of one image's positions at one depth.
struct TapBlock {
  int64_t image, group, depth, row, rows, column, columns;
  bool same_place(const TapBlock& b) const {
    return depth == b.depth && row == b.row && column == b.column;
  }
};

// All blocks of a product; each has about as many positions as are wanted.
template <class T> class TapBlocks {
 public:
  TapBlocks(const TapProduct<T>& g, int64_t positions) : g_(g) {
    const int64_t height = g.dim[1].count, width = g.dim[2].count;
    columns_ = even(width, positions);
    rows_ = even(height, std::max<int64_t>(1, positions / columns_));
    across_ = (width + columns_ - 1) / columns_;
    down_ = (height + rows_ - 1) / rows_;
  }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t of_group() const { return g_.images * g_.dim[0].count * down_ * across_; }
  int64_t count() const { return g_.groups * of_group(); }
  TapBlock operator[](int64_t i) const {
    TapBlock b;
    b.column = i % across_ * columns_;
    i /= across_;
    b.row = i % down_ * rows_;
    i /= down_;
    b.depth = i % g_.dim[0].count;
    i /= g_.dim[0].count;
    b.image = i % g_.images;
    b.group = i / g_.images;
    b.rows = std::min(rows_, g_.dim[1].count - b.row);
    b.columns = std::min(columns_, g_.dim[2].count - b.column);
    return b;
  }

 private:
  static int64_t even(int64_t n, int64_t most) {
    const int64_t parts = std::max<int64_t>(1, (n + most - 1) / most);
    return std::max<int64_t>(1, (n + parts - 1) / parts);
  }

  const TapProduct<T>& g_;
  int64_t rows_, columns_, down_, across_;
};

// Elements [at, at + length) of a row of the image: `low` zeros before it, `high` ends what exists.
struct RowCut {
  int64_t low, high;
  RowCut(const TapDim& d, int64_t at, int64_t length)
      : low(std::clamp<int64_t>(-at, 0, length)),
        high(std::clamp<int64_t>(d.size - at, low, length)) {}
};

// Calls row(k, p) for every row of the window that a block's taps meet: row k of the window, which
// goes by depth's taps and then by height, starts at p in memory, or is outside where p is null.
template <class T, class F>
void for_window_rows(const TapProduct<T>& g, const TapBlock& b, const T* x, int64_t k, int64_t end,
                     F&& row) {
  const TapDim dd = g.dim[0], dh = g.dim[1];
  const int64_t height = dh.length(b.rows), first = dh.start(b.row);
  if (k >= end) return;
  int64_t d = dd.start(b.depth) + k / height * dd.delta, h = k % height;
  const T* plane = x + d * dd.stride + first * dh.stride;
  for (; k < end; ++k) {
    const bool real = uint64_t(d) < uint64_t(dd.size) && uint64_t(first + h) < uint64_t(dh.size);
    row(k, real ? plane + h * dh.stride : nullptr);
    if (++h == height) h = 0, d += dd.delta, plane += dd.delta * dd.stride;
  }
}

template <class T> const T* image_of(const TapProduct<T>& g, const TapBlock& b) {
  return g.x + b.image * g.x_image + b.group * g.channels * g.x_channel;
}

template <class T> T* output_of(const TapProduct<T>& g, const TapBlock& b) {
  return g.out + b.image * g.out_image + b.group * g.rows * g.out_channel +
         b.depth * g.out_step[0] + b.row * g.out_step[1] + b.column * g.out_step[2];
}

// The biases of one group in the arithmetic type, or zeros: rounded up to whole vectors.
template <class T> void load_bias(const TapProduct<T>& g, int64_t group, GemmCompute<T>* to) {
  for (int64_t r = 0; r < g.rows; ++r)
    to[r] = g.bias ? gemm_load(g.bias + (group * g.rows + r) * g.bias_stride) : 0;
}

}  // namespace flambeau::FLAM_TARGET
