/* The module tree as C sees it: names and paths, state dicts, modes, a forward function and hooks
 * written in C, and `drop` called exactly once whatever happens. */
#include "pairs.h"

static int drops;
static void count_drop(void *user) {
  (void)user;
  ++drops;
}

/* y = factor * x, with the factor as `user`. */
static flam_status scale(void *user, flam_tensor *const *inputs, size_t n_inputs,
                         flam_tensor **out) {
  CHECK(n_inputs == 1);
  *out = flam_mul_f64(inputs[0], *(double *)user);
  return FLAM_OK;
}

static flam_status refuse(void *user, flam_tensor *const *inputs, size_t n_inputs,
                          flam_tensor **out) {
  (void)inputs, (void)n_inputs, (void)out;
  flam_error_set("forward refused", user, NULL);
  return FLAM_ERROR_CALLBACK;
}

static flam_status forget(void *user, flam_tensor *const *inputs, size_t n_inputs,
                          flam_tensor **out) {
  (void)user, (void)inputs, (void)n_inputs, (void)out;
  return FLAM_OK;
}

typedef flam_status (*forward_function)(void *, flam_tensor *const *, size_t, flam_tensor **);

static flam_module *module_of(forward_function forward, void *user) {
  flam_module_vtable table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.user = user;
  table.forward = forward;
  table.drop = count_drop;
  return flam_module_new("Scale", &table);
}

/* root { a: parameter, steps: buffer, scratch: passing buffer, inner { b: parameter } } */
static flam_module *tree(void) {
  flam_module *root = flam_module_new("Root", NULL), *inner = flam_module_new("Inner", NULL);
  flam_tensor *a = vector(1, 2), *b = vector(3, 4), *steps = vector(5, 6), *scratch = vector(7, 8);
  CHECK(flam_tensor_set_requires_grad(a, 1) == FLAM_OK &&
        flam_tensor_set_requires_grad(b, 1) == FLAM_OK);
  CHECK(flam_module_set_parameter(root, "a", a) == FLAM_OK);
  CHECK(flam_module_set_parameter(inner, "b", b) == FLAM_OK);
  CHECK(flam_module_set_buffer(root, "steps", steps, 1) == FLAM_OK);
  CHECK(flam_module_set_buffer(root, "scratch", scratch, 0) == FLAM_OK);
  CHECK(flam_module_set_child(root, "inner", inner) == FLAM_OK);
  flam_module_release(inner);
  flam_tensor_release(a);
  flam_tensor_release(b);
  flam_tensor_release(steps);
  flam_tensor_release(scratch);
  return root;
}

static void test_names_and_paths(void) {
  flam_module *root = tree(), *inner = flam_module_child(root, "inner");
  flam_tensor *b = flam_module_parameter(root, "inner.b"),
              *same = flam_module_parameter(inner, "b");
  flam_state *named = flam_module_named_parameters(root, 1),
             *own = flam_module_named_parameters(root, 0);
  CHECK(b && b == same && equals(b, 3, 4));
  CHECK(strcmp(flam_module_type(inner), "Inner") == 0 && flam_module_child_count(root) == 1);
  CHECK(strcmp(flam_module_path(inner), "inner") == 0 && flam_module_path(root)[0] == '\0');
  CHECK(strcmp(flam_module_child_name(root, 0), "inner") == 0 &&
        flam_module_child_name(root, 1) == NULL);
  CHECK(flam_state_size(named) == 2 && strcmp(flam_state_name(named, 0), "a") == 0);
  CHECK(strcmp(flam_state_name(named, 1), "inner.b") == 0 && flam_state_size(own) == 1);
  CHECK(flam_module_numel(root) == 4);
  CHECK(flam_module_parameter(root, "inner.c") == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "c");
  CHECK(flam_module_set_parameter(root, "inner", b) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "inner");
  CHECK(flam_module_set_parameter(root, "with.dot", b) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "with.dot");
  CHECK(flam_module_set_child(inner, "root", root) ==
        FLAM_ERROR_INVALID_ARGUMENT); /* would be a cycle */
  flam_error_clear();
  CHECK(flam_module_remove(root, "a") == FLAM_OK && flam_module_remove(root, "a") == FLAM_OK);
  CHECK(flam_module_numel(root) == 2);
  flam_state_release(named);
  flam_state_release(own);
  flam_tensor_release(b);
  flam_tensor_release(same);
  flam_module_release(inner);
  flam_module_release(root);
}

