/* What small work costs through the C API: one addition, and one training step of the small network
 * that beginners' programs train (16-64-1, batch 64, mean squared error, Adam). Prints one line per
 * row: its name and nanoseconds.
 *
 *     speed [seconds per row]
 *
 * tests/bench/torch/speed.cc and speed_rows.py measure the same rows of libtorch, PyTorch and
 * flambeau in Python; tests/bench/speed.py runs them alternately.
 */
#define _POSIX_C_SOURCE 200809L
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include "row_time.h"

#define BATCH 64
#define INPUTS 16
#define HIDDEN 64

static flam_tensor *a, *b, *x, *y, *params[4];
static flam_module *model;
static flam_optimizer *optimizer, *functional_optimizer;

static void check(void) {
  if (flam_error_code() == FLAM_OK) return;
  fprintf(stderr, "%s\n", flam_error_message());
  exit(1);
}

static void measured(const char *name, void (*call)(void), double seconds) {
  call();
  check();
  row(name, call, seconds);
  check();
}

static flam_tensor *randn(int64_t rows, int64_t columns) {
  const int64_t size[2] = {rows, columns};
  return flam_randn(size, 2, NULL);
}

static void add(void) { flam_tensor_release(flam_add(a, b)); }

static void learn(flam_tensor *prediction, flam_optimizer *with) {
  flam_tensor *loss = flam_mse_loss(prediction, y, FLAM_REDUCTION_MEAN);
  flam_optimizer_zero_grad(with, 1);
  flam_backward(loss);
  flam_optimizer_step(with);
  flam_tensor_release(loss);
  flam_tensor_release(prediction);
}

static void mlp(void) { learn(flam_module_call(model, x), optimizer); }

static void mlp_functional(void) {
  flam_tensor *hidden = flam_linear(x, params[0], params[1]), *active = flam_relu(hidden);
  learn(flam_linear(active, params[2], params[3]), functional_optimizer);
  flam_tensor_release(hidden);
  flam_tensor_release(active);
}

static flam_module *new_model(void) {
  flam_module *m = flam_nn_sequential(), *parts[3];
  int i;
  parts[0] = flam_nn_linear(INPUTS, HIDDEN, NULL);
  parts[1] = flam_nn_relu();
  parts[2] = flam_nn_linear(HIDDEN, 1, NULL);
  for (i = 0; i < 3; ++i) {
    flam_module_append(m, parts[i]);
    flam_module_release(parts[i]);
  }
  return m;
}

/* Adam over the parameters of a model, which `into` then holds. */
static flam_optimizer *adam(const flam_module *of, flam_tensor *into[4]) {
  static const char *const names[4] = {"0.weight", "0.bias", "2.weight", "2.bias"};
  int i;
  for (i = 0; i < 4; ++i) into[i] = flam_module_parameter(of, names[i]);
  return flam_adam_new(into, 4, NULL);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  const char *problem = flam_library_load(NULL);
  flam_module *other;
  flam_tensor *own[4];
  const int64_t one = 1;
  int i;
  if (problem) {
    fprintf(stderr, "%s\n", problem);
    return 1;
  }
  flam_set_num_threads(1);
  a = flam_ones(&one, 1, NULL);
  b = flam_ones(&one, 1, NULL);
  measured("add", add, seconds);
  flam_tensor_release(a);
  flam_creation_options ones_options = FLAM_CREATION_OPTIONS_INIT;
  ones_options.requires_grad = 1;
  a = flam_ones(&one, 1, &ones_options);
  measured("add, autograd", add, seconds);

  x = randn(BATCH, INPUTS);
  y = randn(BATCH, 1);
  model = new_model();
  optimizer = adam(model, own);
  other = new_model();
  functional_optimizer = adam(other, params);
  measured("MLP step, modules", mlp, seconds);
  measured("MLP step, functions", mlp_functional, seconds);

  for (i = 0; i < 4; ++i) {
    flam_tensor_release(own[i]);
    flam_tensor_release(params[i]);
  }
  flam_optimizer_release(optimizer);
  flam_optimizer_release(functional_optimizer);
  flam_module_release(model);
  flam_module_release(other);
  flam_tensor_release(a);
  flam_tensor_release(b);
  flam_tensor_release(x);
  flam_tensor_release(y);
  return 0;
}
