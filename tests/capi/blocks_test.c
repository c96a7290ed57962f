/* The larger layers as C sees them: parameters by PyTorch's names, printed forms, results of the
 * right shape, gradients that reach every parameter, errors that name the option. */
#include "check.h"

static flam_tensor *noise(const int64_t *size, size_t n) { return flam_randn(size, n, NULL); }

/* Calls the module, checks the result's shape and that every parameter receives a gradient. */
static void check_forward(flam_module *module, const int64_t *in, size_t n_in, const int64_t *out,
                          size_t n_out, size_t parameters) {
  flam_tensor *x = noise(in, n_in);
  flam_tensor *inputs[1];
  flam_tensor *y, *weights, *product, *total;
  flam_state *state;
  size_t i;
  inputs[0] = x;
  y = flam_module_forward(module, inputs, 1);
  CHECK(y && flam_tensor_dim(y) == (int64_t)n_out);
  for (i = 0; i < n_out; ++i) CHECK(flam_tensor_size(y, (int64_t)i) == out[i]);
  weights = noise(out, n_out);
  product = flam_mul(y, weights);
  total = flam_sum(product, NULL);
  CHECK(flam_backward(total) == FLAM_OK);
  state = flam_module_named_parameters(module, 1);
  CHECK(state && flam_state_size(state) == parameters);
  for (i = 0; i < parameters; ++i) {
    flam_tensor *p = flam_state_tensor(state, i);
    flam_tensor *g = flam_tensor_grad(p);
    CHECK(g != NULL);
    flam_tensor_release(g);
    flam_tensor_release(p);
  }
  flam_state_release(state);
  flam_tensor_release(total);
  flam_tensor_release(product);
  flam_tensor_release(weights);
  flam_tensor_release(y);
  flam_tensor_release(x);
  flam_module_release(module);
}

static void check_text(flam_module *module, const char *text) {
  CHECK(module && strcmp(flam_module_format(module), text) == 0);
}

static void test_convolutions(void) {
  const int64_t in[3] = {2, 4, 9}, out[3] = {2, 6, 9}, k = 3, one = 1, none = 0, two = 2;
  const int64_t image[4] = {1, 4, 5, 5}, grown[4] = {1, 3, 11, 11}, kernel[2] = {3, 3};
  flam_nn_convolution_options convolution_options = FLAM_NN_CONVOLUTION_OPTIONS_INIT;
  convolution_options.padding = &one;
  convolution_options.n_padding = 1;
  convolution_options.groups = 2;
  convolution_options.padding_mode = FLAM_PADDING_REFLECT;
  flam_module *m = flam_nn_convolution(4, 6, &k, 1, &convolution_options);
  check_text(m,
             "Conv1d(4, 6, kernel_size=(3,), stride=(1,), padding=(1,), groups=2, "
             "padding_mode=reflect)");
  check_forward(m, in, 3, out, 3, 2);
  flam_nn_convolution_options convolution_options_2 = FLAM_NN_CONVOLUTION_OPTIONS_INIT;
  convolution_options_2.stride = &two;
  convolution_options_2.n_stride = 1;
  convolution_options_2.bias = 0;
  convolution_options_2.transposed = 1;
  m = flam_nn_convolution(4, 3, kernel, 2, &convolution_options_2);
  check_text(m, "ConvTranspose2d(4, 3, kernel_size=(3, 3), stride=(2, 2), bias=False)");
  check_forward(m, image, 4, grown, 4, 1);
  flam_nn_convolution_options convolution_options_3 = FLAM_NN_CONVOLUTION_OPTIONS_INIT;
  convolution_options_3.stride = &none;
  convolution_options_3.n_stride = 1;
  CHECK(!flam_nn_convolution(4, 3, &k, 1, &convolution_options_3));
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "stride must be at least 1");
}