static void test_a_name_owns_nothing(void) {
  const int64_t size[] = {3};
  flam_creation_options double_precision = FLAM_CREATION_OPTIONS_INIT;
  double_precision.dtype = FLAM_F64;
  flam_module *root = flam_module_new("Root", NULL), *inner = flam_module_new("Inner", NULL);
  flam_tensor *w = vector(1, 2), *three = flam_ones(size, 1, &double_precision),
              *table = flam_unsqueeze(w, 0);
  CHECK(flam_module_set_child(root, "inner", inner) == FLAM_OK);
  CHECK(flam_module_name_parameter(inner, "w", table) == FLAM_OK);
  CHECK(flam_tensor_use_count(table) == 1 && flam_module_numel(root) == 0);
  CHECK(flam_module_parameter(root, "inner.w") == NULL);
  flam_error_clear();
  CHECK(flam_linear(three, table, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_SHAPE, "parameter w of \"inner\" (Inner)");
  CHECK(flam_module_remove(inner, "w") == FLAM_OK && flam_linear(three, table, NULL) == NULL);
  CHECK(strstr(flam_error_message(), "Inner") == NULL);
  flam_error_clear();
  CHECK(flam_module_name_parameter(inner, "", table) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  for (int i = 0; i < 100; ++i) { /* a tensor takes its name along, whatever has its place next */
    flam_tensor *named = flam_unsqueeze(w, 0);
    CHECK(flam_module_name_parameter(inner, "w", named) == FLAM_OK);
    flam_tensor_release(named);
    flam_tensor *next = flam_unsqueeze(w, 0);
    CHECK(flam_linear(three, next, NULL) == NULL && !strstr(flam_error_message(), "Inner"));
    flam_error_clear();
    flam_tensor_release(next);
  }
  flam_tensor *const all[] = {w, three, table};
  for (int i = 0; i < 3; ++i) flam_tensor_release(all[i]);
  flam_module_release(inner);
  flam_module_release(root);
}

static void test_state_dicts(void) {
  flam_module *from = tree(), *to = tree();
  flam_state *state = flam_module_state_dict(from), *odd = flam_state_new();
  flam_tensor *a = flam_module_parameter(to, "a"), *fresh = vector(-1, -2),
              *values = flam_state_get(state, "a");
  CHECK(flam_state_size(state) == 3); /* the passing buffer is not saved */
  CHECK(!flam_tensor_requires_grad(values) && flam_state_set(state, "a", fresh) == FLAM_OK);
  CHECK(flam_module_load_state_dict(to, state, 1) == FLAM_OK && equals(a, -1, -2));
  CHECK(flam_state_set(odd, "a", values) == FLAM_OK && flam_state_set(odd, "z", values) == FLAM_OK);
  CHECK(flam_module_load_state_dict(to, odd, 1) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(flam_error_message(), "inner.b") && strstr(flam_error_message(), "\"z\""));
  flam_error_clear();
  CHECK(equals(a, -1, -2)); /* nothing was written */
  CHECK(flam_module_load_state_dict(to, odd, 0) == FLAM_OK && equals(a, 1, 2));
  CHECK(flam_state_get(odd, "y") == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "\"y\"");
  flam_tensor_release(a);
  flam_tensor_release(fresh);
  flam_tensor_release(values);
  flam_state_release(state);
  flam_state_release(odd);
  flam_module_release(from);
  flam_module_release(to);
}

static void test_modes_and_gradients(void) {
  flam_module *root = tree(), *inner = flam_module_child(root, "inner");
  flam_tensor *a = flam_module_parameter(root, "a"), *sum = flam_sum(a, NULL), *grad;
  CHECK(flam_module_is_training(root) && flam_module_is_training(inner));
  CHECK(flam_module_train(root, 0) == FLAM_OK && !flam_module_is_training(inner));
  CHECK(flam_backward(sum) == FLAM_OK);
  grad = flam_tensor_grad(a);
  CHECK(equals(grad, 1, 1));
  CHECK(flam_module_zero_grad(root, 1) == FLAM_OK && flam_tensor_grad(a) == NULL &&
        flam_error_code() == FLAM_OK);
  CHECK(flam_module_set_requires_grad(root, 0) == FLAM_OK && !flam_tensor_requires_grad(a));
  CHECK(flam_module_to(root, FLAM_F32, 0, NULL) == FLAM_OK && flam_tensor_dtype(a) == FLAM_F32);
  CHECK(flam_tensor_data_ptr(a) !=
        NULL); /* the handle from before the move is the parameter still */
  flam_tensor_release(grad);
  flam_tensor_release(sum);
  flam_tensor_release(a);
  flam_module_release(inner);
  flam_module_release(root);
}

static void test_a_forward_in_c(void) {
  double factor = 3;
  flam_module *module = module_of(scale, &factor), *failing = module_of(refuse, &factor);
  flam_module *silent = module_of(forget, &factor), *plain = flam_module_new("Plain", NULL);
  flam_tensor *x = vector(1, 2), *y = flam_module_call(module, x);
  drops = 0;
  CHECK(equals(y, 3, 6));
  CHECK(flam_module_call(failing, x) == NULL && flam_error_payload() == &factor);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "forward refused");
  CHECK(flam_module_call(silent, x) == NULL);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "returned no tensor");
  CHECK(flam_module_call(plain, x) == NULL);
  CHECK(flam_error_code() != FLAM_OK && strstr(flam_error_message(), "Plain"));
  flam_error_clear();
  CHECK(flam_module_call(module, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "input is NULL");
  flam_module_retain(module);
  flam_module_release(module);
  CHECK(drops == 0);
  flam_module_release(module);
  flam_module_release(failing);
  flam_module_release(silent);
  flam_module_release(plain);
  CHECK(drops == 3);
  flam_tensor_release(x);
  flam_tensor_release(y);
}

/* Before the forward: doubles the input. After: keeps the output. */
static flam_status double_input(void *user, const flam_tensor *input, const flam_tensor *output,
                                flam_tensor **out) {
  ++*(int *)user;
  if (!output) *out = flam_add(input, input);
  return FLAM_OK;
}

static void test_hooks(void) {
  double factor = 3;
  int runs = 0;
  flam_hook *before, *after;
  flam_module *module = module_of(scale, &factor);
  flam_module_hook_callback hook;
  flam_tensor *x = vector(1, 2), *y;
  drops = 0;
  hook.struct_size = sizeof hook;
  hook.user = &runs;
  hook.call = double_input;
  hook.drop = count_drop;
  before = flam_module_register_hook(module, FLAM_HOOK_FORWARD_PRE, &hook);
  after = flam_module_register_hook(module, FLAM_HOOK_FORWARD, &hook);
  CHECK(before && after);
  y = flam_module_call(module, x);
  CHECK(equals(y, 6, 12) && runs == 2 && drops == 0);
  flam_tensor_release(y);
  flam_hook_remove(before);
  CHECK(drops == 1);
  flam_hook_remove(before);
  CHECK(drops == 1);
  y = flam_module_call(module, x);
  CHECK(equals(y, 3, 6) && runs == 3);
  CHECK(!flam_module_register_hook(module, 77, &hook) && drops == 2);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "77");
  flam_hook_release(before);
  flam_hook_release(after);
  CHECK(drops == 2);
  flam_module_release(module); /* the hook that is left goes with the module */
  CHECK(drops == 4);
  flam_tensor_release(x);
  flam_tensor_release(y);
}

