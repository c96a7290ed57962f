// Recurrent layers: their operands and options. The inputs of all steps are projected in one
// product; a packed sequence is steps of fewer and fewer rows.
#include <algorithm>
#include <tuple>
#include <vector>

#include "base/checked.h"
#include "ops/formula.h"
#include "ops/nn/recurrent.h"

namespace flambeau::ops {

namespace {

using Kind = Recurrence;
using State = RecurrentState;

using Weights = RecurrentWeights;

int64_t gates_of(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }

SequenceResult sequence(Kind kind, const Tensor& x, const State& first, Weights w,
                        const Batches& batches, bool backwards) {
  if (kind != Kind::gru && w.b_hh) {  // its state's product alone has a bias of its own
    w.b_ih = w.b_ih ? add(w.b_ih, w.b_hh) : w.b_hh;
    w.b_hh = {};
  }
  return run_sequence(kind, x, first, w, batches, backwards);
}

struct Options {
  bool biases;
  int64_t layers;
  double dropout;
  bool train, bidirectional;
};

struct Layers {
  Kind kind;
  const Op& op;
  TensorsView params;
  Options o;

  size_t per_direction() const {
    check_count(op, "num_layers", o.layers, 1 << 16);
    const size_t directions = size_t(o.layers) * (o.bidirectional ? 2 : 1);
    const size_t plain = o.biases ? 4 : 2, projected = plain + 1;
    if (kind == Kind::lstm && params.size() == directions * projected) return projected;
    check(params.size() == directions * plain, Code::invalid_argument, op, ": expected ",
          directions * plain, " parameters for ", o.layers, " layers, got ", params.size());
    return plain;
  }

  Weights weights(size_t direction) const {
    const size_t n = per_direction();
    const Tensor* p = &params[direction * n];
    Weights w{p[0], p[1], {}, {}, {}};
    if (o.biases) w.b_ih = p[2], w.b_hh = p[3];
    if (n % 2 == 1) w.hr = p[n - 1];
    return w;
  }

