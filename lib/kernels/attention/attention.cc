// The launches of attention and of its gradients.
#include "kernels/attention/attention.h"

#include <algorithm>

#include "kernels/access.h"

namespace flambeau {

constinit Kernel kAttention{"attention"}, kAttentionBackward{"attention_backward"};

namespace {

constexpr int64_t kWidest = 256;  // of a head, on devices

AttentionOperand operand_of(const Tensor& t) {
  if (!t.defined()) return {};
  const auto step = [&](size_t d) { return t.sizes()[d] == 1 ? 0 : t.strides()[d]; };
  return {static_cast<char*>(t.data()), step(0), step(1), step(2), step(3)};
}

AttentionArgs args_of(const AttentionTensors& t, const AttentionHow& how) {
  return {.batches = t.q.size(0),
          .heads = t.q.size(1),
          .length = t.q.size(2),
          .keys = t.k.size(2),
          .width = t.q.size(3),
          .value_width = t.v.size(3),
          .shared = t.q.size(1) / t.k.size(1),
          .q = operand_of(t.q),
          .k = operand_of(t.k),
          .v = operand_of(t.v),
          .out = operand_of(t.out),
          .mask = operand_of(t.mask),
          .scale = how.scale,
          .causal = how.causal,
          .drop_below = uint32_t(how.dropped < 1 ? how.dropped * 0x1p32 : 0x1p32 - 1),
          .kept_factor = how.dropped < 1 ? float(1 / (1 - how.dropped)) : 0.0f,
          .draw = how.draw.state,
          .draws = how.draw.cell ? static_cast<const RandomState*>(how.draw.cell.data()) : nullptr,
          .statistics = t.statistics.defined() ? t.statistics.data_as<float>() : nullptr,
          .parts = nullptr,
          .splits = 1,
          .keys_a_part = t.k.size(2)};
}

// Heads of one query each that share keys are as good as one head of several queries, which goes
// through its keys once instead of once a head. The order in memory stays.
template <class... Operand>
void heads_as_rows(AttentionArgs& g, Operand&... others) {
  if (g.length != 1 || g.shared == 1 || g.causal) return;
  const auto turn = [&](AttentionOperand& o) {
    o.row = o.head;
    o.head *= g.shared;
  };
  turn(g.q);
  turn(g.out);
  turn(g.mask);
  (turn(others), ...);
  g.heads /= g.shared;
  g.length = g.shared;
  g.shared = 1;
}

bool has_cell(const Kernel& kernel, Device device, Dtype dtype) {
  return kernel.cells[int(kernel_column(device))][int(dtype)] != nullptr;
}

// Few queries make few blocks, each of which would go through many keys: parts of at least 256
// keys, as many as occupy a large GPU. They follow from the sizes alone, as do a result's bits.
void share_out_keys(AttentionArgs& g) {
  constexpr int64_t few = 16, least = 256, blocks = 512, tile = 64;
  if (g.length > few || g.causal || g.keys < 2 * least) return;
  const int64_t wanted = std::min(blocks / (g.batches * g.heads), g.keys / least);
  if (wanted < 2) return;
  g.keys_a_part = ((g.keys + wanted - 1) / wanted + tile - 1) / tile * tile;
  g.splits = (g.keys + g.keys_a_part - 1) / g.keys_a_part;
}

}  // namespace

void run_attention(const char* op, const AttentionTensors& t, const AttentionHow& how) {
  const Device device = t.out.device();
  AttentionArgs args = args_of(t, how);
  Tensor parts;
  heads_as_rows(args);
  if (has_cell(kAttentionBackward, device, t.q.dtype()))
    share_out_keys(args);  // a device's kernels
  if (args.splits > 1) {
    const int64_t rows = args.batches * args.heads * args.length;
    parts = empty(Dims{rows, args.splits, args.value_width + 2}, Dtype::f32, device);
    args.parts = parts.data_as<float>();
  }
  launch_kernel(op, kAttention.find(op, device, t.q.dtype()), device, args,
                {writes(t.out), reads(t.q), reads(t.k), reads(t.v), reads(t.mask),
                 writes(t.statistics), reads(how.draw.cell), writes(parts)});
}

void run_attention_backward(const char* op, const AttentionTensors& t,
                            const AttentionSlopes& slopes, const AttentionHow& how) {
  const Device device = t.out.device();
  const Tensor delta = empty(t.statistics.sizes().first(3), Dtype::f32, device);
  AttentionBackwardArgs args{.of = args_of(t, how),
                             .dy = operand_of(slopes.dy),
                             .dq = operand_of(slopes.dq),
                             .dk = operand_of(slopes.dk),
                             .dv = operand_of(slopes.dv),
                             .dmask = operand_of(slopes.dmask),
                             .delta = delta.data_as<float>()};
  heads_as_rows(args.of, args.dy, args.dq, args.dmask);
  launch_kernel(op, kAttentionBackward.find(op, device, t.q.dtype()), device, args,
                {reads(t.out), reads(t.q), reads(t.k), reads(t.v), reads(t.mask),
                 reads(t.statistics), reads(slopes.dy), reads(how.draw.cell), writes(slopes.dq),
                 writes(slopes.dk), writes(slopes.dv), writes(slopes.dmask), writes(delta)});
}

bool has_attention(Device device, Dtype dtype, int64_t columns) {
  const bool host = kernel_column(device) == KernelColumn::host;
  return (host || columns <= kWidest) && has_cell(kAttention, device, dtype);
}

bool has_attention_backward(Device device, Dtype dtype, int64_t columns) {
  return columns <= kWidest && has_cell(kAttentionBackward, device, dtype);
}

}  // namespace flambeau