static void test_refused_vtables_are_dropped(void) {
  flam_module_vtable table;
  memset(&table, 0, sizeof table);
  table.struct_size = 3; /* smaller than any version: not even drop can be read */
  table.drop = count_drop;
  drops = 0;
  CHECK(flam_module_new("Odd", &table) == NULL && drops == 0);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "struct_size 3");
  table.struct_size = sizeof table;
  CHECK(flam_module_new(NULL, &table) == NULL && drops == 1);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "type is NULL");
}

/* An error names the innermost module that it comes from, whatever kind of module that is. */
static void test_errors_name_the_module(void) {
  const flam_scope frame = flam_frame_push();
  flam_module *outer = flam_nn_sequential(), *inner = flam_nn_sequential();
  flam_tensor *x = vector(1, 2);
  const int64_t three[2] = {3, 3};
  CHECK(flam_module_append(inner, flam_nn_dropout(0)) == FLAM_OK);
  CHECK(flam_module_append(inner, module_of(refuse, NULL)) == FLAM_OK);
  CHECK(flam_module_append(outer, inner) == FLAM_OK);
  CHECK(flam_module_call(outer, x) == NULL);
  CHECK(strstr(flam_error_message(), "forward refused"));
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "\n  in \"0.1\" (Scale)");
  CHECK(flam_module_call(inner, x) == NULL); /* paths are those of the whole tree */
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "\n  in \"0.1\" (Scale)");
  inner = flam_nn_sequential();
  CHECK(flam_module_append(inner, flam_nn_convolution(1, 1, three, 2, NULL)) == FLAM_OK);
  CHECK(flam_module_call(inner, x) == NULL);
  CHECK(strstr(flam_error_message(), "\"0\" (Conv2d)"));
  flam_error_clear();
  CHECK(flam_neg(NULL) == NULL && !strstr(flam_error_message(), "(Conv2d)"));
  flam_error_clear();
  { /* a module whose forward the host language runs */
    flam_scope scope = flam_module_push(inner);
    CHECK(flam_bincount(x, NULL, 0) == NULL);
    CHECK_ERROR(FLAM_ERROR_DTYPE, "\n  in Sequential");
    CHECK(flam_scope_pop(scope) == FLAM_OK);
  }
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

