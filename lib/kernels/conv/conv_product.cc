// The planner of convolutions as products: brings operands to pixels, those of one convolution in
// one launch, and counts tiles and splits. A split is chosen by sizes alone, so that the order of
// its sums is the same on every GPU.
#include "kernels/conv/conv_product.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/conv/conv_limits.h"
#include "kernels/conv/conv_pointwise.h"
#include "kernels/map/copy_list.h"
#include "kernels/tickets.h"

namespace flambeau {

constinit Kernel kConvProduct{"conv_product"}, kConvProductData{"conv_product_data"},
    kConvProductWeight{"conv_product_weight"};
constinit Kernel kConvPlanes{"conv_planes"}, kConvPlanesData{"conv_planes_data"},
    kConvPlanesWeight{"conv_planes_weight"};

namespace {

constexpr int64_t kFewestChannels = 8;  // of a group, among several
constexpr int64_t kTile = 128, kStepChunks = 4;
constexpr int64_t kBlocks = 264, kFewestSteps = 8, kMostSplits = 64, kJoinedSplits = 4;

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to; }

int64_t chunk_of(const Tensor& t) { return 16 / int64_t(t.element_size()); }

// Channels with what fills their last chunk.
int64_t padded(int64_t channels, int64_t chunk) { return up(channels, chunk) * chunk; }

// Steps between chunks, by what 32 bits count within an image.
bool is_aligned_step(const Tensor& t, size_t d) {
  const int64_t step = t.strides()[d];
  return step >= 0 && step % chunk_of(t) == 0 && (d == 0 || step < kConvLimit / t.sizes()[d]);
}

// [n, g * c, ...space] as [n, ...space, g, c] in memory, each group from a chunk's start on. What
// lies otherwise is copied, all of it at once when everything has been asked for.
class Pixels {
 public:
  Tensor of(const Tensor& t, int64_t groups, bool dense);
  void bring() {
    if (!copies_.empty()) run_copy_list("to", {copies_.data(), copies_.size()});
  }

