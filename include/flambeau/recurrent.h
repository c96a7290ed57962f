/* Recurrent layers over whole sequences, and their cells.
 * namespace: ops
 *
 * Gates stand in PyTorch's order: input, forget, cell, output for LSTM; reset, update, new for GRU.
 */
#ifndef FLAMBEAU_RECURRENT_H
#define FLAMBEAU_RECURRENT_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_gru`, `flam_rnn_tanh` and `flam_rnn_relu`. */
typedef struct flam_rnn_options {
  size_t struct_size; /**< sizeof(flam_rnn_options) */
  flam_bool has_biases FLAM_DEFAULT(1); /**< whether there are biases; default true (1) */
  int64_t num_layers FLAM_DEFAULT(1); /**< how many layers; default 1 */
  double dropout FLAM_DEFAULT(0); /**< probability of dropping results between layers; default 0 */
  flam_bool train FLAM_DEFAULT(0); /**< whether dropout drops; default false */
  /** whether each layer also runs backwards; default false */
  flam_bool bidirectional FLAM_DEFAULT(0);
  flam_bool batch_first FLAM_DEFAULT(0); /**< whether n is the first dimension; default false */
  int32_t reserved; /**< 0 */
} flam_rnn_options;

/** Options of `flam_lstm`. */
typedef struct flam_lstm_options {
  size_t struct_size; /**< sizeof(flam_lstm_options) */
  /** two initial states, [layers * directions, n, hidden], the second for cells; the first of the
   *  projected size; default zeros */
  flam_tensor *const *hx FLAM_DEFAULT(NULL);
  size_t n_hx;
  flam_bool has_biases FLAM_DEFAULT(1); /**< whether there are biases; default true (1) */
  int64_t num_layers FLAM_DEFAULT(1); /**< how many layers; default 1 */
  double dropout FLAM_DEFAULT(0); /**< probability of dropping results between layers; default 0 */
  flam_bool train FLAM_DEFAULT(0); /**< whether dropout drops; default false */
  /** whether each layer also runs backwards; default false */
  flam_bool bidirectional FLAM_DEFAULT(0);
  flam_bool batch_first FLAM_DEFAULT(0); /**< whether n is the first dimension; default false */
  int32_t reserved; /**< 0 */
} flam_lstm_options;

/** Long short-term memory over sequences.
 *
 * - `input`: [length, n, features], [n, length, features] where `batch_first`, [length, features],
 *   or packed [sum of lengths, features].
 * - `params`: per layer and direction: w_ih, w_hh, then b_ih, b_hh with biases, then w_hr with
 *   projections.
 * - `batch_sizes`: of a packed `input`, int64 on the cpu: how many sequences have a step; default
 *   none.
 * - `out_output`: [length, n, directions * hidden]; batch and length swapped, or packed, as
 *   `input`.
 * - `out_h`: last states, shape of the initial ones.
 * - `out_c`: last cells.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another number of parameters;
 *   `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INDEX`; `FLAM_ERROR_DTYPE`.
 * - source: Hochreiter and Schmidhuber, 1997, Neural Computation 9.
 */
FLAM_AUTOCAST("lower")
FLAM_TORCH("torch")
FLAM_API flam_status flam_lstm(
    const flam_tensor *input, flam_tensor *const *params FLAM_AFTER(hx), size_t n_params,
    FLAM_NULLABLE const flam_tensor *batch_sizes FLAM_AFTER(batch_first) FLAM_DEFAULT(NULL),
    flam_tensor **out_output, flam_tensor **out_h, flam_tensor **out_c,
    const flam_lstm_options *options);

