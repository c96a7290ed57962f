// Convolutions of one tap that stays in place, over planes: each image is a matrix already,
// [channels, positions]. Forward and the gradient by the data are a product of each image, whose
// result is written once; the gradient by the weight is one product whose sums go along the
// positions of all images. Nothing is copied but into the strips of the blocked product.
#pragma once
#include "kernels/conv/conv_taps.h"
#include "kernels/gemm/gemm_pieces.h"

namespace flambeau::FLAM_TARGET {

template <class T> bool is_matrix(const TapProduct<T>& g) {
  return g.dim[0].whole() && g.dim[0].size == 1 && g.dim[1].whole() && g.dim[1].size == 1 &&
         g.dim[2].whole() && g.dim[2].stride == 1 && g.out_step[2] == 1 && g.x_channel != 1 &&
         std::is_same_v<T, GemmCompute<T>>;
}

template <class T> void matrix_taps(const TapProduct<T>& g) {
  using C = GemmCompute<T>;
  const int64_t items = g.images * g.groups, n = g.dim[2].count;
  const int64_t work = g.rows * (g.channels + 1) * n;
  // Whole images to threads, where there are enough of them; else the threads share each image.
  const int64_t grain = items >= 2 * get_num_threads() ? 1 + (1 << 18) / work : items;
  const Scratch packed(size_t(g.groups * g.rows * g.channels) * sizeof(C));
  auto weight = [&](int64_t group) {
    return MatrixSource<T>{g.w + group * g.w_group, g.w_row, g.w_channel};
  };
  auto packed_of = [&](int64_t group) { return packed.as<C>() + group * g.rows * g.channels; };
  for (int64_t group = 0; group < g.groups; ++group)
    pack_whole(packed_of(group), weight(group), g.rows, g.channels);
  parallel_for(items, grain, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t image = i / g.groups, group = i % g.groups, channel = group * g.rows;
      const MatrixSource<T> x{g.x + image * g.x_image + group * g.channels * g.x_channel, 1,
                              g.x_channel};
      const Target<C> to{
          reinterpret_cast<C*>(g.out) + image * g.out_image + channel * g.out_channel,
          g.out_channel,
          g.bias ? reinterpret_cast<const C*>(g.bias) + channel * g.bias_stride : nullptr,
          g.bias_stride,
          true,
          g.activation == Activation::relu};
      BlockedProduct<MatrixSource<T>, MatrixSource<T>>(g.rows, n, g.channels, weight(group), x, to,
                                                       packed_of(group))
          .run();
    }
  });
}

// Channels of all images as an operand whose sums go along positions, those of one image after
// another's, from `begin` on.
template <class T> struct PlanesSource {
  using C = GemmCompute<T>;
  const T* data;
  int64_t along, image, positions;  // from channel to channel, and from image to image
  int64_t begin = 0;
  static constexpr int64_t depth = 1;

  void pack(C* to, int64_t pitch, int64_t first, int width, int padded, int64_t p,
            int64_t k) const {
    for (int64_t at = begin + p, n; k > 0; at += n, k -= n, to += n * pitch) {
      n = std::min(k, positions - at % positions);
      const T* from = data + at / positions * image + first * along + at % positions;
      pack_strip<T>(to, pitch, {from, along, depth}, n, width, padded);
    }
  }
  bool row_by_row() const { return false; }
  int64_t row() const { return along; }
  int64_t step() const { return depth; }
  const C* in_place() const { return nullptr; }
};

// Of planes of two vectors and more, and of a weight whose rows or columns are dense.
template <class T> class MatrixWeight {
 public:
  using C = GemmCompute<T>;
  static bool suits(const TapProduct<T>& g) {
    return is_matrix(g) && g.dim[2].count >= 2 * kLanes<C> && (g.w_channel == 1 || g.w_row == 1);
  }

  explicit MatrixWeight(const TapProduct<T>& g)
      : g_(g),
        turned_(g.w_channel != 1),
        m_(turned_ ? g.channels : g.rows),
        n_(turned_ ? g.rows : g.channels),
        k_(g.images * g.dim[2].count),
        length_(piece_of(m_ * n_, k_)) {}

  void run() const {
    const int64_t positions = g_.dim[2].count;
    for (int64_t group = 0; group < g_.groups; ++group) {
      const PlanesSource<T> slopes{g_.out + group * g_.rows * g_.out_channel, g_.out_channel,
                                   g_.out_image, positions},
          image{g_.x + group * g_.channels * g_.x_channel, g_.x_channel, g_.x_image, positions};
      multiply(turned_ ? image : slopes, turned_ ? slopes : image,
               reinterpret_cast<C*>(g_.w + group * g_.w_group));
    }
  }

 private:
  // Some slabs, so that a piece is worth its sums, whose memory stays small.
  static int64_t piece_of(int64_t size, int64_t k) {
    constexpr int64_t kSlab = kSlabDepth<C>, kSums = 1 << 20;
    const int64_t pieces =
        std::clamp<int64_t>(kSums / std::max<int64_t>(1, size), 1, 1 + k / (8 * kSlab));
    const int64_t slabs = 1 + ((k - 1) / pieces) / kSlab;
    return std::min(kLongSum, slabs * kSlab);
  }

  void multiply(const PlanesSource<T>& a, const PlanesSource<T>& b, C* out) const {
    const int64_t pieces = std::max<int64_t>(1, (k_ + length_ - 1) / length_);
    const int64_t grain = pieces >= 2 * get_num_threads() ? 1 : pieces;
    const Target<C> to{out, turned_ ? g_.w_channel : g_.w_row, nullptr, 0, false, false};
    sum_pieces(m_, n_, pieces, grain, to, [&](int64_t i, const Target<C>& sums) {
      PlanesSource<T> rows = a, columns = b;
      rows.begin = columns.begin = i * length_;
      BlockedProduct<PlanesSource<T>, PlanesSource<T>>(m_, n_, std::min(length_, k_ - i * length_),
                                                       rows, columns, sums)
          .run();
    });
  }

  const TapProduct<T>& g_;
  const bool turned_;
  const int64_t m_, n_, k_, length_;
};

}  // namespace flambeau::FLAM_TARGET
