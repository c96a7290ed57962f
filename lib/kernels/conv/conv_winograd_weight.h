// The gradient by the weight through Winograd's transforms: the adjoint of the product by places.
// Blocks of tiles go one after the other, so the bits are those of every number of threads.
#pragma once
#include <atomic>
#include <cmath>

#include "kernels/conv/conv_winograd_range.h"

namespace flambeau::FLAM_TARGET {

template <class T, int Taps> class WinogradWeight {
 public:
  using V = Vector<float>;
  static constexpr int64_t kStep = kTile + 1 - Taps;
  explicit WinogradWeight(const TapProduct<T>& g)
      : g_(g),
        p_(g),
        lines_(p_.lines_of(g.channels * g.rows > 1 << 14 ? 128 : 56)),
        images_(lines_ * p_.across, p_.channels),
        gradients_(lines_ * p_.across, p_.rows),
        memory_(images_.bytes() + gradients_.bytes() +
                (sums() + size_t(2 * p_.tiles())) * sizeof(float)) {}

  // False where transforms do not serve, or a sum is not finite: plain sums must decide.
  bool run() const {
    bool served = true;
    for (int64_t group = 0; group < g_.groups && served; ++group) {
      float* to = memory_.as<float>() + (images_.bytes() + gradients_.bytes()) / sizeof(float);
      std::fill(to, to + sums(), 0.0f);
      for (int64_t line = 0; line < p_.lines; line += lines_) {
        const int64_t count = std::min(lines_, p_.lines - line);
        transform(group, line, count);
        multiply(count * p_.across, to);
      }
      served = even() && put(group, to);
    }
    return served;
  }

 private:
  size_t sums() const { return size_t(kPlaces * g_.channels * p_.rows); }
  float* images() const { return memory_.as<float>(); }
  float* gradients() const { return images() + images_.bytes() / sizeof(float); }
  float* image_peaks() const { return gradients() + gradients_.bytes() / sizeof(float) + sums(); }
  float* gradient_peaks() const { return image_peaks() + p_.tiles(); }

  // Whether tiles whose pixels are near each other add a multiple of what any tile does, more than
  // the tiles that share a pixel.
  bool even() const {
    double near = 0, most = 0;
    for (int64_t t = 0; t < p_.tiles(); ++t) {
      const double image = image_peaks()[t], product = std::fabs(image) * gradient_peaks()[t];
      if (image > 0) near += product;
      most = std::max(most, product);
    }
    return 12 * most <= near;
  }

  void transform(int64_t group, int64_t line, int64_t count) const {
    parallel_for(2 * count, 1, [&](int64_t i, int64_t end) {
      const int64_t width = std::max(p_.channels, p_.rows);
      const Scratch pixels(size_t((p_.across * kStep + Taps - 1) * kTile * width) * sizeof(float));
      WinogradLevels image(p_.across, kTile, kStep), gradient(p_.across, kStep, kStep);
      for (; i < end; ++i) {
        const int64_t l = i / 2 * p_.across, tile = line * p_.across + l;
        if (i % 2 == 0) {
          winograd_image_line(g_, p_, group, line + i / 2, pixels.as<float>(),
                              images() + l * images_.pitch, images_);
          image.read(pixels.as<float>(), p_.channels, g_.channels);
          image.peaks(image_peaks() + tile);
          image.mark_apart(image_peaks() + tile);
        } else {
          gradient_line(group, line + i / 2, pixels.as<float>(),
                        gradients() + l * gradients_.pitch);
          gradient.read(pixels.as<float>(), p_.rows, g_.rows);
          gradient.peaks(gradient_peaks() + tile);
        }
      }
    });
  }

  void gradient_line(int64_t group, int64_t line, float* pixels, float* to) const {
    const int64_t length = p_.across * kStep, row = line % p_.down * kStep;
    const TapBlock b{line / p_.down, group, 0, row, 0, 0, 0};
    const TapDim columns{g_.dim[2].count, g_.out_step[2], 1, length, 1, 0, 0};
    for (int64_t i = 0; i < kStep; ++i) {
      const T* from = output_of(g_, b) + i * g_.out_step[1];
      copy_pixels<T>(pixels + i * length * p_.rows, p_.rows,
                     row + i < g_.dim[1].count ? from : nullptr, g_.rows, g_.out_channel, columns,
                     0, length);
    }
    for (int64_t t = 0; t < p_.across; ++t, to += gradients_.pitch) {
      for (int64_t c = 0; c < g_.rows; c += kLanes<float>) {
        const float* from = pixels + t * kStep * p_.rows + c;
        along_both<V, kStep, kTile>(
            [&](int i, int j) { return load_vector(from + (i * length + j) * p_.rows); },
            [&](int i, int j, V v) {
              store_vector(to + (i * kTile + j) * gradients_.place + c, v);
            },
            [](const V(&y)[kStep], V(&m)[kTile]) { winograd_gradient(y, m); });
      }
    }
  }

  // sums, place by place [channels, rows], of what the tiles add.
  void multiply(int64_t tiles, float* sums) const {
    const int64_t strips = (p_.rows + kMicroColumns<float> - 1) / kMicroColumns<float>;
    const int64_t work = tiles * g_.channels * kMicroColumns<float>;
    const Segment whole{0, 0};
    parallel_for(kPlaces * strips, 1 + (1 << 17) / work, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t e = i / strips, first = i % strips * kMicroColumns<float>;
        const Strip<float> strip(p_.rows - first);
        SegmentArgs<float> m{};
        m.segment = &whole;
        m.segments = 1;
        m.k = tiles;
        m.a_depth = images_.pitch;
        m.b = gradients() + e * gradients_.place + first;
        m.b_depth = gradients_.pitch;
        m.out_row = m.init_row = p_.rows;
        m.last = kLanes<float>;
        for_tiles(g_.channels, [&](int64_t at, int64_t count) {
          m.a = images() + e * images_.place + at;
          m.out = sums + (e * g_.channels + at) * p_.rows + first;
          m.init = m.out;
          run_segments<float, false>(count, m, strip.vectors);
        });
      }
    });
  }

  bool put(int64_t group, const float* sums) const {
    const int64_t strips = p_.rows / kLanes<float>;
    std::atomic<bool> finite{true};
    parallel_for(g_.channels * strips, 64, [&](int64_t i, int64_t end) {
      V check{};
      for (; i < end; ++i) {
        const int64_t c = i % g_.channels, row = i / g_.channels * kLanes<float>;
        const int lanes = int(std::min<int64_t>(kLanes<float>, g_.rows - row));
        T* out = g_.w + group * g_.w_group + row * g_.w_row + c * g_.w_channel;
        const float* from = sums + c * p_.rows + row;
        along_both<V, kTile, Taps>(
            [&](int i, int j) {
              return load_part(from + (i * kTile + j) * g_.channels * p_.rows, lanes);
            },
            [&](int i, int j, V v) {
              check += v * 0.0f;
              float lane[kLanes<float>];
              store_vector(lane, v);
              T* tap = out + i * g_.w_tap[1] + j * g_.w_tap[2];
              for (int l = 0; l < lanes; ++l)
                tap[l * g_.w_row] = gemm_finish<T>(lane[l], Activation::none);
            },
            [](const V(&u)[kTile], V(&y)[Taps]) { winograd_taps_gradient(u, y); });
      }
      if (sum_of<float>(check) != 0) finite = false;
    });
    return finite;
  }

  const TapProduct<T>& g_;
  const WinogradPlan<T> p_;
  const int64_t lines_;  // of a block
  const WinogradStack images_, gradients_;
  const Scratch memory_;
};

}  // namespace flambeau::FLAM_TARGET
