// Transformers: layers of attention with PyTorch's children, stacks of layers, and both together.
#include "base/checked.h"
#include "base/error.h"
#include "nn/blocks.h"
#include "nn/gen/layers.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace flambeau::nn {

namespace {

// Without what is absent at the end, so that a layer of the program's gets no more than there is.
TensorsView given(TensorsView inputs) {
  size_t n = inputs.size();
  while (n > 0 && !inputs[n - 1]) --n;
  return inputs.first(n);
}

void check_inputs(const Module& m, TensorsView inputs, size_t least, size_t most,
                  const char* what) {
  check(inputs.size() >= least && inputs.size() <= most, Code::invalid_argument, m.type, " takes ",
        what, "; got ", inputs.size(), inputs.size() == 1 ? " tensor" : " tensors");
}

// What encoder and decoder layers share: children named as in PyTorch, and the network.
class TransformerLayer : public Module {
 protected:
  TransformerLayer(const char* type, std::initializer_list<const char*> attentions, int64_t d,
                   int64_t heads, const TransformerOptions& o)
      : Module(type), o_(o) {
    const Made& m = o.made;
    for (const char* name : attentions) {
      set_child(name, multihead_attention(d, heads, {o.dropout, o.bias, o.batch_first, m}));
    }
    set_child("linear1", linear(d, o.dim_feedforward, o.bias, m.device, m.dtype));
    set_child("dropout", dropout(o.dropout));
    set_child("linear2", linear(o.dim_feedforward, d, o.bias, m.device, m.dtype));
    const size_t blocks = attentions.size() + 1;
    for (size_t i = 1; i <= blocks; ++i) {
      set_child(cat_text("norm", i), layer_norm(Dims{d}, o.eps, true, o.bias, m));
    }
    for (size_t i = 1; i <= blocks; ++i) set_child(cat_text("dropout", i), dropout(o.dropout));
  }

  Tensor run(const char* child, const Tensor& x) { return Module::child(child)->call(x); }
  // A residual around `part`, with a norm before or after.
  template <class F> Tensor block(const char* norm, const Tensor& x, F part) {
    return o_.norm_first ? ops::add(x, part(run(norm, x))) : run(norm, ops::add(x, part(x)));
  }
  Tensor attend(const char* attention, const char* dropout, TensorsView operands) {
    return run(dropout, Module::child(attention)->call(given(operands)));
  }
  Tensor feed(const char* last, const Tensor& x) {
    const Tensor wide = run("linear1", x);
    const Tensor active = o_.gelu ? ops::gelu(wide) : ops::relu(wide);
    return run(last, run("linear2", run("dropout", active)));
  }

 private:
  TransformerOptions o_;
};

class EncoderLayer final : public TransformerLayer {
 public:
  EncoderLayer(int64_t d, int64_t heads, const TransformerOptions& o)
      : TransformerLayer("TransformerEncoderLayer", {"self_attn"}, d, heads, o) {}

  Tensor forward(TensorsView inputs) override {
    check_inputs(*this, inputs, 1, 2, "an input and optionally a mask");
    check_given(*this, inputs, {"src"});
    const Tensor mask = at_or_none(inputs, 1);
    const Tensor y = block("norm1", inputs[0], [&](const Tensor& x) {
      const Tensor operands[] = {x, mask};
      return attend("self_attn", "dropout1", operands);
    });
    return block("norm2", y, [&](const Tensor& x) { return feed("dropout2", x); });
  }
};

class DecoderLayer final : public TransformerLayer {
 public:
  DecoderLayer(int64_t d, int64_t heads, const TransformerOptions& o)
      : TransformerLayer("TransformerDecoderLayer", {"self_attn", "multihead_attn"}, d, heads, o) {}

