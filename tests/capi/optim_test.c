/* Optimizers and schedules as C sees them: closures and rate functions that succeed and fail, their
 * data dropped once, options by name, sequences, clipping, state that comes back. */
#include <math.h>
#include <string.h>

#include "pairs.h"

struct closure {
  flam_tensor *p;
  int calls, drops, fails;
};

static flam_status quadratic(void *user, double *out_loss) {
  struct closure *c = user;
  flam_tensor *square, *loss;
  if (c->fails) {
    flam_error_set("no loss today", NULL, NULL);
    return FLAM_ERROR_CALLBACK;
  }
  ++c->calls;
  flam_tensor_set_grad(c->p, NULL);
  square = flam_mul(c->p, c->p);
  loss = flam_sum(square, NULL);
  CHECK(flam_backward(loss) == FLAM_OK);
  CHECK(flam_tensor_to_host(loss, out_loss, sizeof *out_loss) == FLAM_OK);
  flam_tensor_release(square);
  flam_tensor_release(loss);
  return FLAM_OK;
}

static void dropped(void *user) { ++((struct closure *)user)->drops; }

static flam_tensor *leaf(double a, double b) {
  flam_tensor *x = vector(a, b);
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  return x;
}

static flam_optimizer *lbfgs(flam_tensor *p) {
  flam_lbfgs_options lbfgs_options = FLAM_LBFGS_OPTIONS_INIT;
  lbfgs_options.strong_wolfe = 1;
  return flam_lbfgs_new(&p, 1, &lbfgs_options);
}

static int near_zero(const flam_tensor *t) {
  double data[2] = {1, 1};
  CHECK(flam_tensor_to_host(t, data, sizeof data) == FLAM_OK);
  return fabs(data[0]) < 1e-6 && fabs(data[1]) < 1e-6;
}

static void test_closures(void) {
  struct closure c = {NULL, 0, 0, 0};
  flam_closure table = {sizeof(flam_closure), NULL, quadratic, dropped};
  flam_optimizer *o;
  double loss = 0;
  table.user = &c;
  c.p = leaf(3, -4);
  o = lbfgs(c.p);
  CHECK(flam_optimizer_step_closure(o, &table, &loss) == FLAM_OK);
  CHECK(loss == 25 && c.calls > 1 && c.drops == 1);
  CHECK(near_zero(c.p));
  CHECK(flam_optimizer_step(o) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_optimizer_step_closure");
  c.fails = 1;
  CHECK(flam_optimizer_step_closure(o, &table, &loss) == FLAM_ERROR_CALLBACK);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "no loss today");
  CHECK(c.drops == 2);
  table.struct_size = 1;
  CHECK(flam_optimizer_step_closure(o, &table, &loss) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  flam_optimizer_release(o);
  flam_tensor_release(c.p);
}

static flam_status halved(void *user, int64_t epoch, size_t group, double *out_factor) {
  struct closure *c = user;
  if (c->fails && epoch == 2) {
    flam_error_set("no rate today", NULL, NULL);
    return FLAM_ERROR_CALLBACK;
  }
  *out_factor = group ? 1 : 1.0 / (double)(1 << epoch);
  return FLAM_OK;
}

static void test_rate_functions(void) {
  struct closure c = {NULL, 0, 0, 1};
  flam_rate_callback table = {sizeof(flam_rate_callback), NULL, halved, dropped};
  flam_tensor *p = leaf(1, 2), *q = leaf(1, 2);
  flam_rmsprop_options rmsprop_options = FLAM_RMSPROP_OPTIONS_INIT;
  rmsprop_options.lr = 0.5;
  flam_optimizer *o = flam_rmsprop_new(&p, 1, &rmsprop_options);
  flam_scheduler *s;
  table.user = &c;
  CHECK(flam_optimizer_add_group(o, &q, 1, 0.25, 0) == FLAM_OK);
  s = flam_lambda_lr_new(o, &table);
  CHECK(s && flam_scheduler_step(s) == FLAM_OK);
  CHECK(flam_optimizer_lr(o, 0) == 0.25 && flam_scheduler_last_lr(s, 1) == 0.25);
  CHECK(flam_scheduler_step(s) == FLAM_ERROR_CALLBACK);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "no rate today");
  CHECK(flam_optimizer_lr(o, 0) == 0.25); /* nothing was set */
  flam_optimizer_release(o);
  flam_scheduler_release(s);
  CHECK(c.drops == 1);
  flam_tensor_release(p);
  flam_tensor_release(q);
}

