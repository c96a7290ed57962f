/* Mixed precision as C sees it: scopes of autocast that nest and name what they refuse, casts that
 * are made anew where data or recording changed, and steps that the scaler skips and reports. */
#include "pairs.h"

static flam_tensor *matrix(double value) {
  const int64_t size[2] = {2, 2};
  return flam_full_f64(size, 2, value, NULL);
}

static flam_device_type type(void) { return flam_device_type_of(device_under_test()); }

static flam_dtype dtype_of_product(flam_tensor *a, flam_tensor *b) {
  flam_tensor *y = flam_matmul(a, b);
  const flam_dtype dtype = flam_tensor_dtype(y);
  flam_tensor_release(y);
  return dtype;
}

static void test_scopes_nest(void) {
  flam_tensor *a = matrix(1);
  flam_scope outer, inner;
  const flam_device_type other = type() == FLAM_CPU ? FLAM_CUDA : FLAM_CPU;
  const flam_dtype usual = type() == FLAM_CPU ? FLAM_BF16 : FLAM_F16;
  CHECK(!flam_autocast_enabled(type()) && flam_autocast_dtype(type()) == usual);
  flam_autocast_push_options autocast_push_options = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  autocast_push_options.dtype = FLAM_F16;
  CHECK(flam_autocast_push(type(), &outer, &autocast_push_options) == FLAM_OK);
  CHECK(dtype_of_product(a, a) == FLAM_F16 && !flam_autocast_enabled(other));
  flam_autocast_push_options autocast_push_options_2 = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  autocast_push_options_2.enabled = 0;
  autocast_push_options_2.cache_enabled = 0;
  CHECK(flam_autocast_push(type(), &inner, &autocast_push_options_2) == FLAM_OK);
  CHECK(dtype_of_product(a, a) == FLAM_F32 && !flam_autocast_cache_enabled());
  CHECK(flam_set_autocast_enabled(type(), 1) == FLAM_OK &&
        flam_set_autocast_dtype(type(), FLAM_BF16) == FLAM_OK);
  CHECK(dtype_of_product(a, a) == FLAM_BF16);
  CHECK(flam_scope_pop(outer) == FLAM_ERROR_SCOPE);
  flam_error_clear();
  CHECK(flam_scope_pop(inner) == FLAM_OK && dtype_of_product(a, a) == FLAM_F16);
  CHECK(flam_scope_pop(outer) == FLAM_OK && dtype_of_product(a, a) == FLAM_F32);
  CHECK(flam_autocast_dtype(type()) == usual && flam_autocast_cache_enabled());
  flam_tensor_release(a);
}

static void test_refusals(void) {
  flam_scope scope;
  flam_autocast_push_options autocast_push_options = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  autocast_push_options.dtype = FLAM_I32;
  CHECK(flam_autocast_push(type(), &scope, &autocast_push_options) == FLAM_ERROR_DTYPE);
  CHECK_ERROR(FLAM_ERROR_DTYPE, "float16, bfloat16 or float32");
  flam_autocast_push_options autocast_push_options_2 = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  autocast_push_options_2.dtype = FLAM_F16;
  CHECK(flam_autocast_push(FLAM_DEVICE_NONE, &scope, &autocast_push_options_2) ==
        FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "unsupported autocast device_type");
  CHECK(!flam_autocast_enabled(type()));
  flam_grad_scaler_options grad_scaler_options = FLAM_GRAD_SCALER_OPTIONS_INIT;
  grad_scaler_options.init_scale = 1;
  grad_scaler_options.growth_factor = 1;
  grad_scaler_options.growth_interval = 1;
  CHECK(!flam_grad_scaler_new(&grad_scaler_options));
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "growth factor must be > 1");
}

/* The product of a matrix of ones with the parameter, whose elements are all `value`. */
static int product_is(flam_tensor *a, flam_tensor *w, double value) {
  flam_tensor *y = flam_matmul(a, w), *wanted = matrix(2 * value);
  flam_tensor *f32 = flam_to(y, FLAM_F32, 0, NULL);
  flam_bool same = 0;
  CHECK(flam_equal(f32, wanted, &same) == FLAM_OK);
  flam_tensor_release(y);
  flam_tensor_release(wanted);
  flam_tensor_release(f32);
  return same;
}

