// Recurrent layers: parameters named and drawn as in torch. The result of a call is the sequence of
// outputs; the last states come from the function of the same name, given these parameters.
#include <tuple>
#include <vector>

#include "base/checked.h"
#include "nn/blocks.h"

namespace flambeau::nn {

namespace {

struct KindRow {
  RecurrentKind kind;
  const char* type;
  int64_t gates;
};
constexpr KindRow kKinds[] = {{RecurrentKind::rnn_tanh, "RNN", 1},
                              {RecurrentKind::rnn_relu, "RNN", 1},
                              {RecurrentKind::lstm, "LSTM", 4},
                              {RecurrentKind::gru, "GRU", 3}};

int64_t gates_of(const KindRow& row, int64_t hidden) {
  return checked_mul(row.gates, hidden, row.type, ": hidden_size");
}

class Recurrent final : public Module {
 public:
  Recurrent(const KindRow& row, int64_t input, int64_t hidden, const RecurrentOptions& o)
      : Module(row.type), row_(row), input_(input), hidden_(hidden), o_(o) {
    const int64_t state = o.proj_size ? o.proj_size : hidden, gates = gates_of(row, hidden);
    for (int64_t layer = 0; layer < o.num_layers; ++layer) {
      const int64_t features = layer == 0 ? input : state * directions();
      for (int64_t d = 0; d < directions(); ++d) {
        const std::string tail = cat_text("_l", layer, d ? "_reverse" : "");
        add("weight_ih" + tail, Dims{gates, features});
        add("weight_hh" + tail, Dims{gates, state});
        if (o.bias) add("bias_ih" + tail, Dims{gates});
        if (o.bias) add("bias_hh" + tail, Dims{gates});
        if (o.proj_size) add("weight_hr" + tail, Dims{o.proj_size, hidden});
      }
    }
  }

  // The sequence, then optionally the initial state and, for LSTM, the initial cell.
  Tensor forward(TensorsView inputs) override {
    const bool lstm = row_.kind == RecurrentKind::lstm;
    const size_t states = lstm ? 2 : 1;
    check(inputs.size() == 1 || inputs.size() == 1 + states, Code::invalid_argument, type,
          " takes an input and, if any, ", states, " initial state(s); got ", inputs.size(),
          " tensors");
    check_given(*this, inputs, {"input"});
    const Tensor& x = inputs[0];
    check(x.dim() == 2 || x.dim() == 3, Code::shape, type, ": Expected input to be 2D or 3D, got ",
          x);
    const Tensor h0 = at_or_none(inputs, 1), c0 = at_or_none(inputs, 2);
    const Tensor h = h0 ? h0 : start(x, o_.proj_size ? o_.proj_size : hidden_);
    std::vector<Tensor> weights;
    for (const auto& [name, unused] : parameters) weights.push_back(Module::parameter(name));
    if (lstm) {
      const Tensor hx[] = {h, c0 ? c0 : start(x, hidden_)};
      return std::get<0>(ops::lstm(x, hx, weights, o_.bias, o_.num_layers, o_.dropout, training,
                                   o_.bidirectional, o_.batch_first));
    }
    const auto run = row_.kind == RecurrentKind::gru        ? ops::gru
                     : row_.kind == RecurrentKind::rnn_tanh ? ops::rnn_tanh
                                                            : ops::rnn_relu;
    return std::get<0>(run(x, h, weights, o_.bias, o_.num_layers, o_.dropout, training,
                           o_.bidirectional, o_.batch_first, {}));
  }

  std::string extra_repr() const override {
    std::string s = cat_text(input_, ", ", hidden_);
    if (o_.proj_size) s += cat_text(", proj_size=", o_.proj_size);
    if (o_.num_layers != 1) s += cat_text(", num_layers=", o_.num_layers);
    if (!o_.bias) s += ", bias=False";
    if (o_.batch_first) s += ", batch_first=True";
    if (o_.dropout != 0) s += cat_text(", dropout=", o_.dropout);
    if (o_.bidirectional) s += ", bidirectional=True";
    return s;
  }

 private:
  int64_t directions() const { return o_.bidirectional ? 2 : 1; }
  void add(const std::string& name, const Dims& sizes) {
    set_parameter(name, drawn(sizes, hidden_, o_.made));
  }
  Tensor start(const Tensor& x, int64_t size) const {
    const int64_t states = o_.num_layers * directions();
    const Dims sizes =
        x.dim() == 2 ? Dims{states, size} : Dims{states, x.size(o_.batch_first ? 0 : 1), size};
    return ops::zeros(sizes, x.dtype(), x.device());
  }