/** Gated recurrent units over sequences.
 *
 * - `input`: [length, n, features], [n, length, features] where `batch_first`, [length, features],
 *   or packed [sum of lengths, features].
 * - `hx`: initial states, [layers * directions, n, hidden].
 * - `params`: per layer and direction: w_ih, w_hh, then b_ih, b_hh with biases.
 * - `batch_sizes`: of a packed `input`, int64 on the cpu: how many sequences have a step; default
 *   none.
 * - `out_output`: [length, n, directions * hidden]; batch and length swapped, or packed, as
 *   `input`.
 * - `out_h`: last states, shape of the initial ones.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another number of parameters;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Cho et al., 2014, arXiv 1406.1078.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_status flam_gru(
    const flam_tensor *input, const flam_tensor *hx, flam_tensor *const *params, size_t n_params,
    FLAM_NULLABLE const flam_tensor *batch_sizes FLAM_AFTER(batch_first) FLAM_DEFAULT(NULL),
    flam_tensor **out_output, flam_tensor **out_h, const flam_rnn_options *options);

/** Elman network over sequences, with tanh.
 *
 * - `input`: [length, n, features], [n, length, features] where `batch_first`, [length, features],
 *   or packed [sum of lengths, features].
 * - `hx`: initial states, [layers * directions, n, hidden].
 * - `params`: per layer and direction: w_ih, w_hh, then b_ih, b_hh with biases.
 * - `batch_sizes`: of a packed `input`, int64 on the cpu: how many sequences have a step; default
 *   none.
 * - `out_output`: [length, n, directions * hidden]; batch and length swapped, or packed, as
 *   `input`.
 * - `out_h`: last states, shape of the initial ones.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another number of parameters;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_status flam_rnn_tanh(
    const flam_tensor *input, const flam_tensor *hx, flam_tensor *const *params, size_t n_params,
    FLAM_NULLABLE const flam_tensor *batch_sizes FLAM_AFTER(batch_first) FLAM_DEFAULT(NULL),
    flam_tensor **out_output, flam_tensor **out_h, const flam_rnn_options *options);

/** Elman network over sequences, with ReLU.
 *
 * - `input`: [length, n, features], [n, length, features] where `batch_first`, [length, features],
 *   or packed [sum of lengths, features].
 * - `hx`: initial states, [layers * directions, n, hidden].
 * - `params`: per layer and direction: w_ih, w_hh, then b_ih, b_hh with biases.
 * - `batch_sizes`: of a packed `input`, int64 on the cpu: how many sequences have a step; default
 *   none.
 * - `out_output`: [length, n, directions * hidden]; batch and length swapped, or packed, as
 *   `input`.
 * - `out_h`: last states, shape of the initial ones.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for another number of parameters;
 *   `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INDEX` for a dimension out of range.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_status flam_rnn_relu(
    const flam_tensor *input, const flam_tensor *hx, flam_tensor *const *params, size_t n_params,
    FLAM_NULLABLE const flam_tensor *batch_sizes FLAM_AFTER(batch_first) FLAM_DEFAULT(NULL),
    flam_tensor **out_output, flam_tensor **out_h, const flam_rnn_options *options);

/** Biases of one step of a recurrent layer. */
typedef struct flam_cell_options {
  size_t struct_size; /**< sizeof(flam_cell_options) */
  const flam_tensor *b_ih FLAM_DEFAULT(NULL); /**< [gates * hidden]; default none */
  const flam_tensor *b_hh FLAM_DEFAULT(NULL); /**< [gates * hidden]; default none */
} flam_cell_options;

/** One step of long short-term memory.
 *
 * - `input`: [n, features].
 * - `hx`: hidden state and cell, [n, hidden] each.
 * - `w_ih`: [gates * hidden, features].
 * - `w_hh`: [gates * hidden, hidden].
 * - `out_h`: the new hidden state.
 * - `out_c`: the new cell.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_status flam_lstm_cell(
    const flam_tensor *input, flam_tensor *const *hx, size_t n_hx, const flam_tensor *w_ih,
    const flam_tensor *w_hh, flam_tensor **out_h, flam_tensor **out_c,
    const flam_cell_options *options);

/** One step of a gated recurrent unit.
 *
 * - `input`: [n, features].
 * - `hx`: hidden state, [n, hidden].
 * - `w_ih`: [gates * hidden, features].
 * - `w_hh`: [gates * hidden, hidden].
 * - returns: the new hidden state, [n, hidden].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_gru_cell(
    const flam_tensor *input, const flam_tensor *hx, const flam_tensor *w_ih,
    const flam_tensor *w_hh, const flam_cell_options *options);

/** One step of an Elman network with tanh.
 *
 * - `input`: [n, features].
 * - `hx`: hidden state, [n, hidden].
 * - `w_ih`: [gates * hidden, features].
 * - `w_hh`: [gates * hidden, hidden].
 * - returns: the new hidden state, [n, hidden].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE`.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_rnn_tanh_cell(
    const flam_tensor *input, const flam_tensor *hx, const flam_tensor *w_ih,
    const flam_tensor *w_hh, const flam_cell_options *options);

/** One step of an Elman network with ReLU.
 *
 * - `input`: [n, features].
 * - `hx`: hidden state, [n, hidden].
 * - `w_ih`: [gates * hidden, features].
 * - `w_hh`: [gates * hidden, hidden].
 * - returns: the new hidden state, [n, hidden].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DEVICE_MISMATCH`; `FLAM_ERROR_DTYPE`.
 */
FLAM_AUTOCAST("cuda=lower")
FLAM_TORCH("torch")
FLAM_API flam_tensor *flam_rnn_relu_cell(
    const flam_tensor *input, const flam_tensor *hx, const flam_tensor *w_ih,
    const flam_tensor *w_hh, const flam_cell_options *options);

#ifdef __cplusplus
}
#endif
#endif
