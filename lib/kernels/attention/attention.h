// Attention on the host in one launch: out = softmax(scale q k' + mask) v. A row that sees no key
// is 0. Results do not depend on the number of threads.
#pragma once
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

struct AttentionOperand {
  char* data;
  int64_t batch, head, row, col;  // strides in elements
};

struct AttentionArgs {
  int64_t batches, heads, length, keys, width, value_width;
  int64_t shared;  // heads of q, one after the other, that have a head of k and v in common
  AttentionOperand q, k, v, out;
  AttentionOperand mask;  // of the arithmetic type, added to the scores; data is null: none
  double scale;
  bool causal;  // a query sees the keys up to its own place
};

// Of [batch, heads, rows, columns]; k and v may have fewer heads, by a divisor. `mask` may be
// undefined, and repeats itself in dimensions of size 1.
struct AttentionTensors {
  const Tensor &out, &q, &k, &v, &mask;
};
void run_attention(const char* op, const AttentionTensors& t, double scale, bool causal);

extern constinit Kernel kAttention;

}  // namespace flambeau