  void check_shapes(const Tensor& x, const State& s, const Weights& w) const {
    check(x.size(1) == w.ih.size(1), Code::shape, op,
          ": input.size(-1) must be equal to input_size. Expected ", w.ih.size(1), ", got ",
          x.size(1));
    const int64_t hidden = w.hh.size(0) / gates_of(kind);
    check(s.h.size(1) == w.hh.size(1) && (!s.c || s.c.size(1) == hidden), Code::shape, op,
          ": the initial state must have ", w.hh.size(1), " features, got ", s.h);
  }
};

struct Result {
  Tensor output, h, c;
};

// x: [rows of all steps, features]; h, c: [layers * directions, n, ...].
Result run_layers(const Layers& layers, Tensor x, const Tensor& h, const Tensor& c,
                  const Batches& batches) {
  const Options& o = layers.o;
  const size_t directions = o.bidirectional ? 2 : 1;
  std::vector<Tensor> last_h, last_c;
  for (size_t layer = 0; layer < size_t(o.layers); ++layer) {
    std::vector<Tensor> sides;
    for (size_t d = 0; d < directions; ++d) {
      const size_t at = layer * directions + d;
      const Weights w = layers.weights(at);
      const State first{select(h, 0, int64_t(at)), c ? select(c, 0, int64_t(at)) : Tensor()};
      layers.check_shapes(x, first, w);
      const SequenceResult run = sequence(layers.kind, x, first, w, batches, d == 1);
      sides.push_back(run.outputs);
      last_h.push_back(run.last.h);
      if (c) last_c.push_back(run.last.c);
    }
    x = directions == 1 ? sides[0] : cat(sides, 1);
    if (o.dropout > 0 && o.train && layer + 1 < size_t(o.layers)) x = dropout(x, o.dropout, true);
  }
  return {x, stack(last_h, 0), c ? stack(last_c, 0) : Tensor()};
}

Batches packed_batches(const char* op, const Tensor& sizes) {
  check(sizes.device().is_cpu() && sizes.dtype() == Dtype::i64 && sizes.dim() == 1 &&
            sizes.numel() > 0,
        Code::invalid_argument, op,
        ": batch_sizes must be int64 on the cpu, one number per step, "
        "got ",
        sizes);
  const Tensor dense = contiguous(sizes);
  wait_for_host_access(dense.storage()->block());
  const int64_t* p = dense.data_as<int64_t>();
  const Batches batches(p, p + dense.numel());
  for (size_t t = 0; t < batches.size(); ++t) {
    check(batches[t] > 0 && (t == 0 || batches[t] <= batches[t - 1]), Code::invalid_argument, op,
          ": batch_sizes must be positive and not increase");
  }
  return batches;
}

void check_states(const char* op, const Tensor& h, const Tensor& c, int64_t states, int64_t n) {
  for (const Tensor* s : {&h, &c}) {
    check(!*s || (s->dim() == 3 && s->size(0) == states && s->size(1) == n), Code::shape, op,
          ": Expected hidden size (", states, ", ", n, ", ...), got ", *s);
  }
}

Result run_plain(const Layers& layers, const Tensor& input, const Tensor& h, const Tensor& c,
                 bool batch_first, const Tensor& batch_sizes) {
  const char* op = layers.op;
  const int64_t states = layers.o.layers * (layers.o.bidirectional ? 2 : 1);
  if (batch_sizes) {
    const Batches batches = packed_batches(op, batch_sizes);
    int64_t total = 0;
    for (int64_t n : batches) total += n;
    check(input.dim() == 2 && input.size(0) == total, Code::shape, op, ": packed input must be [",
          total, ", features], got ", input);
    check_states(op, h, c, states, batches[0]);
    return run_layers(layers, input, h, c, batches);
  }
  check(input.dim() == 2 || input.dim() == 3, Code::shape, op,
        ": Expected input to be 2D or 3D, got ", input.dim(), "D instead");
  if (input.dim() == 2) {
    const Result r =
        run_plain(layers, unsqueeze(input, 1), unsqueeze(h, 1), c ? unsqueeze(c, 1) : c, false, {});
    return {squeeze(r.output, Dims{1}), squeeze(r.h, Dims{1}), c ? squeeze(r.c, Dims{1}) : c};
  }
  const Tensor x = batch_first ? transpose(input, 0, 1) : input;
  const int64_t length = x.size(0), n = x.size(1);
  check(length > 0, Code::shape, op, ": Expected sequence length to be larger than 0 in RNN");
  check_states(op, h, c, states, n);
  const Result r =
      run_layers(layers, reshape(x, Dims{length * n, x.size(2)}), h, c, Batches(size_t(length), n));
  const Tensor output = reshape(r.output, Dims{length, n, r.output.size(1)});
  return {batch_first ? transpose(output, 0, 1) : output, r.h, r.c};
}

// The same after autocast's conversion of all operands.
Result run(Layers layers, const Tensor& input, const Tensor& h, const Tensor& c, bool batch_first,
           const Tensor& batch_sizes) {
  std::vector<Operand> operands{input, h, c};
  operands.insert(operands.end(), layers.params.begin(), layers.params.end());
  const Call call{layers.op, std::span<const Operand>(operands)};
  std::vector<Tensor> params;
  for (size_t i = 3; i < call.size(); ++i) params.push_back(call[i]);
  layers.params = params;
  return run_plain(layers, call[0], call[1], call[2], batch_first, batch_sizes);
}

std::tuple<Tensor, Tensor> simple(Kind kind, const Op& op, const Tensor& input, const Tensor& hx,
                                  TensorsView params, const Options& o, bool batch_first,
                                  const Tensor& batch_sizes) {
  const Result r = run({kind, op, params, o}, input, hx, {}, batch_first, batch_sizes);
  return {r.output, r.h};
}

void check_cell_state(const Op& op, const char* name, const Tensor& state, const Tensor& x,
                      int64_t hidden_size) {
  check(state.dim() == 2, Code::shape, op, ": ", name, " has ", state.dim(),
        " dimensions instead of 2");
  check(state.size(1) == hidden_size, Code::shape, op, ": ", name,
        " has inconsistent hidden_size: got ", state.size(1), ", expected ", hidden_size);
  check(state.size(0) == x.size(0), Code::shape, op, ": Input batch size ", x.size(0),
        " doesn't match ", name, " batch size ", state.size(0));
}

// A step in operations, which take biases of any shape that goes with the products, and integers.
State composed_step(Kind kind, const Tensor& x, const State& s, const Weights& w) {
  const Tensor of_input = linear(x, w.ih, w.b_ih), of_state = linear(s.h, w.hh, w.b_hh);
  if (kind == Kind::tanh) return {tanh(add(of_input, of_state)), {}};
  if (kind == Kind::relu) return {relu(add(of_input, of_state)), {}};
  if (kind == Kind::gru) {
    const std::vector<Tensor> i = chunk(of_input, 3, 1), h = chunk(of_state, 3, 1);
    const Tensor reset = sigmoid(add(i[0], h[0])), update = sigmoid(add(i[1], h[1]));
    const Tensor fresh = tanh(add(i[2], mul(reset, h[2])));
    return {add(fresh, mul(update, sub(s.h, fresh))), {}};
  }
  const std::vector<Tensor> g = chunk(add(of_input, of_state), 4, 1);
  const Tensor c = add(mul(sigmoid(g[1]), s.c), mul(sigmoid(g[0]), tanh(g[2])));
  return {mul(sigmoid(g[3]), tanh(c)), c};
}

State cell(Kind kind, const Op& op, const Tensor& input, const State& state, const Weights& given) {
  const Call c{op, {input, state.h, state.c, given.ih, given.hh, given.b_ih, given.b_hh}};
  const Tensor& x = c[0];
  const State s{c[1], c[2]};
  const Weights w{c[3], c[4], c[5], c[6], {}};
  check(w.ih.dim() == 2 && w.hh.dim() == 2, Code::shape, op, ": weights must be 2-D, got ", w.ih,
        " and ", w.hh);
  check(x.dim() == 2, Code::shape, op, ": input has ", x.dim(), " dimensions instead of 2");
  check(x.size(1) == w.ih.size(1), Code::shape, op, ": input has inconsistent input_size: got ",
        x.size(1), " expected ", w.ih.size(1));
  check_cell_state(op, "hidden0", s.h, x, w.hh.size(1));
  if (kind == Kind::lstm) check_cell_state(op, "hidden1", s.c, x, w.hh.size(1));
  const int64_t gates = gates_of(kind) * s.h.size(1);
  for (const Tensor& t : {w.ih, w.hh}) {
    check(t.size(0) == gates, Code::shape, op, ": expected weights of ", gates, " rows, got ", t);
  }
  const auto is_row = [&](const Tensor& b) { return !b || (b.dim() == 1 && b.size(0) == gates); };
  const bool simple = kind == Kind::tanh || kind == Kind::relu;
  if (!is_row(w.b_ih) || !is_row(w.b_hh) || (simple && !is_floating(x.dtype()))) {
    return composed_step(kind, x, s, w);
  }
  return sequence(kind, x, s, w, {x.size(0)}, false).last;
}

// Zeros in the shapes of the two states that an LSTM begins with where none are given.
Tensors zero_states(const Tensor& input, TensorsView params, int64_t rows, bool batch_first,
                    const Tensor& batch_sizes) {
  check(params.size() >= 2 && params[1].dim() == 2, Code::invalid_argument,
        "lstm: params begin with the weights of the first layer, w_ih and w_hh");
  Dims size{rows};
  if (batch_sizes) size.push_back(packed_batches(op::lstm, batch_sizes).front());
  if (!batch_sizes && input.dim() == 3) size.push_back(input.size(batch_first ? 0 : 1));
  Dims cells = size;
  size.push_back(params[1].size(1));
  cells.push_back(params[1].size(0) / 4);
  return {zeros(size, input.dtype(), input.device()), zeros(cells, input.dtype(), input.device())};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorsView hx, TensorsView params,
                                        bool has_biases, int64_t num_layers, double dropout,
                                        bool train, bool bidirectional, bool batch_first,
                                        const Tensor& batch_sizes) {
  if (hx.empty()) {
    const int64_t rows = num_layers * (bidirectional ? 2 : 1);
    const Tensors zeros = zero_states(input, params, rows, batch_first, batch_sizes);
    return lstm(input, zeros, params, has_biases, num_layers, dropout, train, bidirectional,
                batch_first, batch_sizes);
  }
  check(hx.size() == 2, Code::invalid_argument, "lstm expects two hidden states, got ", hx.size());
  const Result r =
      run({Kind::lstm, op::lstm, params, {has_biases, num_layers, dropout, train, bidirectional}},
          input, hx[0], hx[1], batch_first, batch_sizes);
  return {r.output, r.h, r.c};
}

std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorsView params,
                               bool has_biases, int64_t num_layers, double dropout, bool train,
                               bool bidirectional, bool batch_first, const Tensor& batch_sizes) {
  return simple(Kind::gru, op::gru, input, hx, params,
                {has_biases, num_layers, dropout, train, bidirectional}, batch_first, batch_sizes);
}

std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorsView params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional, bool batch_first,
                                    const Tensor& batch_sizes) {
  return simple(Kind::tanh, op::rnn_tanh, input, hx, params,
                {has_biases, num_layers, dropout, train, bidirectional}, batch_first, batch_sizes);
}

std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorsView params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional, bool batch_first,
                                    const Tensor& batch_sizes) {
  return simple(Kind::relu, op::rnn_relu, input, hx, params,
                {has_biases, num_layers, dropout, train, bidirectional}, batch_first, batch_sizes);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorsView hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  check(hx.size() == 2, Code::invalid_argument, "lstm_cell expects two hidden states, got ",
        hx.size());
  const State s =
      cell(Kind::lstm, op::lstm_cell, input, {hx[0], hx[1]}, {w_ih, w_hh, b_ih, b_hh, {}});
  return {s.h, s.c};
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  return cell(Kind::gru, op::gru_cell, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return cell(Kind::tanh, op::rnn_tanh_cell, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return cell(Kind::relu, op::rnn_relu_cell, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;
}

}  // namespace flambeau::ops
