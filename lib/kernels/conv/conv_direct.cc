// The planner of direct convolutions: which they serve, how channels fall into vectors and lanes,
// and into how many parts the gradient by the weight is cut, which sizes alone decide, so that the
// order of its sums is the same on every GPU.
#include "kernels/conv/conv_direct.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/conv/conv_limits.h"

namespace flambeau {

constinit Kernel kConvDirect{"conv_direct"}, kConvDirectWide{"conv_direct_wide"},
    kConvDirectWeight{"conv_direct_weight"}, kConvDirectWeightWide{"conv_direct_weight_wide"};

namespace {

constexpr int64_t kSharedBytes = 48 * 1024;  // of a block, on every GPU
constexpr int64_t kMostBlocks = 65535;       // along y and z
constexpr int64_t kWideLanes = 8, kMostLanes = 32;
constexpr int64_t kBlocks = 528, kFewestItems = 8, kMostSplits = 64;

int64_t sum_bytes(const Tensor& t) { return t.dtype() == Dtype::f64 ? 8 : 4; }

// Elements from an image's first to its last, which 32 bits count.
bool reaches(const ConvOperand& o, const int64_t (&size)[kConvDims]) {
  int64_t most = 0;
  for (int d = 0; d < kConvDims; ++d) {
    const int64_t step = o.space[d] < 0 ? -o.space[d] : o.space[d];
    if (size[d] > 1 && step >= kConvLimit / size[d]) return false;
    most += step * (size[d] - 1);
  }
  return most < kConvLimit;
}

bool fits(const ConvArgs& g) {
  const int64_t in = conv_volume(g.in), out = conv_volume(g.out);
  return g.images > 0 && g.in_channels > 0 && g.out_channels > 0 && in > 0 && out > 0 &&
         g.images < kConvLimit / in && g.images < kConvLimit / out &&
         g.groups * std::max(g.in_channels, g.out_channels) <= kMostBlocks && reaches(g.x, g.in) &&
         reaches(g.y, g.out) && conv_reach_fits(g);
}

// Whether 16 bytes of channels are accessed at a time.
bool is_wide(const ConvOperand& o, int64_t channels, int64_t width) {
  bool wide = o.inner == 1 && channels % width == 0 && o.outer % width == 0 &&
              reinterpret_cast<uintptr_t>(o.data) % 16 == 0;
  for (int64_t step : o.space) wide = wide && step % width == 0;
  return wide;
}

// Taps, and what they meet from the positions of `at`. Of the gradient by the data taps are counted
// from the last one on, so that they go forward there, too.
ConvDirect plan_of(const ConvArgs& g, const ConvOperand& met, const ConvOperand& at, bool data,
                   int64_t element) {
  ConvDirect p{};
  p.met = met;
  p.at = at;
  p.w = g.w;
  p.w_group = g.w.outer * g.out_channels;
  if (data) std::swap(p.w.outer, p.w.inner);
  p.met_channels = int32_t(data ? g.out_channels : g.in_channels);
  p.at_channels = int32_t(data ? g.in_channels : g.out_channels);
  p.channels = int32_t(g.groups) * p.at_channels;
  for (int d = 0; d < kConvDims; ++d) {
    const int64_t last = g.kernel[d] - 1;
    p.met_size[d] = int32_t(data ? g.out[d] : g.in[d]);
    p.taps[d] = int32_t(g.kernel[d]);
    p.step[d] = int32_t(g.dilation[d]);
    p.scale[d] = int32_t(data ? 1 : g.stride[d]);
    p.shift[d] = int32_t(data ? g.padding[d] - last * g.dilation[d] : -g.padding[d]);
    p.by[d] = FastDivide(data ? g.stride[d] : 1);
    if (!data) continue;
    p.w.data += last * p.w.space[d] * element;
    p.w.space[d] = -p.w.space[d];
  }
  p.bias = g.bias;
  p.bias_stride = g.bias_stride;
  p.activation = g.activation;
  return p;
}

void set_items(ConvDirect& p, const int64_t (&size)[kConvDims], int64_t images, int run) {
  p.run = run;
  p.height = int32_t(size[1]);
  const int64_t runs = (size[1] + run - 1) / run;
  p.size[0] = FastDivide(size[0]);
  p.size[1] = FastDivide(runs);
  p.size[2] = FastDivide(size[2]);
  p.items = int32_t(images * size[0] * runs * size[2]);
}

// Lanes: channels that lie side by side; of planes as many as give small ones' threads work.
void set_lanes(ConvDirect& p, int64_t width, int64_t most) {
  const int64_t vectors = p.channels / width;
  p.lanes_inside = p.at.inner == 1 && p.channels > 1;
  p.lanes = 1;
  const auto grows = [&] {
    return 2 * p.lanes <= most && p.lanes < vectors &&
           (p.lanes_inside || int64_t(p.lanes) * p.items < kDirectThreads);
  };
  while (grows()) p.lanes *= 2;
}

// Rows are shared by the outputs of a run where taps along h lie next to each other and overlap.
int run_of(const ConvDirect& p, int64_t height) {
  const bool slides = p.by[1].divisor == 1 && p.step[1] == 1 && p.scale[1] < p.taps[1];
  return slides ? int(std::min<int64_t>(kDirectRun, height)) : 1;
}

// Of both directions; false where a block's weights would not fit.
bool run_direct(const char* op, ConvDirect p, const int64_t (&size)[kConvDims], int64_t images,
                const Tensor& to, const Tensor& from, const Tensor& w, const Tensor& bias) {
  set_items(p, size, images, run_of(p, size[1]));
  int64_t width = 16 / int64_t(to.element_size());
  const bool wide = has_conv_kernel(kConvDirectWide, to) && p.met_channels == 1 &&
                    p.at_channels == 1 && is_wide(p.met, p.channels, width) &&
                    is_wide(p.at, p.channels, width);
  if (!wide) width = 1;
  const int64_t of_lane =
      p.met_channels * (int64_t(p.taps[0]) * p.taps[1] * p.taps[2]) * width * sum_bytes(to);
  if (of_lane > kSharedBytes) return false;
  set_lanes(p, width, std::min(kSharedBytes / of_lane, wide ? kWideLanes : kMostLanes));
  const Kernel& kernel = wide ? kConvDirectWide : kConvDirect;
  launch_kernel(op, kernel.find(op, to.device(), to.dtype()), to.device(), p,
                {writes(to), reads(from), reads(w), reads(bias)});
  return true;
}

}  // namespace

bool run_conv_direct(const char* op, const Tensor& y, const Tensor& x, const Tensor& w,
                     const Tensor& bias, const ConvArgs& g) {
  if (!has_conv_kernel(kConvDirect, y) || !fits(g)) return false;
  const ConvDirect p = plan_of(g, g.x, g.y, false, int64_t(w.element_size()));
  return run_direct(op, p, g.out, g.images, y, x, w, bias);
}

bool run_conv_direct_data(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& w,
                          const Tensor& bias, const ConvArgs& g) {
  if (!has_conv_kernel(kConvDirect, dx) || !fits(g)) return false;
  const ConvDirect p = plan_of(g, g.y, g.x, true, int64_t(w.element_size()));
  return run_direct(op, p, g.in, g.images, dx, dy, w, bias);
}

bool run_conv_direct_weight(const char* op, const Tensor& dw, const Tensor& dy, const Tensor& x,
                            const ConvArgs& g) {
  if (!has_conv_kernel(kConvDirectWeight, dw) || !fits(g)) return false;
  ConvDirect p = plan_of(g, g.x, g.y, false, int64_t(dw.element_size()));
  set_items(p, g.out, g.images, 1);
  p.tap_runs = (p.taps[2] + kDirectTaps - 1) / kDirectTaps;
  const int64_t taps = int64_t(p.taps[0]) * p.taps[1] * p.taps[2],
                runs = int64_t(p.met_channels) * p.taps[0] * p.taps[1] * p.tap_runs;
  if (runs > kMostBlocks || int64_t(p.channels) * p.met_channels > kConvLimit / taps) return false;
  int64_t width = 16 / int64_t(dw.element_size());
  const bool wide = has_conv_kernel(kConvDirectWeightWide, dw) && p.met_channels == 1 &&
                    p.at_channels == 1 && is_wide(p.met, p.channels, width) &&
                    is_wide(p.at, p.channels, width);
  if (!wide) width = 1;
  set_lanes(p, width, wide ? kWideLanes : kMostLanes);
  const int64_t blocks = (p.channels + p.lanes * width - 1) / (p.lanes * width) * runs,
                places = kDirectThreads / p.lanes;
  p.splits = int32_t(std::clamp<int64_t>(
      std::min((kBlocks + blocks - 1) / blocks, p.items / (places * kFewestItems)), 1,
      kMostSplits));
  const Tensor parts = empty(Dims{p.splits, p.channels, p.met_channels, taps},
                             dw.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32, dw.device());
  p.parts = static_cast<char*>(parts.data());
  const Kernel& kernel = wide ? kConvDirectWeightWide : kConvDirectWeight;
  launch_kernel(op, kernel.find(op, dw.device(), dw.dtype()), dw.device(), p,
                {writes(dw), writes(parts), reads(dy), reads(x)});
  return true;
}

}  // namespace flambeau
