// Attention in one launch: out = softmax(scale q k' + mask) v. A row that sees no key is 0. Results
// do not depend on the number of threads. Devices have it and its gradient for half types and f32,
// for heads of at most 256 columns.
#pragma once
#include "kernels/kernel.h"
#include "kernels/random/random.h"
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
  // On devices, weights whose word is below the first number count for nothing, and the others this
  // factor; a word is drawn by the places of query and key from `draw`, and `draws` where it is
  // there, as in RandomArgs.
  uint32_t drop_below;
  float kept_factor;
  RandomState draw;
  const RandomState* draws;
  // Of each row, by devices, [batches, heads, length, 2]: the largest score times log2(e),
  // and 1 over the sum of weights beside it; one number would lose the sum where scores are large.
  // Null: not kept.
  float* statistics;
  // By devices, where a row's keys are shared out among blocks, so many to each, in `splits` parts:
  // memory of value_width + 2 numbers for each row and part. Null: they are not.
  float* parts;
  int64_t splits, keys_a_part;
};

struct AttentionBackwardArgs {
  AttentionArgs of;  // out: what forward gave; statistics are there
  AttentionOperand dy, dq, dk, dv;
  AttentionOperand dmask;  // f32, strides of 0 where one element is for all; data is null: none
  float* delta;            // memory of one number for each row
};

// How attention is made of its operands.
struct AttentionHow {
  double scale;
  bool causal;
  double dropped = 0;  // on devices alone
  Draw draw{};
};

// Of [batch, heads, rows, columns]; k and v may have fewer heads, by a divisor. `mask` may be
// undefined, and repeats itself in dimensions of size 1.
struct AttentionTensors {
  const Tensor &out, &q, &k, &v, &mask;
  const Tensor& statistics;  // f32 [batch, heads, rows, 2], or undefined: not kept
};
void run_attention(const char* op, const AttentionTensors& t, const AttentionHow& how);

struct AttentionSlopes {
  const Tensor &dy, &dq, &dk, &dv;
  const Tensor& dmask;  // f32 [batch or 1, heads or 1, rows or 1, columns or 1], or undefined
};
void run_attention_backward(const char* op, const AttentionTensors& t,
                            const AttentionSlopes& slopes, const AttentionHow& how);

// Whether there is a kernel for heads of so many columns, and one for their gradients.
bool has_attention(Device device, Dtype dtype, int64_t columns);
bool has_attention_backward(Device device, Dtype dtype, int64_t columns);

extern constinit Kernel kAttention, kAttentionBackward;

}  // namespace flambeau
