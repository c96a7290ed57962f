// Attention whose scores never exist as a whole; see attention_tiles.cc.
#pragma once
#include "ops/call.h"

namespace flambeau::ops {

struct AttentionOptions {
  double scale;
  bool causal;         // a query sees the keys up to its own place
  double dropped = 0;  // probability with which a weight counts for nothing
};

// The weights by operations of their own, for gradients of any order: softmax(scale q k' + added),
// 0 in rows that see no key.
Tensor attention_weights(const Tensor& q, const Tensor& k, const Tensor& added, double scale);
// The gradients by operations of their own, so that they have gradients: of q, k, v and the scores.
// `kept`: what each weight is multiplied by, or undefined.
Tensors attention_slopes(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                         const Tensor& added, const Tensor& kept, double scale);
// -infinity where a later key is, as `dtype`.
Tensor causal_mask(int64_t length, int64_t keys, Dtype dtype, Device device);

// Whether the tiles take these operands: up to two dimensions of batch, the same in all three, and
// a mask (to be added; may be undefined) that broadcasts to the scores. With shared_heads k and v
// may have fewer heads, each for several of q.
bool takes_tiles(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
                 double dropped, bool shared_heads = false);
Tensor attention_by_tiles(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
                          const AttentionOptions& options);

}  // namespace flambeau::ops