static void test_options_and_state(void) {
  flam_tensor *p = leaf(1, 2), *grad = vector(1, 1);
  flam_tensor *list = p;
  flam_nadam_options nadam_options = FLAM_NADAM_OPTIONS_INIT;
  nadam_options.lr = 0.5;
  flam_optimizer *a = flam_nadam_new(&list, 1, &nadam_options);
  flam_nadam_options nadam_options_2 = FLAM_NADAM_OPTIONS_INIT;
  nadam_options_2.lr = 0.1;
  flam_optimizer *b = flam_nadam_new(&list, 1, &nadam_options_2);
  flam_state *state;
  flam_tensor *left;
  double value = 0;
  CHECK(flam_tensor_set_grad(p, grad) == FLAM_OK && flam_optimizer_step(a) == FLAM_OK);
  CHECK(flam_optimizer_set_option(a, "beta1", 0.5, 0) == FLAM_OK);
  CHECK(flam_optimizer_set_option(a, "beta1", 1, 0) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "Invalid beta parameter at index 0: 1");
  state = flam_optimizer_state_dict(a);
  CHECK(flam_optimizer_load_state_dict(b, state) == FLAM_OK);
  CHECK(flam_optimizer_option(b, "beta1", 0, &value) == FLAM_OK && value == 0.5);
  CHECK(flam_optimizer_lr(b, 0) == 0.5);
  CHECK(flam_state_set(state, "0.wrong", grad) == FLAM_OK);
  CHECK(flam_optimizer_load_state_dict(b, state) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  CHECK(flam_optimizer_option(b, "alpha", 0, &value) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "NAdam has no option \"alpha\"");
  CHECK(flam_clip_grad_value_(&list, 1, 0.5) == FLAM_OK);
  left = flam_tensor_grad(p);
  CHECK(equals(left, 0.5, 0.5));
  flam_tensor_release(left);
  flam_state_release(state);
  flam_optimizer_release(a);
  flam_optimizer_release(b);
  flam_tensor_release(p);
  flam_tensor_release(grad);
}

/* A program that keeps parameters, gradients, values and state itself. */
static void test_rules(void) {
  flam_tensor *p = leaf(1, 2), *grad = vector(1, -1), *buffer;
  flam_rule_step_options options = FLAM_RULE_STEP_OPTIONS_INIT;
  double values[8] = {0};
  const size_t n = flam_rule_value_count(FLAM_RULE_SGD);
  size_t i;
  CHECK(n <= 8 && flam_rule_find("SGD") == FLAM_RULE_SGD && flam_rule_find("sgd") == 0);
  CHECK(flam_rule_name(99) == NULL && flam_rule_state_name(FLAM_RULE_SGD, 1) == NULL);
  for (i = 0; i < n; ++i) {
    const char *name = flam_rule_value_name(FLAM_RULE_SGD, i);
    if (strcmp(name, "lr") == 0 || strcmp(name, "momentum") == 0) values[i] = 0.5;
  }
  buffer = flam_rule_state_new(FLAM_RULE_SGD, 0, p, values, n);
  options.states = &buffer;
  options.n_states = 1;
  options.first_step = 1;
  CHECK(flam_rule_step(FLAM_RULE_SGD, &p, 1, &grad, 1, values, n, &options) == FLAM_OK);
  CHECK(equals(p, 0.5, 2.5) && equals(buffer, 1, -1));
  options.first_step = 0;
  CHECK(flam_rule_step(FLAM_RULE_SGD, &p, 1, &grad, 1, values, n, &options) == FLAM_OK);
  CHECK(equals(p, -0.25, 3.25));
  CHECK(flam_rule_step(FLAM_RULE_SGD, &p, 1, &grad, 1, values, n, NULL) == FLAM_ERROR_SHAPE);
  CHECK_ERROR(FLAM_ERROR_SHAPE, "have 1 states, but the list has 0");
  flam_tensor_release(buffer);
  flam_tensor_release(p);
  flam_tensor_release(grad);
}

/* A module's named parameters are the list that optimizers, gradients and clipping take. */
static void test_named_parameters(void) {
  const flam_scope frame = flam_frame_push();
  flam_module *linear = flam_nn_linear(2, 1, NULL);
  const flam_state *named = flam_module_named_parameters(linear, 1);
  flam_optimizer *sgd = flam_sgd_new(FLAM_STATE(named), NULL);
  const int64_t one[] = {1, 2};
  flam_tensor *loss = flam_sum(flam_module_call(linear, flam_ones(one, 2, NULL)), NULL);
  flam_tensor_list *grads = flam_grad(&loss, 1, FLAM_STATE(named), NULL);
  CHECK(flam_state_size(named) == 2 && flam_tensor_list_size(grads) == 2);
  CHECK(flam_state_data(named)[1] == flam_module_parameter(linear, "bias"));
  CHECK(sgd && flam_optimizer_step(sgd) == FLAM_OK);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_closures();
  test_rate_functions();
  test_options_and_state();
  test_rules();
  test_named_parameters();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
