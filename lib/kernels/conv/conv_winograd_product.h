// Forward and gradient by the data through Winograd's transforms: a block of tiles at a time is
// transformed, multiplied place by place and transformed back, while it stays in the cache; or,
// where there are more taps than images, all tiles by a strip of outputs at a time. Lines that
// transforms do not serve, or with an output that is not finite, are made by plain sums:
// transforms spread what is not finite, or overflows, over a tile.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/conv/conv_winograd_range.h"
#include "kernels/conv/conv_winograd_taps.h"

namespace flambeau::FLAM_TARGET {

template <class T, int Taps> class WinogradProduct {
 public:
  using V = Vector<float>;
  static constexpr int64_t kStep = kTile + 1 - Taps, kTogether = 128;
  explicit WinogradProduct(const TapProduct<T>& g)
      : g_(g),
        p_(g),
        taps_(g),
        by_strips_(!p_.holds_taps()),
        lines_(p_.lines_of(
            by_strips_ ? 128 : std::clamp<int64_t>((1 << 14) / (p_.channels + 1), 28, 112))),
        images_(lines_ * p_.across, p_.channels),
        products_(lines_ * p_.across, kMicroColumns<float>),
        weights_(by_strips_ ? 0 : size_t(kPlaces * (g.channels + 1) * p_.rows) * sizeof(float)),
        bias_(size_t(p_.rows) * sizeof(float)) {}

  void run() {
    for (int64_t group = 0; group < g_.groups; ++group) {
      std::fill(bias_.as<float>(), bias_.as<float>() + p_.rows, 0.0f);
      load_bias(g_, group, bias_.as<float>());
      if (!by_strips_) run_blocks(group);
      for (int64_t line = 0; by_strips_ && line < p_.lines; line += lines_)
        run_strips(group, line, std::min(p_.lines, line + lines_));
    }
  }

 private:
  struct Pixel {  // of the outputs of a line
    int64_t line, row, column;
  };

  size_t pixel_bytes() const {
    const int64_t image = (p_.across * kStep + Taps - 1) * kTile * p_.channels;
    return size_t(std::max(image, kStep * p_.across * kStep * kMicroColumns<float>)) *
           sizeof(float);
  }

  void run_blocks(int64_t group) const {
    const int64_t parts = (g_.channels + kTogether - 1) / kTogether;
    parallel_for(parts * strips(), 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t first = i / parts * kMicroColumns<float>, c = i % parts * kTogether;
        const Strip<float> strip(p_.rows - first);
        taps_.transform(group, c, std::min(g_.channels, c + kTogether), first, strip.padded(),
                        weights_of(first) + c * strip.padded(), (g_.channels + 1) * strip.padded());
      }
    });
    parallel_for((p_.lines + lines_ - 1) / lines_, 1, [&](int64_t i, int64_t end) {
      const Scratch images(images_.bytes()), products(products_.bytes()), pixels(pixel_bytes());
      WinogradLevels levels(p_.across, kTile, kStep);
      for (; i < end; ++i) {
        block(group, i * lines_, std::min(p_.lines, (i + 1) * lines_), images.as<float>(),
              products.as<float>(), pixels.as<float>(), levels);
      }
    });
  }

  // Strips share nothing but the images, and their taps are used once, so these need no place for
  // all: some channels' at a time stay in the second-level cache.
  void run_strips(int64_t group, int64_t first_line, int64_t end_line) const {
    const Scratch images(images_.bytes());
    const int64_t lines = end_line - first_line;
    std::vector<char> served(static_cast<size_t>(lines));
    std::vector<std::vector<Pixel>> blind(static_cast<size_t>(lines));
    parallel_for(lines, 1, [&](int64_t l, int64_t end) {
      const Scratch pixels(pixel_bytes());
      WinogradLevels levels(p_.across, kTile, kStep);
      for (; l < end; ++l) {
        served[size_t(l)] = image_line(group, first_line + l, pixels.as<float>(),
                                       images.as<float>() + l * p_.across * images_.pitch, levels,
                                       blind[size_t(l)]);
      }
    });
    std::vector<char> finite(size_t(strips() * lines), 1);
    const bool any = std::any_of(served.begin(), served.end(), [](char s) { return s != 0; });
    parallel_for(any ? strips() : 0, 1, [&](int64_t i, int64_t end) {
      const Scratch products(products_.bytes()), pixels(pixel_bytes()),
          weights(size_t(kPlaces * (kTogether + 1) * kMicroColumns<float>) * sizeof(float));
      for (; i < end; ++i) {
        const int64_t first = i * kMicroColumns<float>;
        const Strip<float> strip(p_.rows - first);
        multiply_strip(group, first, strip, lines * p_.across, images.as<float>(),
                       weights.as<float>(), products.as<float>());
        for (int64_t l = 0; l < lines; ++l) {
          finite[size_t(i * lines + l)] =
              outputs(group, first_line + l, first, strip.vectors,
                      products.as<float>() + l * p_.across * products_.pitch, pixels.as<float>(),
                      blind[size_t(l)]);
        }
      }
    });
    for (int64_t l = 0; l < lines; ++l) {
      bool whole = served[size_t(l)];
      for (int64_t i = 0; i < strips(); ++i) whole = whole && finite[size_t(i * lines + l)];
      if (!whole) plain(group, first_line + l);
    }
  }

  void multiply_strip(int64_t group, int64_t first, const Strip<float>& strip, int64_t tiles,
                      const float* images, float* weights, float* products) const {
    for (int64_t c = 0; c < g_.channels; c += kTogether) {
      const int64_t count = std::min(kTogether, g_.channels - c);
      taps_.transform(group, c, c + count, first, strip.padded(), weights,
                      (count + 1) * strip.padded());
      multiply(tiles, weights, count, c > 0, strip, images + c, products);
    }
  }

  int64_t strips() const { return (p_.rows + kMicroColumns<float> - 1) / kMicroColumns<float>; }

  // Place by place [channels, columns] of a strip, and a line more, for places a power of two apart
  // would share a place of the first-level cache.
  float* weights_of(int64_t strip) const {
    return weights_.as<float>() + strip * kPlaces * (g_.channels + 1);
  }

  // A line's images; false where its transforms do not serve.
  bool image_line(int64_t group, int64_t line, float* pixels, float* images, WinogradLevels& levels,
                  std::vector<Pixel>& blind) const {
    winograd_image_line(g_, p_, group, line, pixels, images, images_);
    levels.read(pixels, p_.channels, g_.channels);
    return levels.even<Taps>(rows_of(line), g_.dim[2].count,
                             [&](int64_t i, int64_t j) { blind.push_back({line, i, j}); });
  }

  void block(int64_t group, int64_t line, int64_t end, float* images, float* products,
             float* pixels, WinogradLevels& levels) const {
    std::vector<char> served(size_t(end - line));
    std::vector<Pixel> blind;
    for (int64_t l = line; l < end; ++l) {
      served[size_t(l - line)] = image_line(
          group, l, pixels, images + (l - line) * p_.across * images_.pitch, levels, blind);
    }
    const bool any = std::any_of(served.begin(), served.end(), [](char s) { return s != 0; });
    for (int64_t first = 0; any && first < g_.rows; first += kMicroColumns<float>) {
      const Strip<float> strip(p_.rows - first);
      multiply((end - line) * p_.across, weights_of(first), g_.channels, false, strip, images,
               products);
      for (int64_t l = line; l < end; ++l) {
        served[size_t(l - line)] &=
            outputs(group, l, first, strip.vectors,
                    products + (l - line) * p_.across * products_.pitch, pixels, blind);
      }
    }
    for (int64_t l = line; l < end; ++l) {
      if (!served[size_t(l - line)]) plain(group, l);
    }
  }

  int64_t rows_of(int64_t line) const {
    return std::min(kStep, g_.dim[1].count - line % p_.down * kStep);
  }

  // products = or += images * weights, place by place, of so many channels.
  void multiply(int64_t tiles, const float* weights, int64_t channels, bool adds,
                const Strip<float>& strip, const float* images, float* products) const {
    const Segment whole{0, 0};
    SegmentArgs<float> m{};
    m.segment = &whole;
    m.segments = 1;
    m.k = channels;
    m.a_row = images_.pitch;
    m.b_depth = strip.padded();
    m.out_row = m.init_row = products_.pitch;
    m.last = kLanes<float>;
    for (int e = 0; e < kPlaces; ++e) {
      m.b = weights + e * (channels + 1) * m.b_depth;
      for_tiles(tiles, [&](int64_t at, int64_t count) {
        m.a = images + e * images_.place + at * images_.pitch;
        m.out = products + e * products_.place + at * products_.pitch;
        m.init = adds ? m.out : nullptr;
        run_segments<float, true>(count, m, strip.vectors);
      });
    }
  }

  // A strip of a line's outputs; false where one is not finite.
  bool outputs(int64_t group, int64_t line, int64_t first, int vectors, const float* products,
               float* pixels, const std::vector<Pixel>& blind) const {
    const int64_t width = p_.across * kStep, row = line % p_.down * kStep;
    const bool relu = std::is_same_v<T, float> && g_.activation == Activation::relu;
    V check{};
    for (int64_t t = 0; t < p_.across; ++t) {
      for (int v = 0; v < vectors; ++v) {
        const V bias = load_vector(bias_.as<float>() + first + v * kLanes<float>);
        const float* from = products + t * products_.pitch + v * kLanes<float>;
        float* to = pixels + t * kStep * kMicroColumns<float> + v * kLanes<float>;
        along_both<V, kTile, kStep>(
            [&](int i, int j) { return load_vector(from + (i * kTile + j) * products_.place); },
            [&](int i, int j, V y) {
              y += bias;
              check += y * 0.0f;
              if (relu) y = y < 0 ? V{} : y;
              store_vector(to + (i * width + j) * kMicroColumns<float>, y);
            },
            [](const V(&m)[kTile], V(&y)[kStep]) { winograd_outputs(m, y); });
      }
    }
    for (const Pixel& p : blind) {
      if (p.line != line) continue;
      for (int v = 0; v < vectors; ++v) {
        const V y = load_vector(bias_.as<float>() + first + v * kLanes<float>);
        store_vector(pixels + (p.row * width + p.column) * kMicroColumns<float> + v * kLanes<float>,
                     relu ? (y < 0 ? V{} : y) : y);
      }
    }
    const TapBlock b{line / p_.down, group, 0, row, 0, 0, 0};
    T* out = output_of(g_, b) + first * g_.out_channel;
    for (int64_t i = 0; i < rows_of(line); ++i) {
      put_pixels<T>(out + i * g_.out_step[1], g_.out_channel, g_.out_step[2],
                    pixels + i * width * kMicroColumns<float>, kMicroColumns<float>,
                    std::min<int64_t>(g_.rows - first, kMicroColumns<float>), g_.dim[2].count,
                    g_.activation);
    }
    return sum_of<float>(check) == 0;
  }

  void plain(int64_t group, int64_t line) const {
    TapProduct<T> g = g_;
    const int64_t row = line % p_.down * kStep;
    const TapBlock b{line / p_.down, group, 0, row, 0, 0, 0};
    g.images = g.groups = 1;
    g.x = image_of(g_, b);
    g.w += group * g.w_group;
    g.out = output_of(g_, b);
    if (g.bias) g.bias += group * g.rows * g.bias_stride;
    g.dim[1].count = rows_of(line);
    g.dim[1].first += row;
    PixelProduct<T>(g).run();
  }

  const TapProduct<T>& g_;
  const WinogradPlan<T> p_;
  const WinogradTaps<T, Taps> taps_;
  const bool by_strips_;
  const int64_t lines_;  // of a block
  const WinogradStack images_, products_;
  const Scratch weights_, bias_;
};

}  // namespace flambeau::FLAM_TARGET