/* Operations as modules: their options are held, an optional tensor is a buffer, `training` is the
 * mode, and a call counts its operands. */
static void test_operations_as_modules(void) {
  const flam_scope frame = flam_frame_push();
  flam_module *net = flam_nn_sequential(), *loss, *drop = flam_nn_dropout(1);
  flam_tensor *x = vector(1, -2), *weight = vector(1, 2), *y, *pair[2];
  flam_cross_entropy_options entropy = FLAM_CROSS_ENTROPY_OPTIONS_INIT;
  flam_state *state;
  double found = 0, wanted = 1;
  flam_module_append(net, flam_nn_leaky_relu(0.5));
  flam_module_append(net, flam_nn_softmax(0, FLAM_DTYPE_NONE));
  flam_module_append(net, flam_nn_max_pool1d(NULL, 0, NULL));
  CHECK(flam_module_call(net, x) == NULL);
  CHECK(strstr(flam_error_message(), "\"2\" (MaxPool1d)"));
  flam_error_clear();
  y = flam_module_call(drop, x);
  CHECK(equals(y, 0, 0));
  CHECK(flam_module_train(drop, 0) == FLAM_OK);
  y = flam_module_call(drop, x);
  CHECK(equals(y, 1, -2));
  entropy.reduction = FLAM_REDUCTION_SUM;
  loss = flam_nn_cross_entropy_loss(weight, &entropy);
  state = flam_module_state_dict(loss);
  CHECK(flam_state_size(state) == 1 && strcmp(flam_state_name(state, 0), "weight") == 0);
  CHECK(strcmp(flam_module_format(loss), "CrossEntropyLoss()") == 0);
  CHECK(flam_module_call(loss, x) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "CrossEntropyLoss takes input, target; got 1 tensor");
  pair[0] = x;
  pair[1] = vector(0.25, 0.75);
  CHECK(flam_tensor_item_f64(flam_module_forward(loss, pair, 2), &found) == FLAM_OK);
  y = flam_cross_entropy(x, pair[1], weight, &entropy);
  CHECK(flam_tensor_item_f64(y, &wanted) == FLAM_OK && found == wanted);
  entropy.label_smoothing = 2;
  CHECK(flam_nn_cross_entropy_loss(weight, &entropy) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "label_smoothing must be in [0, 1], got 2");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

static flam_module *transformer(void) {
  flam_nn_transformer_options options = FLAM_NN_TRANSFORMER_OPTIONS_INIT;
  flam_module *net;
  options.dtype = FLAM_F64;
  net = flam_nn_transformer(4, 1, &options);
  CHECK(flam_module_train(net, 0) == FLAM_OK);
  return net;
}

/* A causal mask of the target, with none of the source. */
static void test_optional_inputs_are_left_out_by_place(void) {
  const flam_scope frame = flam_frame_push();
  const int64_t shape[2] = {2, 4}, square[2] = {2, 2};
  const double open[4] = {0, 0, 0, 0}, causal[4] = {0, -100, 0, 0};
  const double words[8] = {1, 2, -1, 3, 4, -2, 0, 1};
  flam_module *net = transformer();
  flam_tensor *x = flam_tensor_from_data(words, shape, 2, FLAM_F64, NULL);
  flam_tensor *mask = flam_tensor_from_data(causal, square, 2, FLAM_F64, NULL);
  flam_tensor *inputs[4], *found, *wanted, *seen;
  flam_bool close = 0;
  inputs[0] = inputs[1] = x;
  inputs[2] = NULL;
  inputs[3] = mask;
  found = flam_module_forward(net, inputs, 4);
  inputs[2] = flam_tensor_from_data(open, square, 2, FLAM_F64, NULL);
  wanted = flam_module_forward(net, inputs, 4);
  CHECK(flam_allclose(found, wanted, &close, NULL) == FLAM_OK && close);
  seen = flam_module_forward(net, inputs, 2);
  CHECK(flam_allclose(found, seen, &close, NULL) == FLAM_OK && !close);
  inputs[1] = NULL;
  CHECK(flam_module_forward(net, inputs, 4) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "Transformer: tgt is no tensor");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

/* Refused where the layer is made, not where it first runs. */
static void test_layers_refuse_options_out_of_range(void) {
  const int64_t sides[1] = {1};
  flam_nn_pad_options pad = FLAM_NN_PAD_OPTIONS_INIT;
  flam_nn_embedding_bag_options bag = FLAM_NN_EMBEDDING_BAG_OPTIONS_INIT;
  flam_nn_rrelu_options slopes = FLAM_NN_RRELU_OPTIONS_INIT;
  pad.mode = 99;
  CHECK(flam_nn_pad(2, sides, 1, &pad) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_padding");
  bag.mode = 99;
  CHECK(flam_nn_embedding_bag(3, 2, &bag) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_bag");
  slopes.lower = 0.5;
  CHECK(flam_nn_rrelu(&slopes) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "RReLU: lower (0.5) must not be greater than upper");
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_names_and_paths();
  test_a_name_owns_nothing();
  test_errors_name_the_module();
  test_operations_as_modules();
  test_optional_inputs_are_left_out_by_place();
  test_layers_refuse_options_out_of_range();
  test_state_dicts();
  test_modes_and_gradients();
  test_a_forward_in_c();
  test_hooks();
  test_refused_vtables_are_dropped();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
