// Attention of several heads, and the transformer's encoder layer made of it.
#include <cmath>

#include "base/error.h"
#include "nn/blocks.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace flambeau::nn {

namespace {

// Uniform so that products keep their variance (xavier).
Tensor balanced(int64_t rows, int64_t columns, const Made& made) {
  const Tensor t = ops::empty(Dims{rows, columns}, made.dtype, made.device);
  const double bound = std::sqrt(6.0 / double(rows + columns));
  init_uniform(t, -bound, bound, nullptr);
  return trainable(t);
}

class MultiheadAttention final : public Module {
 public:
  MultiheadAttention(int64_t e, int64_t heads, const AttentionOptions& o)
      : Module("MultiheadAttention"), heads_(heads), o_(o) {
    set_parameter("in_proj_weight", balanced(3 * e, e, o.made));
    set_parameter("in_proj_bias", o.bias ? filled(Dims{3 * e}, 0, o.made) : Tensor());
    const Ref<Module> out = linear(e, e, o.bias, o.made.device, o.made.dtype);
    if (o.bias) init_constant(out->parameter("bias"), 0);
    set_child("out_proj", out);
  }

  // Query, key and value (or one tensor for all), then optionally an attention mask.
  Tensor forward(TensorsView inputs) override {
    const size_t n = inputs.size();
    check(n >= 1 && n <= 4, Code::invalid_argument, type,
          " takes a query, key and value, and optionally a mask; got ", n, " tensors");
    const bool own = n <= 2;
    const Tensor mask = n == 2 ? inputs[1] : n == 4 ? inputs[3] : Tensor();
    Tensor q = inputs[0], k = own ? q : inputs[1], v = own ? q : inputs[2];
    const bool swapped = o_.batch_first && q.dim() == 3;
    if (swapped) {
      q = ops::transpose(q, 0, 1);
      k = own ? q : ops::transpose(k, 0, 1);
      v = own ? q : ops::transpose(v, 0, 1);
    }
    const Module& out = **children.find("out_proj");
    const Tensor y = ops::multihead_attention(q, k, v, heads_, Module::parameter("in_proj_weight"),
                                              Module::parameter("in_proj_bias"), {}, {}, {}, {}, {},
                                              out.parameter("weight"), out.parameter("bias"), {},
                                              mask, o_.dropout, training);
    return swapped ? ops::transpose(y, 0, 1) : y;
  }

 private:
  int64_t heads_;
  AttentionOptions o_;
};

class EncoderLayer final : public Module {
 public:
  EncoderLayer(int64_t d, int64_t heads, const EncoderLayerOptions& o)
      : Module("TransformerEncoderLayer"), o_(o) {
    const Made& m = o.made;
    set_child("self_attn", multihead_attention(d, heads, {o.dropout, true, o.batch_first, m}));
    set_child("linear1", linear(d, o.dim_feedforward, true, m.device, m.dtype));
    set_child("dropout", dropout(o.dropout));
    set_child("linear2", linear(o.dim_feedforward, d, true, m.device, m.dtype));
    for (const char* name : {"norm1", "norm2"}) {
      set_child(name, layer_norm(Dims{d}, o.eps, true, true, m));
    }
    for (const char* name : {"dropout1", "dropout2"}) set_child(name, dropout(o.dropout));
  }

  // The sequence, then optionally a mask of its attention.
  Tensor forward(TensorsView inputs) override {
    check(inputs.size() == 1 || inputs.size() == 2, Code::invalid_argument, type,
          " takes an input and optionally a mask, got ", inputs.size(), " tensors");
    const Tensor& x = inputs[0];
    const Tensor mask = inputs.size() == 2 ? inputs[1] : Tensor();
    if (o_.norm_first) {
      const Tensor y = ops::add(x, attend(run("norm1", x), mask));
      return ops::add(y, feed(run("norm2", y)));
    }
    const Tensor y = run("norm1", ops::add(x, attend(x, mask)));
    return run("norm2", ops::add(y, feed(y)));
  }

 private:
  Tensor run(const char* child, const Tensor& x) { return (*children.find(child))->call(x); }
  Tensor attend(const Tensor& x, const Tensor& mask) {
    const Tensor both[] = {x, mask};
    const TensorsView operands(both, mask ? 2 : 1);
    return run("dropout1", (*children.find("self_attn"))->call(operands));
  }
  Tensor feed(const Tensor& x) {
    const Tensor wide = run("linear1", x);
    const Tensor active = o_.gelu ? ops::gelu(wide) : ops::relu(wide);
    return run("dropout2", run("linear2", run("dropout", active)));
  }

  EncoderLayerOptions o_;
};

}  // namespace

Ref<Module> multihead_attention(int64_t e, int64_t heads, const AttentionOptions& o) {
  check(e > 0 && heads > 0 && e % heads == 0, Code::invalid_argument, "embed_dim (", e,
        ") must be divisible by num_heads (", heads, "), both greater than 0");
  return make_ref<MultiheadAttention>(e, heads, o);
}

Ref<Module> transformer_encoder_layer(int64_t d_model, int64_t heads,
                                      const EncoderLayerOptions& o) {
  return make_ref<EncoderLayer>(d_model, heads, o);
}

}  // namespace flambeau::nn
