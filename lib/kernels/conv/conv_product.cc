// The planner of convolutions as products: brings operands to pixels, and counts tiles and splits.
// A split is chosen by sizes alone, so that the order of its sums is the same on every GPU.
#include "kernels/conv/conv_product.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/conv/conv_limits.h"
#include "kernels/map/map.h"

namespace flambeau {

constinit Kernel kConvProduct{"conv_product"}, kConvProductData{"conv_product_data"},
    kConvProductWeight{"conv_product_weight"};

namespace {

constexpr int64_t kFewestChannels = 8;  // of a group, among several
constexpr int64_t kTile = 128, kStepChunks = 4;
constexpr int64_t kBlocks = 264, kFewestSteps = 8, kMostSplits = 64;

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to; }

int64_t chunk_of(const Tensor& t) { return 16 / int64_t(t.element_size()); }

// Channels with what fills their last chunk.
int64_t padded(int64_t channels, int64_t chunk) { return up(channels, chunk) * chunk; }

// Steps between chunks, by what 32 bits count within an image.
bool is_aligned_step(const Tensor& t, size_t d) {
  const int64_t step = t.strides()[d];
  return step >= 0 && step % chunk_of(t) == 0 && (d == 0 || step < kConvLimit / t.sizes()[d]);
}

// [n, g * c, ...space] as [n, ...space, g, c] in memory, each group from a chunk's start on.
Tensor as_pixels(const Tensor& t, int64_t groups, bool dense) {
  const size_t space = size_t(t.dim()) - 2;
  const int64_t channels = t.sizes()[1] / groups, filled = padded(channels, chunk_of(t));
  int64_t step = filled * groups;
  bool lies =
      t.strides()[1] == 1 && channels == filled && reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
  Dims strides(space + 3, 1);
  strides[1] = filled;
  for (size_t d = t.sizes().size(); d-- > 0;) {
    if (d == 1) continue;
    lies = lies && (dense ? t.strides()[d] == step || t.sizes()[d] == 1
                          : t.sizes()[d] == 1 || is_aligned_step(t, d));
    strides[d == 0 ? 0 : d + 1] = step;
    step *= t.sizes()[d];
  }
  if (lies) return t;
  const Tensor pixels = empty(Dims{step}, t.dtype(), t.device());
  Dims sizes{t.sizes()[0], groups, channels},
      from{t.strides()[0], channels * t.strides()[1], t.strides()[1]};
  for (size_t d = 2; d < space + 2; ++d) {
    sizes.push_back(t.sizes()[d]);
    from.push_back(t.strides()[d]);
  }
  run_cast(alias(pixels, sizes, strides, 0), alias(t, sizes, from, t.offset()));
  // As [n, g * c, ...space] again, of which padding makes no view: what is read are its strides.
  sizes = Dims(t.sizes());
  Dims seen{strides[0], 1};
  for (size_t d = 2; d < space + 2; ++d) seen.push_back(strides[d + 1]);
  return alias(pixels, sizes, seen, 0);
}

ConvPixels pixels_of(const Tensor& t, const int64_t (&size)[kConvDims], int64_t groups) {
  const ConvOperand o = operand_of(t);
  ConvPixels p{};
  p.data = o.data;
  p.image = o.outer;
  p.channels = int32_t(t.sizes()[1] / groups);
  p.group = int32_t(padded(p.channels, chunk_of(t)));
  for (int d = 0; d < kConvDims; ++d) {
    p.space[d] = int32_t(o.space[d]);
    p.size[d] = int32_t(size[d]);
  }
  return p;
}

// What all three have: positions of the rows or of the depth, taps, and what these meet.
ConvProduct plan_of(const ConvArgs& g, const int64_t (&positions)[kConvDims], const ConvPixels& met,
                    int64_t chunk) {
  ConvProduct p{};
  p.met = met;
  p.chunks = FastDivide(up(met.channels, chunk));
  for (int d = 0; d < kConvDims; ++d) {
    p.positions[d] = FastDivide(positions[d]);
    p.taps[d] = FastDivide(g.kernel[d]);
    p.stride[d] = FastDivide(g.stride[d]);
    p.scale[d] = int32_t(g.stride[d]);
    p.shift[d] = -int32_t(g.padding[d]);
    p.step[d] = int32_t(g.dilation[d]);
  }
  p.bias = g.bias;
  p.bias_stride = g.bias_stride;
  p.activation = g.activation;
  p.groups = int32_t(g.groups);
  p.splits = 1;
  return p;
}

// Where the result goes. Channels side by side from chunk to chunk are written so.
void set_result(ConvProduct& p, const ConvOperand& out, int64_t chunk) {
  p.out = out;
  p.chunks_out = out.inner == 1 && p.columns % chunk == 0 && out.outer % chunk == 0 &&
                 reinterpret_cast<uintptr_t>(out.data) % 16 == 0;
  for (int64_t step : out.space) p.chunks_out = p.chunks_out && step % chunk == 0;
}

void count_tiles(ConvProduct& p, int64_t depth_of_step) {
  p.row_tiles = int32_t(up(p.rows, kTile));
  p.column_tiles = int32_t(up(p.columns, p.columns <= kTile / 2 ? kTile / 2 : kTile));
  p.steps = int32_t(up(p.depth, depth_of_step));
}

// Fewer positions than 32 bits count, and fewer elements in an image.
bool fits(const int64_t (&size)[kConvDims], int64_t images, int64_t channels) {
  const int64_t pixels = conv_volume(size);
  return pixels > 0 && images < kConvLimit / pixels && pixels < kConvLimit / channels;
}

}  // namespace

