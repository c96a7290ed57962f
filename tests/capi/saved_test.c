/* Saved values as C sees them: hooks that keep something of their own in their place, and
 * checkpoints, whose function runs again in backward. Everything is dropped exactly once. */
#include "pairs.h"

static flam_tensor *leaf(double a, double b) {
  flam_tensor *x = vector(a, b);
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  return x;
}

static flam_status backward(flam_tensor *y) { return flam_backward(y); }

static flam_tensor *sum(flam_tensor *t) { return flam_sum(t, NULL); }

static int gradient_is(flam_tensor *x, double a, double b) {
  flam_tensor *grad = flam_tensor_grad(x);
  const int same = grad && equals(grad, a, b);
  flam_tensor_release(grad);
  return same;
}

typedef struct {
  int packed, unpacked, dropped_values, dropped, fail;
} counts;

static flam_status pack(void *user, const flam_tensor *tensor, void **out_packed) {
  counts *c = (counts *)user;
  ++c->packed;
  if (c->fail == 1) {
    flam_error_set("no room", NULL, NULL);
    return FLAM_ERROR_CALLBACK;
  }
  CHECK(!flam_grad_enabled());
  *out_packed = flam_neg(tensor);
  return *out_packed ? FLAM_OK : FLAM_ERROR_CALLBACK;
}

static flam_status unpack(void *user, void *packed, flam_tensor **out_tensor) {
  counts *c = (counts *)user;
  ++c->unpacked;
  if (c->fail == 2) return FLAM_ERROR_CALLBACK; /* without saying why */
  *out_tensor = flam_neg((flam_tensor *)packed);
  return *out_tensor ? FLAM_OK : FLAM_ERROR_CALLBACK;
}

static void drop_packed(void *user, void *packed) {
  flam_tensor_release((flam_tensor *)packed);
  ++((counts *)user)->dropped_values;
}

static void drop(void *user) { ++((counts *)user)->dropped; }

static flam_saved_hooks hooks_of(counts *c) {
  flam_saved_hooks hooks;
  memset(&hooks, 0, sizeof hooks);
  hooks.struct_size = sizeof hooks;
  hooks.user = c;
  hooks.pack = pack;
  hooks.unpack = unpack;
  hooks.drop_packed = drop_packed;
  hooks.drop = drop;
  return hooks;
}

static void test_hooks(void) {
  counts c = {0, 0, 0, 0, 0};
  flam_saved_hooks hooks = hooks_of(&c);
  flam_tensor *x = leaf(2, 3), *y, *total;
  flam_scope scope;
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_OK);
  y = flam_mul(x, x);
  CHECK(flam_scope_pop(scope) == FLAM_OK);
  total = sum(y);
  CHECK(c.packed == 2 && c.unpacked == 0);
  CHECK(backward(total) == FLAM_OK && gradient_is(x, 4, 6));
  CHECK(c.unpacked == 2 && c.dropped_values == 2 && c.dropped == 1);
  flam_tensor_release(y);
  flam_tensor_release(total);
  flam_tensor_release(x);
  CHECK(c.packed == 2 && c.dropped_values == 2 && c.dropped == 1);
}

static void test_failing_hooks(void) {
  counts c = {0, 0, 0, 0, 1};
  flam_saved_hooks hooks = hooks_of(&c);
  flam_tensor *x = leaf(2, 3), *y, *total;
  flam_scope scope;
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_OK);
  CHECK(flam_exp(x) == NULL);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "no room");
  c.fail = 2;
  y = flam_exp(x);
  CHECK(flam_scope_pop(scope) == FLAM_OK);
  total = sum(y);
  CHECK(backward(total) == FLAM_ERROR_CALLBACK);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "unpack hook failed");
  flam_tensor_release(y);
  flam_tensor_release(total);
  flam_tensor_release(x);
  CHECK(c.packed == 2 && c.dropped_values == 1 && c.dropped == 1);
}

static void test_refused_hooks(void) {
  counts c = {0, 0, 0, 0, 0};
  flam_saved_hooks hooks = hooks_of(&c);
  flam_scope scope, outer;
  CHECK(flam_saved_hooks_disabled() == NULL);
  CHECK(flam_saved_hooks_disable_push("not here", &outer) == FLAM_OK);
  CHECK(strcmp(flam_saved_hooks_disabled(), "not here") == 0);
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_ERROR_AUTOGRAD && c.dropped == 1);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "not here");
  CHECK(flam_scope_pop(outer) == FLAM_OK && flam_saved_hooks_disabled() == NULL);
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_OK);
  CHECK(flam_saved_hooks_disable_push("not now", &outer) == FLAM_ERROR_AUTOGRAD);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "not now");
  CHECK(flam_scope_pop(scope) == FLAM_OK && c.dropped == 2);
  hooks.unpack = NULL;
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_ERROR_INVALID_ARGUMENT && c.dropped == 3);
  flam_error_clear();
}

