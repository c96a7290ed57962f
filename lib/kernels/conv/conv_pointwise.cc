// See conv_pointwise.h.
#include "kernels/conv/conv_pointwise.h"

#include "kernels/product/library.h"

namespace flambeau {

namespace {

constexpr int64_t kChunk = 16;  // bytes that algorithms want rows of planes to be multiples of

// From one position of an image to the next, where one step leads through all of them; else 0.
int64_t position_step(const Tensor& t) {
  int64_t step = 0, positions = 1;
  for (size_t d = t.sizes().size(); d-- > 2;) {
    if (t.sizes()[d] == 1) continue;
    if (positions == 1) step = t.strides()[d];
    if (t.strides()[d] != step * positions) return 0;
    positions *= t.sizes()[d];
  }
  // Of one position: as if it were a pixel's channels. Expanded ones have no step.
  return positions == 1 ? t.sizes()[1] : step;
}

int64_t positions_of(const Tensor& t) { return t.numel() / (t.sizes()[0] * t.sizes()[1]); }

// [n, c, ...] as [n * positions, c], where channels lie next to each other; else undefined.
Tensor as_pixels(const Tensor& t) {
  const int64_t channels = t.sizes()[1], positions = positions_of(t), step = position_step(t);
  const bool whole = t.sizes()[0] == 1 || t.strides()[0] == step * positions;
  if (!whole || step < channels || (channels > 1 && t.strides()[1] != 1)) return {};
  return alias(t, Dims{t.sizes()[0] * positions, channels}, Dims{step, 1}, t.offset());
}

// [n, c, ...] as [n, c, positions], where planes are dense and their rows aligned; else undefined.
Tensor as_planes(const Tensor& t) {
  const int64_t positions = positions_of(t), bytes = positions * int64_t(t.element_size());
  if (position_step(t) != 1 || bytes % kChunk != 0) return {};
  if (t.sizes()[1] > 1 && t.strides()[1] != positions) return {};
  return alias(t, Dims{t.sizes()[0], t.sizes()[1], positions}, Dims{t.strides()[0], positions, 1},
               t.offset());
}

Tensor as_matrix(const Tensor& w) {
  return alias(w, Dims{w.sizes()[0], w.sizes()[1]}, Dims{w.strides()[0], w.strides()[1]},
               w.offset());
}
Tensor turned(const Tensor& m) {
  return alias(m, Dims{m.sizes()[1], m.sizes()[0]}, Dims{m.strides()[1], m.strides()[0]},
               m.offset());
}

// to = from by `weight` [channels of from, channels of to], at every position.
bool multiply(const char* op, const Tensor& to, const Tensor& from, const Tensor& weight,
              const Tensor& bias) {
  GemmOptions options;
  if (const Tensor out = as_pixels(to), in = as_pixels(from); out && in) {
    if (bias) options.c = &bias;
    run_gemm(op, out, in, weight, options);
    return true;
  }
  if (bias) return false;  // of planes it is a column, which a library wants laid out first
  const Tensor out = as_planes(to), in = as_planes(from);
  if (!out || !in) return false;
  run_gemm(op, out, turned(weight), in, options);
  return true;
}

}  // namespace

bool is_conv_pointwise(const Tensor& out, const ConvArgs& g) {
  bool alone = g.groups == 1 && g.activation == Activation::none && g.images > 0 &&
               g.in_channels > 0 && g.out_channels > 0;
  for (int d = 0; d < kConvDims; ++d)
    alone = alone && g.kernel[d] == 1 && g.stride[d] == 1 && g.padding[d] == 0 && g.in[d] > 0 &&
            g.in[d] == g.out[d];
  return alone && library_multiplies(out);
}

bool run_conv_pointwise(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                        const Tensor& bias, const ConvArgs& g) {
  return is_conv_pointwise(y, g) && multiply(op, y, x, turned(as_matrix(w)), bias);
}

bool run_conv_pointwise_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                             const Tensor& bias, const ConvArgs& g) {
  return is_conv_pointwise(dx, g) && multiply(op, dx, dy, as_matrix(w), bias);
}

bool run_conv_pointwise_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                               const ConvArgs& g) {
  if (!is_conv_pointwise(dw, g)) return false;
  const Tensor slopes = as_pixels(dy), in = as_pixels(x);
  if (!slopes || !in || slopes.sizes()[0] != in.sizes()[0]) return false;
  run_gemm(op, as_matrix(dw), turned(slopes), in);
  return true;
}

}  // namespace flambeau
