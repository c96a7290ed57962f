/* FLAMBEAU_CHECK=handles: handles that were released, are only lent, are of another type or of no
 * library at all fail by name, with where they were made and released; right ones pass. */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>

#include "pairs.h"

#define CHECK_FAULT(first, second)                         \
  do {                                                     \
    CHECK(strstr(flam_error_message(), (second)) != NULL); \
    CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, first);       \
  } while (0)

static void test_released(void) {
  flam_tensor *x = vector(1, 2), *y = vector(3, 4), *z;
  flam_tensor *list[2];
  double value;
  flam_tensor_release(x);
  z = vector(5, 6); /* does not get x's address: its memory stays out of use */
  CHECK(z != x && flam_add(y, x) == NULL);
  CHECK(strstr(flam_error_message(), ", made by flam_tensor_from_data at "));
  CHECK_FAULT("flam_add: other is a flam_tensor that was released", "released by flam_tensor_rel");
  CHECK(flam_tensor_item_f64(x, &value) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  CHECK(flam_tensor_numel(x) == 0); /* what cannot fail says so, too */
  CHECK_FAULT("flam_tensor_numel: tensor is a flam_tensor that was released", "+0x");
  flam_tensor_release(x);
  CHECK_FAULT("flam_tensor_release: tensor is a flam_tensor that was released", "released by");
  list[0] = y;
  list[1] = x;
  CHECK(flam_cat(list, 2, 0) == NULL);
  CHECK_FAULT("flam_cat: tensors[1] is a flam_tensor that was released", "f64[2]");
  CHECK(flam_add_(x, y) == NULL);
  CHECK_FAULT("flam_add_: input", "released");
  flam_tensor_release(y);
  flam_tensor_release(z);
}

static void test_released_by_a_frame(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = vector(1, 2), *y = flam_neg(x);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  CHECK(flam_neg(y) == NULL);
  CHECK_FAULT("flam_neg: input", "made by flam_neg at ");
  CHECK(flam_neg(x) == NULL);
  CHECK_FAULT("flam_neg: input", "released by flam_frame_pop at ");
}

static void test_other_types_and_foreign_addresses(void) {
  flam_tensor *x = vector(1, 2);
  flam_module *m = flam_nn_linear(1, 1, NULL);
  int own = 0;
  CHECK(flam_module_call((flam_module *)(void *)x, x) == NULL);
  CHECK_FAULT("flam_module_call: module is no flam_module", "tensor f64[2] on ");
  CHECK(flam_neg((flam_tensor *)(void *)m) == NULL);
  CHECK_FAULT("flam_neg: input is no flam_tensor", "module Linear, made by flam_nn_linear");
  CHECK(flam_neg((flam_tensor *)(void *)&own) == NULL);
  CHECK(strstr(flam_error_message(), ", is no") == NULL);
  CHECK_FAULT("flam_neg: input 0x", "is no flam_tensor of this library");
  flam_module_release(m);
  flam_tensor_release(x);
}

static const flam_tensor *lent;

static flam_status on_gradient(void *user, const flam_tensor *grad, flam_tensor **out) {
  (void)user;
  lent = grad;
  flam_tensor_release((flam_tensor *)grad);
  CHECK_FAULT("flam_tensor_release: tensor is a flam_tensor that is only lent", "lends it");
  *out = flam_neg(grad);
  return *out ? FLAM_OK : FLAM_ERROR_CALLBACK;
}

static void test_lent(void) {
  flam_hook_callback hook;
  flam_tensor *x = vector(1, 2), *y, *grad;
  flam_hook *kept;
  memset(&hook, 0, sizeof hook);
  hook.struct_size = sizeof hook;
  hook.call = on_gradient;
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  kept = flam_tensor_register_hook(x, &hook);
  y = flam_sum(x, NULL);
  CHECK(flam_backward(y) == FLAM_OK);
  grad = flam_tensor_grad(x);
  CHECK(equals(grad, -1, -1));
  CHECK(flam_neg(lent) == NULL);
  CHECK_FAULT("flam_neg: input", "released by the end of the callback");
  flam_tensor_release(grad);
  flam_tensor_release(y);
  flam_tensor_release(x);
  flam_hook_release(kept);
}

/* Those in options, single and in lists, as those among the operands. */
static void test_options(void) {
  flam_autograd_backward_options options = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT;
  flam_tensor *x = vector(1, 2), *gone = vector(3, 4), *y;
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  y = flam_neg(x);
  flam_tensor_release(gone);
  options.grad_tensors = &gone;
  options.n_grad_tensors = 1;
  CHECK(flam_autograd_backward(&y, 1, &options) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_FAULT("flam_autograd_backward: options->grad_tensors[0] is a flam_tensor that was released",
              "made by flam_tensor_from_data");
  options.struct_size = offsetof(flam_autograd_backward_options, grad_tensors); /* an older one */
  CHECK(flam_autograd_backward(&y, 1, &options) != FLAM_OK);
  CHECK(strstr(flam_error_message(), "released") == NULL);
  flam_error_clear();
  {
    flam_random_options random = FLAM_RANDOM_OPTIONS_INIT;
    const int64_t size[1] = {2};
    random.generator = flam_generator_new(0);
    flam_generator_release(random.generator);
    CHECK(flam_rand(size, 1, &random) == NULL);
    CHECK_FAULT("flam_rand: options->generator is a flam_generator that was released", "made by");
    random.generator = (flam_generator *)(void *)y;
    CHECK(flam_rand(size, 1, &random) == NULL);
    CHECK_FAULT("flam_rand: options->generator is no flam_generator", "tensor f64[2]");
  }
  flam_tensor_release(x);
  flam_tensor_release(y);
}

/* What callbacks return: a lent handle is not theirs to give, one that was released is nobody's. */
static enum { lent_one, released_one, module_one } gives;

static flam_status give_a_wrong_one(void *user, flam_tensor *const *inputs, size_t n_inputs,
                                    flam_tensor **out) {
  (void)n_inputs;
  *out = gives == module_one ? (flam_tensor *)user : flam_neg(inputs[0]);
  if (gives == released_one) flam_tensor_release(*out);
  if (gives == lent_one) *out = inputs[0];
  return FLAM_OK;
}

static flam_status give_wrong_gradients(void *user, flam_tensor *const *grads, size_t n_grads,
                                        flam_tensor **out_grads, size_t n_out_grads) {
  (void)user, (void)n_grads, (void)n_out_grads;
  out_grads[0] = grads[0];
  out_grads[1] = flam_neg(grads[0]);
  return FLAM_OK;
}

static flam_status give_a_wrong_list(void *user, const int64_t *indices, size_t n_indices,
                                     flam_tensor_list **out_batch, void **out_item) {
  (void)user, (void)indices, (void)n_indices, (void)out_item;
  *out_batch = (flam_tensor_list *)(void *)vector(1, 2);
  return FLAM_OK;
}

static int64_t four(void *user) {
  (void)user;
  return 4;
}

static void test_results_of_callbacks(void) {
  flam_module_vtable forward = {sizeof(flam_module_vtable), NULL, give_a_wrong_one, NULL};
  flam_dataset_vtable data = {sizeof(flam_dataset_vtable), NULL, four, NULL, NULL, NULL};
  flam_function function;
  flam_tensor *x = vector(1, 2), *inputs[2];
  flam_module *m = flam_nn_sequential(), *wrong, *net;
  const flam_scope frame = flam_frame_push();
  forward.user = m;
  wrong = flam_module_new("Wrong", &forward);
  gives = lent_one;
  net = flam_nn_sequential(); /* hands on what only the library holds */
  CHECK(flam_module_append(net, flam_nn_relu()) == FLAM_OK);
  CHECK(flam_module_append(net, wrong) == FLAM_OK);
  CHECK(flam_module_call(net, x) == NULL);
  CHECK_FAULT("module forward: the result is a flam_tensor that is only lent", "f64[2]");
  gives = released_one;
  CHECK(flam_module_call(wrong, x) == NULL);
  CHECK_FAULT("module forward: the result is a flam_tensor that was released", "made by flam_neg");
  gives = module_one;
  CHECK(flam_module_call(wrong, x) == NULL);
  CHECK_FAULT("module forward: the result is no flam_tensor", "made by flam_nn_sequential");

  memset(&function, 0, sizeof function);
  function.struct_size = sizeof function;
  function.name = "Wrong";
  function.backward = give_wrong_gradients;
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  inputs[0] = inputs[1] = x;
  {
    flam_tensor *raw = vector(5, 5);
    flam_tensor_list *made = flam_function_record(&function, inputs, 2, &raw, 1, NULL);
    CHECK(flam_backward(flam_sum(flam_tensor_list_get(made, 0), NULL)) != FLAM_OK);
    CHECK_FAULT("Wrong: the result is a flam_tensor that is only lent", "lends it");
  }
  data.fetch = give_a_wrong_list;
  {
    flam_loader *loader = flam_loader_new(flam_dataset_new(&data), NULL);
    CHECK(flam_loader_next(loader, NULL, NULL) == FLAM_ERROR_INVALID_ARGUMENT);
    CHECK_FAULT("data set fetch: the batch is no flam_tensor_list", "tensor f64[2]");
  }
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  flam_module_release(m);
  flam_tensor_release(x);
}

static void test_right_handles_pass(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = flam_relu_(flam_neg(vector(-1, 2))), *same = flam_tensor_retain(x);
  flam_tensor_list *list = flam_tensor_list_new(&x, 1);
  flam_tensor *first = flam_tensor_list_get(list, 0);
  CHECK(first == x && equals(flam_add(flam_tensor_list_data(list)[0], first), 2, 0));
  CHECK(flam_frame_pop(frame) == FLAM_OK && equals(same, 1, 0));
  flam_tensor_release(same);
  CHECK(flam_error_code() == FLAM_OK && flam_leak_report()[0] == '\0');
}

int main(void) {
  CHECK(setenv("FLAMBEAU_CHECK", "handles", 1) == 0);
  load();
  flam_set_leak_tracking_enabled(1);
  test_released();
  test_released_by_a_frame();
  test_other_types_and_foreign_addresses();
  test_lent();
  test_options();
  test_results_of_callbacks();
  test_right_handles_pass();
  return 0;
}