 private:
  SmallVector<Joined, 3> copies_;
};

Tensor Pixels::of(const Tensor& t, int64_t groups, bool dense) {
  const size_t space = size_t(t.dim()) - 2;
  const int64_t channels = t.sizes()[1] / groups, filled = padded(channels, chunk_of(t));
  int64_t step = filled * groups;
  bool lies = t.strides()[1] == 1 && (groups == 1 || channels == filled) &&
              reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
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
  copies_.push_back({alias(pixels, sizes, strides, 0), alias(t, sizes, from, t.offset())});
  // As [n, g * c, ...space] again, of which padding makes no view: what is read are its strides.
  sizes = Dims(t.sizes());
  Dims seen{strides[0], 1};
  for (size_t d = 2; d < space + 2; ++d) seen.push_back(strides[d + 1]);
  return alias(pixels, sizes, seen, 0);
}

// `step`: elements between groups.
ConvPixels image_of(const Tensor& t, const int64_t (&size)[kConvDims], int64_t groups,
                    int64_t step) {
  const ConvOperand o = operand_of(t);
  ConvPixels p{};
  p.data = o.data;
  p.image = o.outer;
  p.channels = int32_t(t.sizes()[1] / groups);
  p.group = int32_t(step);
  for (int d = 0; d < kConvDims; ++d) {
    p.space[d] = int32_t(o.space[d]);
    p.size[d] = int32_t(size[d]);
  }
  return p;
}

ConvPixels pixels_of(const Tensor& t, const int64_t (&size)[kConvDims], int64_t groups) {
  return image_of(t, size, groups, padded(t.sizes()[1] / groups, chunk_of(t)));
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

void count_tiles(ConvProduct& p, int64_t depth_of_step, int64_t widest = kTile) {
  p.row_tiles = int32_t(up(p.rows, kTile));
  p.column_tiles = int32_t(up(p.columns, p.columns <= kTile / 2 ? kTile / 2 : widest));
  p.steps = int32_t(up(p.depth, depth_of_step));
}

// A split's sums are parts where there are several. The last block of a tile adds few of them up
// itself; more take it longer than they take a launch, whose blocks share them.
void set_splits(ConvProduct& p, Device device) {
  const int64_t tiles = int64_t(p.row_tiles) * p.column_tiles * p.groups;
  const int64_t wanted = std::min({up(kBlocks, tiles), p.steps / kFewestSteps, kMostSplits});
  p.splits = int32_t(std::max<int64_t>(1, wanted));
  p.tickets = p.splits > kJoinedSplits ? -1 : ticket_stream(device);
}

// Of the gradient by the data, whose windows go backwards.
void set_backwards(ConvProduct& p, const ConvArgs& g) {
  for (int d = 0; d < kConvDims; ++d) {
    p.scale[d] = 1;
    p.shift[d] = int32_t(g.padding[d]);
    p.step[d] = -int32_t(g.dilation[d]);
  }
}

// The gradient by the weight, planned but for its splits.
template <class P> void launch_weight(const char* op, const Kernel& kernel, P& p, const Tensor& dw,
                                      const Tensor& own, const Tensor& met) {
  set_splits(p, dw.device());
  Tensor parts;
  if (p.splits > 1) {
    parts = empty(Dims{p.splits, p.groups, p.rows, p.columns}, Dtype::f32, dw.device());
    p.parts = parts.data_as<float>();
  }
  launch_kernel(op, kernel.find(op, dw.device(), dw.dtype()), dw.device(), p,
                {writes(dw), writes(parts), reads(met), reads(own)});
}

// ---- planes -------------------------------------------------------------------------------------

// Positions side by side, and 32 bits count what one image has.
bool in_planes(const Tensor& t) {
  int64_t reach = 0, innermost = 0;
  for (size_t d = t.sizes().size(); d-- > 1;) {
    const int64_t n = t.sizes()[d], step = t.strides()[d];
    if (n == 1) continue;
    if (step < 0 || step >= kConvLimit / n) return false;
    reach += step * (n - 1);
    if (d > 1 && innermost == 0) innermost = step;
  }
  return innermost == 1 && reach < kConvLimit;
}

// A block copies a value for each tap that meets it, and so do all that share it. Words of f32 come
// while products are made. Values of half types pass through registers, which for a few copies of
// each costs no more than to bring all values in another order, and so to read and write them once
// more: so say counts of instructions and bytes, and no GPU yet. One tap without strides meets each
// value: all of them are read then, by two bytes, where turning reads and writes whole words.
constexpr int64_t kMostCopies = 5;
bool pays_in_planes(const Tensor& t, const ConvArgs& g, int64_t copies, int64_t values) {
  if (!is_half(t.dtype())) return true;
  const bool meets_all = conv_volume(g.kernel) == 1 && conv_volume(g.stride) == 1;
  return !meets_all && copies <= kMostCopies * values;
}
int64_t widest_in_planes(const Tensor& t) { return is_half(t.dtype()) ? kConvPairColumns : kTile; }
int64_t tiles_across(const Tensor& t, int64_t columns) { return up(columns, widest_in_planes(t)); }

// 32 bits count the weights, too, from the first one of a group.
bool planes_serve(const Kernel& kernel, const Tensor& met, const Tensor& w, const ConvArgs& g) {
  if (std::abs(w.strides()[0]) >= kConvLimit) return false;
  int64_t reach = (g.out_channels - 1) * std::abs(w.strides()[0]);
  for (size_t d = 1; d < w.sizes().size(); ++d)
    reach += (w.sizes()[d] - 1) * std::abs(w.strides()[d]);
  return has_conv_kernel(kernel, met) && conv_volume(g.kernel) <= kConvMostTaps && in_planes(met) &&
         reach < kConvLimit;
}

ConvPixels plane_pixels(const Tensor& t, const int64_t (&size)[kConvDims], int64_t groups) {
  return image_of(t, size, groups, t.sizes()[1] / groups * t.strides()[1]);
}

ConvPlanes planes_of(const ConvArgs& g, const Tensor& met, const int64_t (&met_size)[kConvDims],
                     const int64_t (&positions)[kConvDims]) {
  ConvPlanes p{};
  static_cast<ConvProduct&>(p) = plan_of(g, positions, plane_pixels(met, met_size, g.groups), 1);
  p.all_taps = FastDivide(conv_volume(g.kernel));
  p.met_channel = int32_t(met.strides()[1]);
  p.w = g.w.data;
  p.w_group = g.w.outer * g.out_channels;
  for (int d = 0; d < kConvDims; ++d) p.w_tap[d] = int32_t(g.w.space[d]);
  return p;
}

// Whether an output channel's weights lie as a convolution's depth does, in chunks.
bool weights_in_chunks(const ConvArgs& g, int64_t chunk) {
  int64_t step = 1;
  bool lie = g.w.outer % chunk == 0 && reinterpret_cast<uintptr_t>(g.w.data) % 16 == 0;
  for (int d = kConvDims; d-- > 0;) {
    lie = lie && (g.kernel[d] == 1 || g.w.space[d] == step);
    step *= g.kernel[d];
  }
  return lie && (g.in_channels == 1 || g.w.inner == step);
}

bool run_planes(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                const Tensor& bias, const ConvArgs& g) {
  const int64_t copies = conv_volume(g.kernel) * tiles_across(x, g.out_channels);
  if (!pays_in_planes(x, g, copies, conv_volume(g.stride)) || !planes_serve(kConvPlanes, x, w, g))
    return false;
  ConvPlanes p = planes_of(g, x, g.in, g.out);
  p.w_row = int32_t(g.w.outer);
  p.w_depth = int32_t(g.w.inner);
  p.w_chunks = weights_in_chunks(g, chunk_of(w));
  p.depth = int32_t(g.in_channels * conv_volume(g.kernel));
  p.rows = int32_t(g.images * conv_volume(g.out));
  p.columns = int32_t(g.out_channels);
  set_result(p, g.y, chunk_of(y));
  count_tiles(p, kStepChunks * chunk_of(y), widest_in_planes(y));
  launch_kernel(op, kConvPlanes.find(op, y.device(), y.dtype()), y.device(), p,
                {writes(y), reads(x), reads(w), reads(bias)});
  return true;
}

bool planes_serve_data(const Tensor& dy, const Tensor& w, const ConvArgs& g) {
  return pays_in_planes(dy, g, conv_volume(g.kernel) * tiles_across(dy, g.in_channels), 1) &&
         planes_serve(kConvPlanesData, dy, w, g);
}

bool run_planes_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                     const Tensor& bias, const ConvArgs& g) {
  if (!planes_serve_data(dy, w, g)) return false;
  ConvPlanes p = planes_of(g, dy, g.out, g.in);
  set_backwards(p, g);
  p.w_row = int32_t(g.w.inner);
  p.w_depth = int32_t(g.w.outer);
  p.depth = int32_t(g.out_channels * conv_volume(g.kernel));
  p.rows = int32_t(g.images * conv_volume(g.in));
  p.columns = int32_t(g.in_channels);
  set_result(p, g.x, chunk_of(dx));
  count_tiles(p, kStepChunks * chunk_of(dx), widest_in_planes(dx));
  launch_kernel(op, kConvPlanesData.find(op, dx.device(), dx.dtype()), dx.device(), p,
                {writes(dx), reads(dy), reads(w), reads(bias)});
  return true;
}

bool planes_serve_weight(const Tensor& dy, const Tensor& x, const Tensor& dw, const ConvArgs& g) {
  const int64_t taps = conv_volume(g.kernel);
  const int64_t copies = x.numel() / conv_volume(g.stride) * taps * up(g.out_channels, kTile) +
                         dy.numel() * tiles_across(x, g.in_channels * taps);
  return pays_in_planes(x, g, copies, x.numel() + dy.numel()) && in_planes(dy) &&
         planes_serve(kConvPlanesWeight, x, dw, g);
}

bool run_planes_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                       const ConvArgs& g) {
  if (!planes_serve_weight(dy, x, dw, g)) return false;
  ConvPlanes p = planes_of(g, x, g.in, g.out);
  p.own = plane_pixels(dy, g.out, g.groups);
  p.own_channel = int32_t(dy.strides()[1]);
  p.rows = int32_t(g.out_channels);
  p.columns = int32_t(g.in_channels * conv_volume(g.kernel));
  p.depth = int32_t(g.images * conv_volume(g.out));
  p.out = g.w;
  count_tiles(p, kStepChunks * chunk_of(x), widest_in_planes(x));
  launch_weight(op, kConvPlanesWeight, p, dw, dy, x);
  return true;
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

void bring_conv_product(Tensor& dy, Tensor& x, Tensor& w, const ConvArgs& g) {
  if (planes_serve_data(dy, w, g) && planes_serve_weight(dy, x, w, g)) return;
  const int64_t groups = g.groups;
  Pixels pixels;
  const auto seen = [&](const Tensor& t) {  // as a tensor, once it is pixels
    return groups == 1 || t.sizes()[1] / groups % chunk_of(t) == 0;
  };
  if (seen(dy)) dy = pixels.of(dy, groups, false);
  if (seen(x)) x = pixels.of(x, groups, false);
  w = pixels.of(w, 1, true);
  pixels.bring();
}

void run_conv_product(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                      const Tensor& bias, const ConvArgs& g) {
  if (run_planes(op, y, x, w, bias, g)) return;
  Pixels pixels;
  const Tensor met = pixels.of(x, g.groups, false), weights = pixels.of(w, 1, true);
  pixels.bring();
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
  if (run_planes_data(op, dx, dy, w, bias, g)) return;
  Pixels pixels;
  const Tensor met = pixels.of(dy, g.groups, false), weights = pixels.of(w, 1, true);
  pixels.bring();
  ConvProduct p = plan_of(g, g.in, pixels_of(met, g.out, g.groups), chunk_of(dy));
  set_backwards(p, g);
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
  if (run_planes_weight(op, dw, dy, x, g)) return;
  Pixels pixels;
  const Tensor met = pixels.of(x, g.groups, false), own = pixels.of(dy, g.groups, false);
  pixels.bring();
  ConvProduct p = plan_of(g, g.out, pixels_of(met, g.in, g.groups), chunk_of(x));
  p.own = pixels_of(own, g.out, g.groups);
  p.rows = int32_t(g.out_channels);
  p.columns = int32_t(conv_volume(g.kernel)) * int32_t(padded(g.in_channels, chunk_of(x)));
  p.depth = int32_t(g.images * conv_volume(g.out));
  p.out = g.w;
  count_tiles(p, kStepChunks * chunk_of(x));
  launch_weight(op, kConvProductWeight, p, dw, own, met);
}

}  // namespace flambeau
