// Recurrent layers inside: one step of all its rows as a kernel, and a whole sequence as one
// operation. A step's products are not the kernels' business: `gates` come in as what the state's
// product made and go out as what the activations made of it.
//
//           gates, by parts of `width` columns   projected
//   lstm    input, forget, cell, output          in the gates already
//   gru     reset, update, new (of the state     reset, update, new
//           alone, and so it stays), new
//   tanh,   the state, which is made in place    in the gates already
//   relu
//
// The slopes: `dh`, to which `dy` is added, and `dc`, to which `dc_now` is, become those of the
// state before, dh (of gru) without what comes through the product; `slope` is that of the
// projection, and `state_slope` (gru) that of the state's product.
#pragma once
#include <vector>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

struct CellRows {
  char* data;
  int64_t row;  // from one to the next, in elements
};

struct CellArgs {
  int64_t rows, width;
  CellRows gates, projected, h_before, c_before, h, y, c;  // y: h once more
  CellRows dh, dy, dc, dc_now, slope, state_slope;
};

inline constinit Kernel kLstm{"lstm"}, kGru{"gru"}, kRnnTanh{"rnn_tanh"}, kRnnRelu{"rnn_relu"};
inline constinit Kernel kLstmSlope{"lstm"}, kGruSlope{"gru"}, kRnnTanhSlope{"rnn_tanh"},
    kRnnReluSlope{"rnn_relu"};

namespace ops {

enum class Recurrence : int8_t { lstm, gru, tanh, relu };

// How many sequences have step t: they are the first ones, longest first.
using Batches = std::vector<int64_t>;

struct RecurrentState {
  Tensor h, c;  // c: lstm only
};

struct SequenceResult {
  Tensor outputs;  // [rows of all steps, features]
  RecurrentState last;
};

struct RecurrentWeights {
  Tensor ih, hh;
  Tensor b_ih;  // both biases, but of gru
  Tensor b_hh;  // gru alone
  Tensor hr;    // lstm: of a projected state; may be undefined as biases may
};

// One way through the steps of x [rows of all steps, features]; backwards, the last comes first.
SequenceResult run_sequence(Recurrence kind, const Tensor& x, const RecurrentState& first,
                            const RecurrentWeights& w, const Batches& batches, bool backwards);

}  // namespace ops

}  // namespace flambeau
