// Winograd's minimal filtering (Lavin and Gray, arXiv 1509.09308) on tiles of 6 x 6: 4 x 4 outputs
// under 3 x 3 taps, or 2 x 2 under 5 x 5, take 36 products instead of 144 and 100. Tiles, taps and
// outputs become values of polynomials at 0, +-sqrt(1/2), +-sqrt(2) and infinity: with these points
// errors are those of plain sums of a tile's magnitude, with 1 and 2 they are five times as large.
#pragma once
#include "kernels/conv/conv_pixels.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kTile = 6, kPlaces = kTile * kTile;
inline constexpr float kNear = 0.70710678f, kFar = 1.41421356f;  // the points

// y = f along both axes of x: f takes In elements to Out.
template <class V, int In, int Out, class Load, class Store, class F>
FLAM_FN void along_both(Load&& load, Store&& store, F&& f) {
  V half[Out][In];
#pragma GCC unroll 6
  for (int j = 0; j < In; ++j) {
    V x[In], y[Out];
#pragma GCC unroll 6
    for (int i = 0; i < In; ++i) x[i] = load(i, j);
    f(x, y);
#pragma GCC unroll 6
    for (int i = 0; i < Out; ++i) half[i][j] = y[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < Out; ++i) {
    V y[Out];
    f(half[i], y);
#pragma GCC unroll 6
    for (int j = 0; j < Out; ++j) store(i, j, y[j]);
  }
}

// A tile of the image, B^T d.
template <class V> FLAM_FN void winograd_image(const V (&d)[kTile], V (&y)[kTile]) {
  const V near_even = d[4] - 2.0f * d[2], near_odd = (d[3] - 2.0f * d[1]) * kNear;
  const V far_even = d[4] - 0.5f * d[2], far_odd = (d[3] - 0.5f * d[1]) * kFar;
  y[0] = d[0] + (d[4] - 2.5f * d[2]);
  y[1] = near_even + near_odd;
  y[2] = near_even - near_odd;
  y[3] = far_even + far_odd;
  y[4] = far_even - far_odd;
  y[5] = d[1] + (d[5] - 2.5f * d[3]);
}

// Outputs from products, A^T m.
template <class V, int Out>
FLAM_FN void winograd_outputs(const V (&m)[kTile], V (&y)[Out]) {
  const V near_even = m[1] + m[2], near_odd = (m[1] - m[2]) * kNear;
  const V far_even = m[3] + m[4], far_odd = (m[3] - m[4]) * kFar;
  y[0] = m[0] + (near_even + far_even);
  if constexpr (Out == 2) {
    y[1] = m[5] + (near_odd + far_odd);
  } else {
    y[1] = near_odd + far_odd;
    y[2] = 0.5f * near_even + 2.0f * far_even;
    y[3] = m[5] + (0.5f * near_odd + 2.0f * far_odd);
  }
}

// Gradients of outputs to places, A y.
template <class V, int Out>
FLAM_FN void winograd_gradient(const V (&y)[Out], V (&m)[kTile]) {
  V near_even = y[0], far_even = y[0], near_odd = y[1], far_odd = y[1];
  if constexpr (Out == 4) {
    near_even += 0.5f * y[2];
    far_even += 2.0f * y[2];
    near_odd += 0.5f * y[3];
    far_odd += 2.0f * y[3];
  }
  near_odd *= kNear;
  far_odd *= kFar;
  m[0] = y[0];
  m[1] = near_even + near_odd;
  m[2] = near_even - near_odd;
  m[3] = far_even + far_odd;
  m[4] = far_even - far_odd;
  m[5] = y[Out - 1];
}

inline constexpr float kNearScale = -2.0f / 3, kFarScale = 1.0f / 6;

// Taps to places, G g.
template <class V, int Taps> FLAM_FN void winograd_taps(const V (&g)[Taps], V (&y)[kTile]) {
  V near_even = g[0] + 0.5f * g[2], far_even = g[0] + 2.0f * g[2], near_odd = g[1], far_odd = g[1];
  if constexpr (Taps == 5) {
    near_even += 0.25f * g[4];
    far_even += 4.0f * g[4];
    near_odd += 0.5f * g[3];
    far_odd += 2.0f * g[3];
  }
  near_odd *= kNear;
  far_odd *= kFar;
  y[0] = g[0];
  y[1] = (near_even + near_odd) * kNearScale;
  y[2] = (near_even - near_odd) * kNearScale;
  y[3] = (far_even + far_odd) * kFarScale;
  y[4] = (far_even - far_odd) * kFarScale;
  y[5] = g[Taps - 1];
}

// Gradients of places to taps, G^T u.
template <class V, int Taps>
FLAM_FN void winograd_taps_gradient(const V (&u)[kTile], V (&g)[Taps]) {
  const V near_even = (u[1] + u[2]) * kNearScale, near_odd = (u[1] - u[2]) * (kNear * kNearScale);
  const V far_even = (u[3] + u[4]) * kFarScale, far_odd = (u[3] - u[4]) * (kFar * kFarScale);
  g[0] = u[0] + (near_even + far_even);
  g[1] = near_odd + far_odd;
  g[2] = 0.5f * near_even + 2.0f * far_even;
  if constexpr (Taps == 5) {
    g[3] = 0.5f * near_odd + 2.0f * far_odd;
    g[4] = 0.25f * near_even + 4.0f * far_even;
  }
  g[Taps - 1] += u[5];
}

// How a product falls into tiles. A line is a row of tiles of one image.
template <class T> struct WinogradPlan {
  int64_t taps, step;           // positions between tiles
  int64_t across, down, lines;  // tiles of a line, lines of an image and of all
  int64_t channels, rows;       // rounded up to whole vectors

  explicit WinogradPlan(const TapProduct<T>& g)
      : taps(g.dim[2].taps),
        step(kTile + 1 - taps),
        across((g.dim[2].count + step - 1) / step),
        down((g.dim[1].count + step - 1) / step),
        lines(g.images * down),
        channels(whole_vectors<float>(g.channels)),
        rows(whole_vectors<float>(g.rows)) {}

  int64_t tiles() const { return lines * across; }

  // Whether all transformed taps are worth their memory.
  bool holds_taps() const { return double(kPlaces * channels * rows) <= double(6 << 20); }

  // Whether the products saved are worth the transforms.
  static bool suits(const TapProduct<T>& g) {
    const TapDim &dh = g.dim[1], &dw = g.dim[2];
    const bool square = dh.taps == dw.taps && (dw.taps == 3 || dw.taps == 5);
    const bool dense = dh.step == 1 && dw.step == 1 && dh.delta == 1 && dw.delta == 1;
    if (!std::is_same_v<GemmCompute<T>, float> || !square || !dense || g.dim[0].size != 1 ||
        !g.dim[0].whole() || g.channels < 16 || g.rows < 16) {
      return false;
    }
    const WinogradPlan p(g);
    const double products = double(g.channels * g.rows);
    const double transforms = 256.0 * double(g.channels + g.rows);
    const double direct = double(g.images * g.positions() * p.taps * p.taps) * products;
    return p.tiles() >= 16 && double(p.tiles()) * (kPlaces * products + transforms) < 0.8 * direct;
  }

  // Lines that make about so many tiles.
  int64_t lines_of(int64_t wanted) const {
    return std::clamp<int64_t>((wanted + across / 2) / across, 1, lines);
  }
};

// A stack of kPlaces matrices [tiles, pitch], kept off powers of two.
struct WinogradStack {
  int64_t pitch, place;
  WinogradStack(int64_t tiles, int64_t width)
      : pitch(width + (width * 4 % 2048 == 0 ? 16 : 0)),
        place(tiles * pitch + (tiles * pitch * 4 % 2048 == 0 ? 16 : 0)) {}
  size_t bytes() const { return size_t(kPlaces * place) * sizeof(float); }
};

// A line's images: tiles at `first` .. of the stack.
template <class T>
void winograd_image_line(const TapProduct<T>& g, const WinogradPlan<T>& p, int64_t group,
                         int64_t line, float* pixels, float* to, const WinogradStack& stack) {
  using V = Vector<float>;
  const int64_t pitch = p.channels, length = p.across * p.step + p.taps - 1;
  const TapBlock b{line / p.down, group, 0, line % p.down * p.step, p.step, 0, 0};
  for_window_rows(g, b, image_of(g, b), 0, kTile, [&](int64_t i, const T* from) {
    copy_pixels<T>(pixels + i * length * pitch, pitch, from, g.channels, g.x_channel, g.dim[2],
                   g.dim[2].first, length);
  });
  for (int64_t t = 0; t < p.across; ++t, to += stack.pitch) {
    for (int64_t c = 0; c < g.channels; c += kLanes<float>) {
      const float* from = pixels + t * p.step * pitch + c;
      along_both<V, kTile, kTile>(
          [&](int i, int j) { return load_vector(from + (i * length + j) * pitch); },
          [&](int i, int j, V v) { store_vector(to + (i * kTile + j) * stack.place + c, v); },
          [](const V(&d)[kTile], V(&y)[kTile]) { winograd_image(d, y); });
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
