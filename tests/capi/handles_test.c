/* FLAMBEAU_CHECK=handles: handles that were released, are only lent, are of another type or of no
 * library at all fail by name, with where they were made and released; right ones pass. */
#define _POSIX_C_SOURCE 200809L
#include "pairs.h"

#define CHECK_FAULT(first, second)                            \
  do {                                                        \
    CHECK(strstr(flam_error_message(), (second)) != NULL);    \
    CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, first);          \
  } while (0)

static void test_released(void) {
  flam_tensor *x = vector(1, 2), *y = vector(3, 4), *z;
  flam_tensor *list[2];
  double value;
  flam_tensor_release(x);
  z = vector(5, 6); /* does not get x's address: its memory stays out of use */
  CHECK(z != x && flam_add(y, x, 1) == NULL);
  CHECK(strstr(flam_error_message(), "f64[2] on cpu, made by flam_tensor_from_data at "));
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
  CHECK_FAULT("flam_cat: tensors is a flam_tensor that was released", "f64[2]");
  CHECK(flam_add_(x, y, 1) == NULL);
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
  flam_module *m = flam_nn_sequential();
  int own = 0;
  CHECK(flam_module_call((flam_module *)(void *)x, x) == NULL);
  CHECK_FAULT("flam_module_call: module is no flam_module", "tensor f64[2] on cpu, made by");
  CHECK(flam_neg((flam_tensor *)(void *)m) == NULL);
  CHECK_FAULT("flam_neg: input is no flam_tensor", "made by flam_nn_sequential");
  CHECK(flam_neg((flam_tensor *)(void *)&own) == NULL);
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

static void test_right_handles_pass(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = flam_relu_(flam_neg(vector(-1, 2))), *same = flam_tensor_retain(x);
  flam_tensor_list *list = flam_tensor_list_new(&x, 1);
  flam_tensor *first = flam_tensor_list_get(list, 0);
  CHECK(first == x && equals(flam_add(flam_tensor_list_data(list)[0], first, 1), 2, 0));
  CHECK(flam_frame_pop(frame) == FLAM_OK && equals(same, 1, 0));
  flam_tensor_release(same);
  CHECK(flam_error_code() == FLAM_OK && flam_leak_report()[0] == '\0');
}

int main(void) {
  CHECK(setenv("FLAMBEAU_CHECK", "handles", 1) == 0);
  load();
  flam_leak_tracking(1);
  test_released();
  test_released_by_a_frame();
  test_other_types_and_foreign_addresses();
  test_lent();
  test_right_handles_pass();
  return 0;
}