  Tensor forward(TensorsView inputs) override {
    check_inputs(*this, inputs, 2, 4, "an input, a memory, and optionally a mask of each");
    check_given(*this, inputs, {"tgt", "memory"});
    const Tensor &memory = inputs[1], own = at_or_none(inputs, 2), across = at_or_none(inputs, 3);
    const Tensor y = block("norm1", inputs[0], [&](const Tensor& x) {
      const Tensor operands[] = {x, own};
      return attend("self_attn", "dropout1", operands);
    });
    const Tensor z = block("norm2", y, [&](const Tensor& x) {
      const Tensor operands[] = {x, memory, memory, across};
      return attend("multihead_attn", "dropout2", operands);
    });
    return block("norm3", z, [&](const Tensor& x) { return feed("dropout3", x); });
  }
};

class Stack final : public Module {
 public:
  Stack(const char* type, const Ref<Module>& layers) : Module(type) { set_child("layers", layers); }
  // The first operand goes through the layers; what else there is, all of them get.
  Tensor forward(TensorsView inputs) override {
    check_inputs(*this, inputs, 1, 4, "what its layers take");
    check_given(*this, inputs, {"input"});
    Tensors operands(given(inputs));
    const Ref<Module> layers = child("layers");
    for (size_t i = 0; i < layers->children.size(); ++i) {
      operands[0] = layers->child(layers->children[i].first)->call(operands);
    }
    const Ref<Module>* norm = children.find("norm");
    return norm && *norm ? (*norm)->call(operands[0]) : operands[0];
  }
};

using MakeLayer = Ref<Module> (*)(int64_t, int64_t, const TransformerOptions&);

Ref<Module> stack(const char* type, MakeLayer layer, int64_t d, int64_t heads, int64_t num_layers,
                  const TransformerOptions& o) {
  check(num_layers > 0, Code::invalid_argument, type, ": num_layers must be at least 1, got ",
        num_layers);
  check_count(type, "num_layers", num_layers, 1 << 16);
  const Ref<Module> layers = make_ref<Module>("ModuleList");
  for (int64_t i = 0; i < num_layers; ++i) {
    layers->set_child(std::to_string(i), layer(d, heads, o));
  }
  return make_ref<Stack>(type, layers);
}

class Transformer final : public Module {
 public:
  Transformer(int64_t d, int64_t heads, int64_t encoder_layers, int64_t decoder_layers,
              const TransformerOptions& o)
      : Module("Transformer") {
    const Ref<Module> halves[] = {transformer_encoder(d, heads, encoder_layers, o),
                                  transformer_decoder(d, heads, decoder_layers, o)};
    for (const Ref<Module>& half : halves) {
      half->set_child("norm", layer_norm(Dims{d}, o.eps, true, o.bias, o.made));
      half->visit([](const std::string&, const Module& m) {
        for (const auto& [name, p] : m.parameters) {
          if (p && p.dim() > 1) init_xavier_uniform(p, 1, nullptr);
        }
      });
    }
    set_child("encoder", halves[0]);
    set_child("decoder", halves[1]);
  }
  Tensor forward(TensorsView inputs) override {
    check_inputs(*this, inputs, 2, 5,
                 "a source, a target, and optionally masks of both and of the memory");
    check_given(*this, inputs, {"src", "tgt"});
    const Tensor encoded[] = {inputs[0], at_or_none(inputs, 2)};
    const Tensor memory = child("encoder")->call(given(encoded));
    const Tensor operands[] = {inputs[1], memory, at_or_none(inputs, 3), at_or_none(inputs, 4)};
    return child("decoder")->call(given(operands));
  }
};

}  // namespace

Ref<Module> transformer_encoder_layer(int64_t d, int64_t heads, const TransformerOptions& o) {
  return make_ref<EncoderLayer>(d, heads, o);
}

Ref<Module> transformer_decoder_layer(int64_t d, int64_t heads, const TransformerOptions& o) {
  return make_ref<DecoderLayer>(d, heads, o);
}

Ref<Module> transformer_encoder(int64_t d, int64_t heads, int64_t num_layers,
                                const TransformerOptions& o) {
  return stack("TransformerEncoder", transformer_encoder_layer, d, heads, num_layers, o);
}

Ref<Module> transformer_decoder(int64_t d, int64_t heads, int64_t num_layers,
                                const TransformerOptions& o) {
  return stack("TransformerDecoder", transformer_decoder_layer, d, heads, num_layers, o);
}

Ref<Module> transformer(int64_t d, int64_t heads, int64_t encoder_layers, int64_t decoder_layers,
                        const TransformerOptions& o) {
  return make_ref<Transformer>(d, heads, encoder_layers, decoder_layers, o);
}

}  // namespace flambeau::nn