static void test_casts_are_made_anew(void) {
  flam_tensor *a = matrix(1), *w = matrix(1), *two = flam_scalar_f64(2), *y, *loss, *grad;
  flam_scope autocast, off;
  CHECK(flam_tensor_set_requires_grad(w, 1) == FLAM_OK);
  flam_autocast_push_options autocast_push_options = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  autocast_push_options.dtype = FLAM_BF16;
  CHECK(flam_autocast_push(type(), &autocast, &autocast_push_options) == FLAM_OK);
  off = flam_grad_mode_push(0);
  CHECK(product_is(a, w, 1)); /* a cast that no gradient flows through */
  CHECK(flam_scope_pop(off) == FLAM_OK);
  y = flam_matmul(a, w);
  loss = flam_sum(y, NULL);
  CHECK(flam_backward(loss) == FLAM_OK);
  grad = flam_tensor_grad(w);
  CHECK(grad && flam_tensor_dtype(grad) == FLAM_F32);
  off = flam_grad_mode_push(0);
  CHECK(flam_mul_(w, two) == w); /* another version of the data */
  CHECK(flam_scope_pop(off) == FLAM_OK);
  CHECK(product_is(a, w, 2));
  CHECK(flam_scope_pop(autocast) == FLAM_OK);
  flam_tensor_release(a);
  flam_tensor_release(w);
  flam_tensor_release(two);
  flam_tensor_release(y);
  flam_tensor_release(loss);
  flam_tensor_release(grad);
}

/* One step on the sum of two parameters, of which the second one's gradient is `slope`. */
static void step(flam_grad_scaler *scaler, flam_optimizer *optimizer, flam_tensor **params,
                 double slope) {
  flam_tensor *second = flam_mul_f64(params[1], slope), *both = flam_add(params[0], second),
              *loss = flam_sum(both, NULL), *scaled = flam_grad_scaler_scale(scaler, loss);
  CHECK(flam_optimizer_zero_grad(optimizer, 1) == FLAM_OK);
  CHECK(flam_backward(scaled) == FLAM_OK);
  CHECK(flam_grad_scaler_step(scaler, optimizer) == FLAM_OK);
  CHECK(flam_grad_scaler_step(scaler, optimizer) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "step() has already been called");
  CHECK(flam_grad_scaler_update(scaler) == FLAM_OK);
  flam_tensor_release(second);
  flam_tensor_release(both);
  flam_tensor_release(loss);
  flam_tensor_release(scaled);
}

static void test_scaler_skips_and_reports(void) {
  flam_tensor *params[2] = {vector(1, 2), vector(3, 4)};
  flam_grad_scaler_options grad_scaler_options = FLAM_GRAD_SCALER_OPTIONS_INIT;
  grad_scaler_options.init_scale = 4;
  grad_scaler_options.growth_interval = 2;
  flam_grad_scaler *scaler = flam_grad_scaler_new(&grad_scaler_options), *other;
  flam_optimizer *sgd;
  flam_state *state;
  flam_bool skipped;
  int64_t first;
  double scale;
  CHECK(flam_tensor_set_requires_grad(params[0], 1) == FLAM_OK);
  CHECK(flam_tensor_set_requires_grad(params[1], 1) == FLAM_OK);
  flam_sgd_options sgd_options = FLAM_SGD_OPTIONS_INIT;
  sgd_options.lr = 1;
  sgd_options.momentum = 0.9;
  sgd_options.dampening = 0.5;
  sgd = flam_sgd_new(params, 2, &sgd_options);
  CHECK(flam_grad_scaler_update(scaler) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "_scale is NULL");
  step(scaler, sgd, params, 1e308 * 10);
  CHECK(flam_grad_scaler_skipped(scaler, sgd, &skipped, &first) == FLAM_OK);
  CHECK(skipped && first == 1 && equals(params[0], 1, 2) && equals(params[1], 3, 4));
  CHECK(flam_grad_scaler_get_scale(scaler, &scale) == FLAM_OK && scale == 2);
  step(scaler, sgd, params, 2); /* the first one that counts: dampening leaves it whole */
  CHECK(flam_grad_scaler_skipped(scaler, sgd, &skipped, &first) == FLAM_OK);
  CHECK(!skipped && first == -1 && equals(params[0], 0, 1) && equals(params[1], 1, 2));
  step(scaler, sgd, params, 0);
  CHECK(flam_grad_scaler_get_scale(scaler, &scale) == FLAM_OK && scale == 4);
  state = flam_grad_scaler_state_dict(scaler);
  flam_grad_scaler_options grad_scaler_options_2 = FLAM_GRAD_SCALER_OPTIONS_INIT;
  grad_scaler_options_2.init_scale = 1;
  grad_scaler_options_2.growth_factor = 3;
  grad_scaler_options_2.backoff_factor = 0.25;
  grad_scaler_options_2.growth_interval = 7;
  other = flam_grad_scaler_new(&grad_scaler_options_2);
  CHECK(flam_grad_scaler_load_state_dict(other, state) == FLAM_OK);
  CHECK(flam_grad_scaler_get_scale(other, &scale) == FLAM_OK && scale == 4);
  flam_state_release(state);
  flam_grad_scaler_release(scaler);
  flam_grad_scaler_release(other);
  flam_optimizer_release(sgd);
  flam_tensor_release(params[0]);
  flam_tensor_release(params[1]);
}

int main(void) {
  load();
  test_scopes_nest();
  test_refusals();
  test_casts_are_made_anew();
  test_scaler_skips_and_reports();
  CHECK(flam_error_code() == FLAM_OK);
  return 0;
}
