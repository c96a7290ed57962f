// Launches of batch norm by channel: how x lies, what is copied to lie alike; see channels.h.
#include "ops/nn/channels.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/access.h"
#include "kernels/map/map.h"
#include "ops/gen/op.h"
#include "ops/nn/normalized.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

// Neighbours of a channel of a dense x with these strides, 0 where channels are neighbours; -1 of
// other orders.
int64_t inner_of(DimsView sizes, DimsView strides) {
  const int64_t channels = sizes[1], inner = numel_of(sizes.subspan(2));
  const auto lies = [&](std::initializer_list<std::pair<size_t, size_t>> outermost_first) {
    int64_t expected = 1;
    for (auto range = std::rbegin(outermost_first); range != std::rend(outermost_first); ++range) {
      for (size_t d = range->second; d-- > range->first;) {
        if (sizes[d] != 1 && strides[d] != expected) return false;
        expected *= sizes[d];
      }
    }
    return true;
  };
  const size_t n = sizes.size();
  if (channels == 1 && lies({{0, n}})) return sizes[0] * inner;  // one plane of all
  if (lies({{0, 1}, {2, n}, {1, 2}})) return 0;
  return lies({{0, n}}) ? inner : -1;
}

bool has_strides(const Tensor& t, DimsView strides) {
  bool same = true;
  for (size_t d = 0; d < strides.size(); ++d)
    same &= t.sizes()[d] == 1 || t.strides()[d] == strides[d];
  return same;
}

// t with these strides, or a copy that has them, but for steps along dimensions of one element.
Tensor laid_out(const Tensor& t, DimsView strides) {
  if (has_strides(t, strides)) return t;
  const Tensor copy = flambeau::empty_strided(t.sizes(), strides, t.dtype(), t.device());
  run_cast(copy, t);
  return copy;
}

// Of images in planes: one number in each of them.
bool is_still(const Tensor& t, DimsView strides) {
  if (t.dim() < 3 || inner_of(t.sizes(), strides) <= 0 || t.size(1) == 1) return false;
  bool still = t.strides()[0] >= 0 && t.strides()[1] >= 0;
  for (size_t d = 2; d < strides.size(); ++d) still &= t.sizes()[d] == 1 || t.strides()[d] == 0;
  return still;
}

Tensor dense(const Tensor& t) { return t ? contiguous(t) : t; }

ChannelNumbers numbers(const Tensor& t, const Tensor& x) {
  if (!t) return {};
  return {static_cast<char*>(t.data()), t.dtype() == statistics_dtype(x.dtype())};
}

char* data_of(const Tensor& t) { return t ? static_cast<char*>(t.data()) : nullptr; }

// Of a dense x, and what is made of it.
ChannelArgs arguments(const Tensor& x, const Tensor& out) {
  ChannelArgs a{};
  a.channels = x.size(1);
  a.values = x.numel() / a.channels;
  a.inner = inner_of(x.sizes(), x.strides());
  a.x = data_of(x);
  a.out = data_of(out);
  return a;
}

// Elements of a piece: as many as 16 bytes hold, where they begin on such boundaries everywhere.
int piece_of(const ChannelArgs& a, int bytes) {
  bool whole = (a.inner ? a.inner : a.channels) * bytes % 16 == 0;
  for (const char* p : {a.x, a.dy_still ? a.x : a.dy, a.mask, static_cast<const char*>(a.out)})
    whole &= reinterpret_cast<uintptr_t>(p) % 16 == 0;
  return whole ? 16 / bytes : 1;
}

// Parts enough to fill a GPU, each with work for all threads; and where channels are neighbours so
// few that blocks, which all read what the parts of their channels have come to, read little of it.
int64_t parts_of(const ChannelArgs& a, int bytes) {
  constexpr int64_t kBlocks = 528, kParts = 256;
  const ChannelWalk& w = a.walk;
  const int64_t at_once = int64_t(kChannelThreads >> w.across) * (w.vec == 1 ? 8 : 4);
  int64_t parts = std::min(kBlocks / w.tiles, w.pieces / at_once);
  if (!a.inner) parts = std::min(parts, int64_t(std::sqrt(double(a.values * bytes) / 64)));
  return std::clamp<int64_t>(parts, 1, kParts);
}

void plan(ChannelArgs& a, int bytes) {
  ChannelWalk& w = a.walk;
  w.vec = piece_of(a, bytes);
  if (a.inner) {
    w.plane = FastDivide(a.inner / w.vec);
    w.image = a.channels * a.inner;
    w.pieces = uint32_t(a.values / w.vec);
    w.tiles = a.channels;
  } else {
    const int64_t across = a.channels / w.vec, most = w.vec == 1 ? 32 : 4;
    w.pieces = uint32_t(a.values);
    w.across = std::bit_width(uint64_t(std::min(across, most)) - 1);
    w.tiles = ((across - 1) >> w.across) + 1;
  }
  const int64_t held = w.vec == 1 ? kHeldSinglePieces : kHeldWidePieces;
  w.held = a.summed && w.pieces <= held * (kHeldThreads >> w.across);
  const int64_t parts = w.held ? 1 : parts_of(a, bytes);
  w.part = uint32_t((w.pieces + parts - 1) / parts);
  w.parts = (w.pieces + w.part - 1) / w.part;
  const uint64_t two_each = ((uint64_t(w.pieces) << w.across) + 1) / 2;
  w.threads = !w.held ? kChannelThreads
                      : int(std::clamp<uint64_t>(std::bit_ceil(two_each), 32, kHeldThreads));
}

