// The launches of attention and of its gradients.
#include "kernels/attention/attention.h"

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

AttentionArgs args_of(const AttentionTensors& t, double scale, bool causal) {
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
          .scale = scale,
          .causal = causal,
          .statistics = t.statistics.defined() ? t.statistics.data_as<float>() : nullptr};
}

bool has_cell(const Kernel& kernel, Device device, Dtype dtype) {
  return kernel.cells[int(kernel_column(device))][int(dtype)] != nullptr;
}

}  // namespace

void run_attention(const char* op, const AttentionTensors& t, double scale, bool causal) {
  const Device device = t.out.device();
  launch_kernel(
      op, kAttention.find(op, device, t.q.dtype()), device, args_of(t, scale, causal),
      {writes(t.out), reads(t.q), reads(t.k), reads(t.v), reads(t.mask), writes(t.statistics)});
}

void run_attention_backward(const char* op, const AttentionTensors& t,
                            const AttentionSlopes& slopes, double scale, bool causal) {
  const Device device = t.out.device();
  const Tensor delta = empty(t.statistics.sizes().first(3), Dtype::f32, device);
  const AttentionBackwardArgs args{.of = args_of(t, scale, causal),
                                   .dy = operand_of(slopes.dy),
                                   .dq = operand_of(slopes.dq),
                                   .dk = operand_of(slopes.dk),
                                   .dv = operand_of(slopes.dv),
                                   .delta = delta.data_as<float>()};
  launch_kernel(
      op, kAttentionBackward.find(op, device, t.q.dtype()), device, args,
      {reads(t.out), reads(t.q), reads(t.k), reads(t.v), reads(t.mask), reads(t.statistics),
       reads(slopes.dy), writes(slopes.dq), writes(slopes.dk), writes(slopes.dv), writes(delta)});
}

bool has_attention(Device device, Dtype dtype, int64_t columns) {
  const bool host = kernel_column(device) == KernelColumn::host;
  return (host || columns <= kWidest) && has_cell(kAttention, device, dtype);
}

bool has_attention_backward(Device device, Dtype dtype, int64_t columns) {
  return columns <= kWidest && has_cell(kAttentionBackward, device, dtype);
}

}  // namespace flambeau
