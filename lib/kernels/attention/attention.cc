// The launch of attention on the host.
#include "kernels/attention/attention.h"

#include "kernels/access.h"

namespace flambeau {

constinit Kernel kAttention{"attention"};

namespace {

AttentionOperand operand_of(const Tensor& t) {
  if (!t.defined()) return {};
  const auto step = [&](size_t d) { return t.sizes()[d] == 1 ? 0 : t.strides()[d]; };
  return {static_cast<char*>(t.data()), step(0), step(1), step(2), step(3)};
}

}  // namespace

void run_attention(const char* op, const AttentionTensors& t, double scale, bool causal) {
  const AttentionArgs args{.batches = t.q.size(0),
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
                           .causal = causal};
  const Device device = t.out.device();
  launch_kernel(op, kAttention.find(op, device, t.q.dtype()), device, args,
                {writes(t.out), reads(t.q), reads(t.k), reads(t.v), reads(t.mask)});
}

}  // namespace flambeau