  const KindRow& row_;
  int64_t input_, hidden_;
  RecurrentOptions o_;
};

// One step. A result is one tensor, so that an LSTM's state and cell are stacked.
class RecurrentCell final : public Module {
 public:
  RecurrentCell(const KindRow& row, int64_t input, int64_t hidden, bool bias, const Made& made)
      : Module(cat_text(row.type, "Cell")), row_(row), input_(input), hidden_(hidden) {
    const int64_t gates = gates_of(row, hidden);
    set_parameter("weight_ih", drawn(Dims{gates, input}, hidden, made));
    set_parameter("weight_hh", drawn(Dims{gates, hidden}, hidden, made));
    for (const char* name : {"bias_ih", "bias_hh"}) {
      set_parameter(name, bias ? drawn(Dims{gates}, hidden, made) : Tensor());
    }
  }

  // The input, then optionally the state and, for LSTM, the cell.
  Tensor forward(TensorsView inputs) override {
    const bool lstm = row_.kind == RecurrentKind::lstm;
    const size_t states = lstm ? 2 : 1;
    check(inputs.size() == 1 || inputs.size() == 1 + states, Code::invalid_argument, type,
          " takes an input and, if any, ", states, " initial state(s); got ", inputs.size(),
          " tensors");
    check_given(*this, inputs, {"input"});
    const bool alone = inputs[0].dim() == 1;
    check(alone || inputs[0].dim() == 2, Code::shape, type, ": Expected input to be 1D or 2D, got ",
          inputs[0]);
    Tensors given;
    for (size_t i = 0; i <= states; ++i) {
      const Tensor t = at_or_none(inputs, i);
      const auto zeros = [&] {
        return ops::zeros(Dims{given[0].size(0), hidden_}, given[0].dtype(), given[0].device());
      };
      given.push_back(!t ? zeros() : alone ? ops::unsqueeze(t, 0) : t);
    }
    const Tensor y = lstm ? step_lstm(given) : step(given);
    return alone ? ops::squeeze(y, Dims{lstm ? 1 : 0}) : y;
  }

  std::string extra_repr() const override {
    std::string s = cat_text(input_, ", ", hidden_);
    if (!parameter_or_none("bias_ih")) s += ", bias=False";
    if (row_.kind == RecurrentKind::rnn_relu) s += ", nonlinearity=relu";
    return s;
  }

 private:
  Tensor step(TensorsView given) const {
    const auto cell = row_.kind == RecurrentKind::gru        ? ops::gru_cell
                      : row_.kind == RecurrentKind::rnn_tanh ? ops::rnn_tanh_cell
                                                             : ops::rnn_relu_cell;
    return cell(given[0], given[1], Module::parameter("weight_ih"), Module::parameter("weight_hh"),
                parameter_or_none("bias_ih"), parameter_or_none("bias_hh"));
  }
  Tensor step_lstm(TensorsView given) const {
    const auto [h, c] = ops::lstm_cell(given[0], given.subspan(1), Module::parameter("weight_ih"),
                                       Module::parameter("weight_hh"), parameter_or_none("bias_ih"),
                                       parameter_or_none("bias_hh"));
    const Tensor both[] = {h, c};
    return ops::stack(both, 0);
  }

  const KindRow& row_;
  int64_t input_, hidden_;
};

const KindRow& row_of(RecurrentKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row;
  }
  fail(Code::invalid_argument, "unknown kind of recurrent layer ", int(kind));
}

}  // namespace

Ref<Module> recurrent(RecurrentKind kind, int64_t input, int64_t hidden,
                      const RecurrentOptions& o) {
  check(input > 0 && hidden > 0 && o.num_layers > 0, Code::invalid_argument,
        "a recurrent layer's input_size (", input, "), hidden_size (", hidden, ") and num_layers (",
        o.num_layers, ") must be greater than zero");
  check_count("a recurrent layer", "num_layers", o.num_layers, 1 << 16);
  check(o.dropout >= 0 && o.dropout <= 1, Code::invalid_argument,
        "dropout should be a number in range [0, 1], got ", o.dropout);
  check(
      o.proj_size >= 0 && o.proj_size < hidden && (o.proj_size == 0 || kind == RecurrentKind::lstm),
      Code::invalid_argument, "proj_size (", o.proj_size,
      ") has to be smaller than hidden_size, and is only supported for LSTM");
  return make_ref<Recurrent>(row_of(kind), input, hidden, o);
}

Ref<Module> recurrent_cell(RecurrentKind kind, int64_t input, int64_t hidden, bool bias,
                           const Made& made) {
  check(input > 0 && hidden > 0, Code::invalid_argument, "a recurrent cell's input_size (", input,
        ") and hidden_size (", hidden, ") must be greater than zero");
  return make_ref<RecurrentCell>(row_of(kind), input, hidden, bias, made);
}

}  // namespace flambeau::nn
