// Attention of several heads.
#include "base/checked.h"
#include "nn/blocks.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace flambeau::nn {

namespace {

class MultiheadAttention final : public Module {
 public:
  MultiheadAttention(int64_t e, int64_t heads, const AttentionOptions& o)
      : Module("MultiheadAttention"), heads_(heads), o_(o) {
    const int64_t packed = checked_mul(3, e, "MultiheadAttention: embed_dim");
    const Tensor weight = uninitialized(Dims{packed, e}, o.made);
    init_xavier_uniform(weight, 1, nullptr);
    set_parameter("in_proj_weight", trainable(weight));
    set_parameter("in_proj_bias", o.bias ? filled(Dims{packed}, 0, o.made) : Tensor());
    const Ref<Module> out = linear(e, e, o.bias, o.made.device, o.made.dtype);
    out->type = "NonDynamicallyQuantizableLinear";  // PyTorch's name, which programs compare
    if (o.bias) init_constant(out->parameter("bias"), 0);
    set_child("out_proj", out);
  }

  // Query, key and value (or one tensor for all), then optionally an attention mask.
  Tensor forward(TensorsView inputs) override {
    const size_t n = inputs.size();
    check(n >= 1 && n <= 4, Code::invalid_argument, type,
          " takes a query, key and value, and optionally a mask; got ", n, " tensors");
    const bool own = n <= 2;
    check_given(*this, inputs.first(own ? 1 : 3),
                own ? std::initializer_list<const char*>{"query"}
                    : std::initializer_list<const char*>{"query", "key", "value"});
    const Tensor mask = at_or_none(inputs, own ? 1 : 3);
    Tensor q = inputs[0], k = own ? q : inputs[1], v = own ? q : inputs[2];
    const bool swapped = o_.batch_first && q.dim() == 3;
    if (swapped) {
      q = ops::transpose(q, 0, 1);
      k = own ? q : ops::transpose(k, 0, 1);
      v = own ? q : ops::transpose(v, 0, 1);
    }
    const Ref<Module> out = child("out_proj");
    const Tensor y = ops::multihead_attention(
        q, k, v, heads_, Module::parameter("in_proj_weight"), parameter_or_none("in_proj_bias"), {},
        {}, {}, {}, {}, out->parameter("weight"), out->parameter_or_none("bias"), {}, mask,
        o_.dropout, training);
    return swapped ? ops::transpose(y, 0, 1) : y;
  }

 private:
  int64_t heads_;
  AttentionOptions o_;
};

}  // namespace

Ref<Module> multihead_attention(int64_t e, int64_t heads, const AttentionOptions& o) {
  check(e > 0 && heads > 0 && e % heads == 0, Code::invalid_argument, "embed_dim (", e,
        ") must be divisible by num_heads (", heads, "), both greater than 0");
  return make_ref<MultiheadAttention>(e, heads, o);
}

}  // namespace flambeau::nn