bool conv_product_serves(const Kernel& kernel, const Tensor& out, const ConvArgs& g) {
  if (!has_conv_kernel(kernel, out)) return false;
  const int64_t fewest = g.groups == 1 ? 1 : kFewestChannels;
  return g.images > 0 && g.in_channels >= fewest && g.out_channels >= fewest && g.groups < 65536 &&
         fits(g.in, g.images, g.groups * (g.in_channels + kFewestChannels)) &&
         fits(g.out, g.images, g.groups * (g.out_channels + kFewestChannels)) &&
         fits(g.kernel, 1, g.in_channels + kFewestChannels) && conv_reach_fits(g);
}

void run_conv_product(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                      const Tensor& bias, const ConvArgs& g) {
  const Tensor met = as_pixels(x, g.groups, false), weights = as_pixels(w, 1, true);
  ConvProduct p = plan_of(g, g.out, pixels_of(met, g.in, g.groups), chunk_of(x));
  p.w = static_cast<const char*>(weights.data());
  p.depth = int32_t(conv_volume(g.kernel)) * int32_t(p.chunks.divisor);
  p.w_row = p.depth * int32_t(chunk_of(w));
  p.rows = int32_t(g.images * conv_volume(g.out));
  p.columns = int32_t(g.out_channels);
  set_result(p, g.y, chunk_of(y));
  count_tiles(p, kStepChunks);
  launch_kernel(op, kConvProduct.find(op, y.device(), y.dtype()), y.device(), p,
                {writes(y), reads(met), reads(weights), reads(bias)});
}

void run_conv_product_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                           const Tensor& bias, const ConvArgs& g) {
  const Tensor met = as_pixels(dy, g.groups, false), weights = as_pixels(w, 1, true);
  ConvProduct p = plan_of(g, g.in, pixels_of(met, g.out, g.groups), chunk_of(dy));
  for (int d = 0; d < kConvDims; ++d) {
    p.scale[d] = 1;
    p.shift[d] = int32_t(g.padding[d]);
    p.step[d] = -int32_t(g.dilation[d]);
  }
  p.w = static_cast<const char*>(weights.data());
  p.depth = int32_t(conv_volume(g.kernel)) * int32_t(p.chunks.divisor);
  p.w_row = int32_t(conv_volume(g.kernel) * padded(g.in_channels, chunk_of(w)));
  p.rows = int32_t(g.images * conv_volume(g.in));
  p.columns = int32_t(g.in_channels);
  set_result(p, g.x, chunk_of(dx));
  count_tiles(p, kStepChunks);
  launch_kernel(op, kConvProductData.find(op, dx.device(), dx.dtype()), dx.device(), p,
                {writes(dx), reads(met), reads(weights), reads(bias)});
}

void run_conv_product_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                             const ConvArgs& g) {
  const Tensor met = as_pixels(x, g.groups, false), own = as_pixels(dy, g.groups, false);
  ConvProduct p = plan_of(g, g.out, pixels_of(met, g.in, g.groups), chunk_of(x));
  p.own = pixels_of(own, g.out, g.groups);
  p.rows = int32_t(g.out_channels);
  p.columns = int32_t(conv_volume(g.kernel)) * int32_t(padded(g.in_channels, chunk_of(x)));
  p.depth = int32_t(g.images * conv_volume(g.out));
  p.out = g.w;
  count_tiles(p, kStepChunks * chunk_of(x));
  const int64_t tiles = int64_t(p.row_tiles) * p.column_tiles * g.groups;
  const int64_t wanted = std::min({up(kBlocks, tiles), p.steps / kFewestSteps, kMostSplits});
  p.splits = int32_t(std::max<int64_t>(1, wanted));
  const Tensor parts = empty(Dims{p.splits, g.groups, p.rows, p.columns}, Dtype::f32, dw.device());
  p.parts = parts.data_as<float>();
  launch_kernel(op, kConvProductWeight.find(op, dw.device(), dw.dtype()), dw.device(), p,
                {writes(dw), writes(parts), reads(met), reads(own)});
}

}  // namespace flambeau