static void test_norms(void) {
  const int64_t in[3] = {2, 4, 6}, six = 6;
  flam_module *m = flam_nn_layer_norm(&six, 1, NULL);
  check_text(m, "LayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)");
  check_forward(m, in, 3, in, 3, 2);
  m = flam_nn_rms_norm(&six, 1, NULL);
  check_text(m, "RMSNorm((6,), eps=None, elementwise_affine=True)");
  check_forward(m, in, 3, in, 3, 1);
  check_forward(flam_nn_group_norm(2, 4, NULL), in, 3, in, 3, 2);
  flam_nn_instance_norm_options instance_norm_options = FLAM_NN_INSTANCE_NORM_OPTIONS_INIT;
  instance_norm_options.affine = 1;
  check_forward(flam_nn_instance_norm(4, 1, &instance_norm_options), in, 3, in, 3, 2);
  CHECK(!flam_nn_group_norm(3, 4, NULL));
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "divisible by num_groups");
}

static void test_recurrence(void) {
  const int64_t in[3] = {5, 2, 4}, out[3] = {5, 2, 6};
  flam_nn_recurrent_options recurrent_options = FLAM_NN_RECURRENT_OPTIONS_INIT;
  recurrent_options.num_layers = 2;
  recurrent_options.bidirectional = 1;
  flam_module *m = flam_nn_recurrent(FLAM_RECURRENT_LSTM, 4, 3, &recurrent_options);
  flam_tensor *w;
  check_text(m, "LSTM(4, 3, num_layers=2, bidirectional=True)");
  w = flam_module_parameter(m, "weight_hh_l1_reverse");
  CHECK(w && flam_tensor_size(w, 0) == 12);
  flam_tensor_release(w);
  check_forward(m, in, 3, out, 3, 16);
  check_forward(flam_nn_recurrent(FLAM_RECURRENT_GRU, 4, 6, NULL), in, 3, out, 3, 4);
  flam_nn_recurrent_options recurrent_options_2 = FLAM_NN_RECURRENT_OPTIONS_INIT;
  recurrent_options_2.bias = 0;
  check_forward(flam_nn_recurrent(FLAM_RECURRENT_RNN_TANH, 4, 6, &recurrent_options_2), in, 3, out,
                3, 2);
  flam_nn_recurrent_options recurrent_options_3 = FLAM_NN_RECURRENT_OPTIONS_INIT;
  recurrent_options_3.proj_size = 2;
  CHECK(!flam_nn_recurrent(FLAM_RECURRENT_GRU, 4, 6, &recurrent_options_3));
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "proj_size");
}

static void test_attention(void) {
  const int64_t in[3] = {2, 5, 6};
  flam_nn_multihead_attention_options attention_options = FLAM_NN_MULTIHEAD_ATTENTION_OPTIONS_INIT;
  attention_options.batch_first = 1;
  flam_module *m = flam_nn_multihead_attention(6, 2, &attention_options);
  check_forward(m, in, 3, in, 3, 4);
  flam_nn_transformer_layer_options encoder_options = FLAM_NN_TRANSFORMER_LAYER_OPTIONS_INIT;
  encoder_options.dim_feedforward = 8;
  encoder_options.dropout = 0;
  encoder_options.gelu = 1;
  encoder_options.batch_first = 1;
  encoder_options.norm_first = 1;
  m = flam_nn_transformer_encoder_layer(6, 3, &encoder_options);
  CHECK(flam_module_child_count(m) == 8);
  check_forward(m, in, 3, in, 3, 12);
  CHECK(!flam_nn_multihead_attention(6, 4, &attention_options));
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "divisible by num_heads");
}

static void test_tables(void) {
  const int64_t size[2] = {2, 3}, row = -1;
  flam_nn_embedding_options embedding_options = FLAM_NN_EMBEDDING_OPTIONS_INIT;
  embedding_options.padding_idx = &row;
  flam_module *m = flam_nn_embedding(5, 4, &embedding_options);
  flam_creation_options zeros_options = FLAM_CREATION_OPTIONS_INIT;
  zeros_options.dtype = FLAM_I64;
  flam_tensor *at = flam_zeros(size, 2, &zeros_options), *y;
  check_text(m, "Embedding(5, 4, padding_idx=4)");
  y = flam_module_call(m, at);
  CHECK(y && flam_tensor_dim(y) == 3 && flam_tensor_size(y, 2) == 4);
  flam_tensor_release(y);
  flam_tensor_release(at);
  flam_module_release(m);
}

int main(void) {
  load();
  test_convolutions();
  test_norms();
  test_recurrence();
  test_attention();
  test_tables();
  return 0;
}
