// Operands of an implicit matrix product: the patches that a kernel meets, packed strip by strip
// from the image itself. A tap is one element of the kernel; in every dimension the taps reach
// first + tap * delta from a position's origin, position * step. Forward and gradient by the data
// differ in these numbers only.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm_block.h"

namespace flambeau::FLAM_TARGET {

struct TapDim {
  int64_t size, stride;        // of the image read
  int64_t step, count;         // positions
  int64_t taps, first, delta;  // of the kernel
};

// Lanes [low, high) of the vector at p, zero elsewhere; memory outside is not touched.
template <class T>
FLAM_FN Vector<GemmCompute<T>> load_window(const T* p, int64_t low, int64_t high) {
  using C = GemmCompute<T>;
  constexpr int lanes = kLanes<C>;
  if (low == 0 && high == lanes) return load_as(p);
#if FLAM_ISA_RANK == 2
  if constexpr (std::is_same_v<T, float>) {
    return _mm512_maskz_loadu_ps(__mmask16(((1u << high) - 1) & ~((1u << low) - 1)), p);
  }
  if constexpr (std::is_same_v<T, double>) {
    return _mm512_maskz_loadu_pd(__mmask8(((1u << high) - 1) & ~((1u << low) - 1)), p);
  }
#endif
  T copy[lanes] = {};
  if (low < high) memcpy(copy + low, p + low, size_t(high - low) * sizeof(T));
  return load_as(copy);
}

// The matrix [channels * taps, positions] of one image.
template <class T> struct TapSource {
  using C = GemmCompute<T>;
  const T* data;
  int64_t channel;  // stride
  TapDim dim[kConvDims];
  int64_t along = 0, depth = 0;  // it is never read in place

  const C* in_place() const { return nullptr; }
  int64_t positions() const { return dim[0].count * dim[1].count * dim[2].count; }
  int64_t taps() const { return dim[0].taps * dim[1].taps * dim[2].taps; }

  // One tap at each position in place: a dense matrix already.
  bool is_matrix() const {
    int64_t expected = 1;
    for (int d = kConvDims; d-- > 0; expected *= dim[d].size) {
      const TapDim& t = dim[d];
      if (t.taps != 1 || t.first != 0 || t.count != t.size || (t.step != 1 && t.size != 1))
        return false;
      if (t.size != 1 && t.stride != expected) return false;
    }
    return true;
  }

  // A vector's worth, at most, of neighbouring positions in one row.
  struct Piece {
    int at, count;
    int64_t origin[kConvDims];
  };

  int cut(Piece* pieces, int64_t first, int width) const {
    int n = 0;
    for (int i = 0; i < width; ++n) {
      const int64_t w = (first + i) % dim[2].count, row = (first + i) / dim[2].count;
      const int64_t left = std::min<int64_t>(dim[2].count - w, width - i);
      const int count = int(std::min<int64_t>(left, kLanes<C>));
      pieces[n] = {
          i,
          count,
          {row / dim[1].count * dim[0].step, row % dim[1].count * dim[1].step, w * dim[2].step}};
      i += count;
    }
    return n;
  }

  FLAM_FN Vector<C> read(const T* image, const Piece& piece,
                         const int64_t (&reach)[kConvDims]) const {
    const int64_t d = piece.origin[0] + reach[0], h = piece.origin[1] + reach[1];
    if (uint64_t(d) >= uint64_t(dim[0].size) || uint64_t(h) >= uint64_t(dim[1].size))
      return Vector<C>{};
    const T* row = image + d * dim[0].stride + h * dim[1].stride;
    const int64_t w = piece.origin[2] + reach[2], size = dim[2].size;
    if (dim[2].step == 1 && dim[2].stride == 1) {
      const int64_t low = std::max<int64_t>(0, -w), high = std::min<int64_t>(piece.count, size - w);
      return low < high ? load_window(row + w, low, high) : Vector<C>{};
    }
    C lanes[kLanes<C>] = {};
    for (int i = 0; i < piece.count; ++i) {
      const int64_t at = w + i * dim[2].step;
      if (uint64_t(at) < uint64_t(size)) lanes[i] = gemm_load(row + at * dim[2].stride);
    }
    return load_vector(lanes);
  }

  // Rows p .. p + k of the matrix, columns first .. first + width; at most kDepth columns.
  void pack(C* to, int64_t pitch, int64_t first, int width, int padded, int64_t p,
            int64_t k) const {
    if (k == 0) return;
    Piece pieces[kDepth];
    const int n = cut(pieces, first, width);
    int64_t tap[kConvDims], rest = p % taps();
    for (int d = kConvDims; d-- > 0; rest /= dim[d].taps) tap[d] = rest % dim[d].taps;
    const T* image = data + p / taps() * channel;
    for (int64_t row = 0; row < k; ++row, to += pitch) {
      int64_t reach[kConvDims];
      for (int d = 0; d < kConvDims; ++d) reach[d] = dim[d].first + tap[d] * dim[d].delta;
      for (int i = 0; i < n; ++i)
        store_part<C>(to + pieces[i].at, read(image, pieces[i], reach), pieces[i].count);
      for (int i = width; i < padded; ++i) to[i] = C(0);
      int d = kConvDims - 1;
      while (d >= 0 && ++tap[d] == dim[d].taps) tap[d--] = 0;
      if (d < 0) image += channel;
    }
  }
};

// The transpose over a batch, [images * positions, channels * taps], for the gradient by the
// weight; with one tap it is the image itself.
template <class T> struct PatchSource {
  using C = GemmCompute<T>;
  TapSource<T> taps;
  int64_t image;  // stride
  int64_t along = 0, depth = 0;

  const C* in_place() const { return nullptr; }

  void pack(C* to, int64_t pitch, int64_t first, int width, int padded, int64_t p,
            int64_t k) const {
    alignas(64) C rows[kDepth * kMicroColumns<C>];
    const int64_t positions = taps.positions();
    while (k > 0) {
      TapSource<T> one = taps;
      one.data += p / positions * image;
      const int64_t at = p % positions, count = std::min(k, positions - at);
      one.pack(rows, count, at, int(count), int(count), first, width);
      pack_crossing_strip<C>(to, pitch, rows, count, count, width, padded);
      to += count * pitch;
      p += count;
      k -= count;
    }
  }
};

// The weight as [rows, channels * taps] for a subset of the taps: tap t of a dimension is first + t
// * delta.
template <class T> struct WeightSource {
  using C = GemmCompute<T>;
  const T* data;  // of the first tap
  int64_t row, channel, tap[kConvDims], taps[kConvDims];
  int64_t along = 0, depth = 0;

  const C* in_place() const { return nullptr; }

  void pack(C* to, int64_t pitch, int64_t first, int width, int padded, int64_t p,
            int64_t k) const {
    const bool dense = tap[2] == 1 && tap[1] == taps[2] && tap[0] == taps[1] * tap[1] &&
                       channel == taps[0] * tap[0];
    if (dense) return pack_strip<T>(to, pitch, {data + first * row + p, row, 1}, k, width, padded);
    for (int64_t i = 0; i < k; ++i, to += pitch) {
      int64_t rest = p + i, at = first * row;
      for (int d = kConvDims; d-- > 0; rest /= taps[d]) at += rest % taps[d] * tap[d];
      at += rest * channel;
      for (int r = 0; r < width; ++r) to[r] = gemm_load(data + at + r * row);
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