/* exp(exp(x)) as a function that may run again. */
typedef struct {
  int runs, dropped, fail;
} again;

static flam_tensor *twice(const flam_tensor *x) {
  flam_tensor *once = flam_exp(x), *y = flam_exp(once);
  flam_tensor_release(once);
  return y;
}

static flam_status run(void *user, flam_tensor *const *inputs, size_t n_inputs) {
  again *a = (again *)user;
  flam_tensor *y;
  ++a->runs;
  CHECK(n_inputs == 1 && flam_grad_enabled());
  y = a->fail ? flam_exp(inputs[0]) : twice(inputs[0]);
  flam_tensor_release(y);
  return y ? FLAM_OK : FLAM_ERROR_CALLBACK;
}

static void drop_again(void *user) { ++((again *)user)->dropped; }

static void test_checkpoint(flam_bool early_stop) {
  again a = {0, 0, 0};
  flam_recompute function;
  flam_tensor *x = leaf(0, 0), *y, *total;
  flam_tensor *inputs[1];
  flam_scope scope;
  memset(&function, 0, sizeof function);
  function.struct_size = sizeof function;
  function.user = &a;
  function.run = run;
  function.drop = drop_again;
  inputs[0] = x;
  flam_checkpoint_push_options checkpoint_push_options = FLAM_CHECKPOINT_PUSH_OPTIONS_INIT;
  checkpoint_push_options.early_stop = early_stop;
  CHECK(flam_checkpoint_push(&function, inputs, 1, &scope, &checkpoint_push_options) == FLAM_OK);
  y = twice(x);
  CHECK(flam_scope_pop(scope) == FLAM_OK && a.runs == 0);
  total = sum(y);
  CHECK(backward(total) == FLAM_OK && a.runs == 1 && flam_error_code() == FLAM_OK);
  CHECK(a.dropped == 1 && gradient_is(x, 2.718281828459045, 2.718281828459045));
  flam_tensor_release(y);
  flam_tensor_release(total);

  flam_checkpoint_push_options checkpoint_push_options_2 = FLAM_CHECKPOINT_PUSH_OPTIONS_INIT;
  checkpoint_push_options_2.early_stop = early_stop;
  CHECK(flam_checkpoint_push(&function, inputs, 1, &scope, &checkpoint_push_options_2) == FLAM_OK);
  y = twice(x);
  CHECK(flam_scope_pop(scope) == FLAM_OK);
  total = sum(y);
  a.fail = 1;
  CHECK(backward(total) == FLAM_ERROR_RECOMPUTE);
  CHECK_ERROR(FLAM_ERROR_RECOMPUTE, "different number of tensors");
  flam_tensor_release(y);
  flam_tensor_release(total);
  flam_tensor_release(x);
  CHECK(a.runs == 2 && a.dropped == 2);
  function.run = NULL;
  CHECK(flam_checkpoint_push(&function, NULL, 0, &scope, NULL) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  CHECK(a.dropped == 3);
}

static void test_a_checkpointed_module(void) {
  const flam_scope frame = flam_frame_push();
  flam_module *drop_half = flam_nn_dropout(0.5), *net = flam_nn_sequential();
  flam_tensor *x = leaf(3, 4), *y;
  flam_tensor *inputs[1];
  double seen[2], grad[2];
  int i;
  inputs[0] = x;
  CHECK(flam_module_set_child(net, "0", drop_half) == FLAM_OK);
  for (i = 0; i < 8; ++i) { /* the same elements are dropped when it runs again */
    CHECK(flam_tensor_set_grad(x, NULL) == FLAM_OK);
    y = flam_module_checkpoint(net, inputs, 1, 1);
    CHECK(backward(sum(flam_mul(y, y))) == FLAM_OK);
    CHECK(flam_tensor_to_host(y, seen, sizeof seen) == FLAM_OK);
    CHECK(flam_tensor_to_host(flam_tensor_grad(x), grad, sizeof grad) == FLAM_OK);
    CHECK(grad[0] == 4 * seen[0] && grad[1] == 4 * seen[1]);
  }
  CHECK(!flam_backward_is_whole());
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_hooks();
  test_failing_hooks();
  test_refused_hooks();
  test_checkpoint(1);
  test_checkpoint(0);
  test_a_checkpointed_module();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