void launch_by_channel(const Kernel& kernel, const Tensor& x, ChannelArgs& a,
                       std::initializer_list<Access> accesses) {
  const KernelFn fn = kernel.find(op::batch_norm, x.device(), x.dtype());
  plan(a, int(x.element_size()));
  Tensor partial;
  if (a.summed && !a.walk.held) {
    partial =
        flambeau::empty(Dims{a.walk.parts, a.channels, 4}, statistics_dtype(x.dtype()), x.device());
    a.partial = data_of(partial);
  }
  SmallVector<Access, 12> all;
  for (const Access& access : accesses) all.push_back(access);
  all.push_back(writes(partial));
  launch_kernel(op::batch_norm, fn, x.device(), a, std::span<const Access>(all.data(), all.size()));
}

}  // namespace

bool runs_by_channel(const Tensor& x, std::initializer_list<const Tensor*> others) {
  if (x.device().is_cpu() || kernel_column(x.device()) == KernelColumn::host) return false;
  if (!is_floating(x.dtype()) || x.dim() < 2 || x.numel() == 0) return false;
  if (x.numel() / x.size(1) > INT32_MAX || inner_of(x.sizes(), dense_strides(x)) < 0) return false;
  return std::all_of(others.begin(), others.end(), [&](const Tensor* t) {
    return !*t || ((t->dtype() == x.dtype() || t->dtype() == statistics_dtype(x.dtype())) &&
                   t->device() == x.device());
  });
}

Tensor norm_by_channel(const Tensor& given, const ChannelNorm& norm, const Tensor& mean,
                       const Tensor& rstd) {
  const Tensor x = laid_out(given, dense_strides(given)), y = flambeau::empty_like(x);
  const Tensor weight = dense(norm.weight), bias = dense(norm.bias);
  const Tensor running_mean = dense(norm.running_mean), running_var = dense(norm.running_var);
  ChannelArgs a = arguments(x, y);
  a.weight = numbers(weight, x);
  a.bias = numbers(bias, x);
  a.running_mean = numbers(running_mean, x);
  a.running_var = numbers(running_var, x);
  a.batches = norm.training && norm.batches ? norm.batches.data_as<int64_t>() : nullptr;
  a.mean = data_of(mean);
  a.rstd = data_of(rstd);
  a.training = a.summed = norm.training;
  a.momentum = norm.momentum;
  a.eps = norm.eps;
  launch_by_channel(
      kChannelNorm, x, a,
      {writes(y), reads(x), reads(weight), reads(bias), access_of(running_mean, norm.training),
       access_of(running_var, norm.training), writes(norm.batches), writes(mean), writes(rstd)});
  return y;
}

bool reads_slopes(const Tensor& dy, const Tensor& x) {
  const Dims strides = dense_strides(x);
  return has_strides(dy, strides) || is_still(dy, strides);
}

void norm_backward_by_channel(const ChannelGradients& g, const Tensor& given_dy,
                              const Tensor& given_mask, const Tensor& given,
                              const Tensor& given_weight, const Tensor& given_mean,
                              const Tensor& given_rstd, bool training) {
  const Tensor weight = dense(given_weight), mean = dense(given_mean), rstd = dense(given_rstd);
  const Tensor x = laid_out(given, dense_strides(given)),
               dy = reads_slopes(given_dy, x) ? given_dy : laid_out(given_dy, x.strides());
  const Tensor mask = given_mask ? laid_out(given_mask, x.strides()) : given_mask;
  ChannelArgs a = arguments(x, g.x);
  a.dy = data_of(dy);
  a.dy_still = !has_strides(dy, x.strides());
  a.dy_image = dy.strides()[0];
  a.dy_channel = dy.strides()[1];
  a.mask = data_of(mask);
  a.weight = numbers(weight, x);
  a.weight_slope = numbers(g.weight, x);
  a.bias_slope = numbers(g.bias, x);
  a.mean = data_of(mean);
  a.rstd = data_of(rstd);
  a.training = training;
  a.summed = training || g.weight || g.bias;
  launch_by_channel(kChannelNormBackward, x, a,
                    {writes(g.x), writes(g.weight), writes(g.bias), reads(dy), reads(mask),
                     reads(x), reads(weight), reads(mean), reads(rstd)});
}

}  // namespace flambeau::ops
