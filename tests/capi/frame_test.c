/* Frames and leak tracking: which handles a frame releases, how one is kept, and what the report
 * says. Liveness is seen from the tracked handles, so that a handle released twice or never
 * shows. */
#include <pthread.h>

#include "live.h"
#include "pairs.h"

static void test_a_frame_releases_what_was_made_in_it(void) {
  flam_tensor *x = vector(1, 2), *kept;
  const flam_scope frame = flam_frame_push();
  CHECK(frame != 0 && live() == 1);
  kept = flam_tensor_keep(flam_neg(flam_abs(flam_neg(x))));
  CHECK(live() == 4);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  CHECK(live() == 2 && equals(kept, -1, -2) && equals(x, 1, 2));
  flam_tensor_release(kept);
  flam_tensor_release(x);
  CHECK(live() == 0);
}

static void test_releases_inside_a_frame_count_once(void) {
  flam_scope frame = flam_frame_push();
  flam_tensor *x = vector(1, 2), *again;
  flam_tensor_release(x);
  CHECK(live() == 0);
  x = vector(3, 4);
  again = flam_tensor_retain(x);
  CHECK(again == x && live() == 2);
  flam_tensor_release(x);
  CHECK(live() == 1 && equals(again, 3, 4));
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  CHECK(live() == 1 && equals(again, 3, 4)); /* a retained count is no frame's */
  flam_tensor_release(again);
  CHECK(live() == 0);
}

static void test_in_place_and_out_forms_add_no_count(void) {
  flam_tensor *x = vector(1, 2), *y = vector(3, 4), *out = vector(0, 0), *one = vector(1, 1);
  CHECK(flam_add_(x, y) == x && flam_relu_(x) == x && flam_zero_(y) == y);
  CHECK(flam_add_out(x, one, out) == out && flam_copy_(y, out, 0) == y);
  CHECK(live() == 4 && equals(y, 5, 7));
  {
    const flam_scope frame = flam_frame_push();
    CHECK(flam_neg_(flam_exp_(flam_abs(x))) != NULL && live() == 5);
    CHECK(flam_frame_pop(frame) == FLAM_OK && live() == 4 && equals(x, 4, 6));
  }
  flam_tensor_release(x);
  flam_tensor_release(y);
  flam_tensor_release(out);
  flam_tensor_release(one);
  CHECK(live() == 0);
}

/* Every type of handle has one retain, which survives frames, and one keep. */
static void test_retain_and_keep_of_other_handles(void) {
  const flam_scope outer = flam_frame_push(), frame = flam_frame_push();
  flam_tensor *x = vector(1, 2);
  flam_module *module = flam_module_retain(flam_nn_sequential()), *kept = flam_nn_dropout(0.5);
  flam_generator *generator = flam_generator_retain(flam_generator_new(0));
  flam_tensor_list *list = flam_tensor_list_keep(flam_tensor_list_new(&x, 1));
  CHECK(flam_module_keep(kept) == kept && flam_generator_retain(NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_generator_retain: generator is NULL");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  CHECK(live() == 4 && strcmp(flam_module_type(module), "Sequential") == 0);
  CHECK(strcmp(flam_module_type(kept), "Dropout") == 0 && flam_tensor_list_size(list) == 1);
  CHECK(equals(flam_tensor_list_data(list)[0], 1, 2));
  CHECK(flam_frame_pop(outer) == FLAM_OK && live() == 2);
  flam_module_release(module);
  flam_generator_release(generator);
  CHECK(live() == 0);
}

static void *leave_frames_open(void *argument) {
  CHECK(flam_frame_push() && vector(1, 2) && flam_frame_push() && vector(3, 4));
  return argument;
}

static void test_a_thread_that_ends_frees_its_frames(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, leave_frames_open, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0 && live() == 0);
}

static void test_frames_nest(void) {
  const flam_scope outer = flam_frame_push();
  const flam_scope inner = flam_frame_push();
  flam_tensor *a = vector(1, 2), *b = vector(3, 4);
  CHECK(flam_frame_pop(outer) == FLAM_ERROR_SCOPE);
  CHECK_ERROR(FLAM_ERROR_SCOPE, "an inner one is still open");
  CHECK(flam_tensor_keep(a) == a);
  CHECK(flam_frame_pop(inner) == FLAM_OK && live() == 1);
  CHECK(equals(a, 1, 2));
  (void)b;
  CHECK(flam_frame_pop(outer) == FLAM_OK && live() == 0);
  CHECK(flam_frame_pop(outer) == FLAM_ERROR_SCOPE);
  CHECK_ERROR(FLAM_ERROR_SCOPE, "scope");
}

static void test_failures_in_a_frame(void) {
  const flam_scope frame = flam_frame_push();
  CHECK(flam_tensor_keep(flam_neg(NULL)) == NULL);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_neg");
  CHECK(live() == 0);
}

/* A hook's result is handed to the engine: the frame around backward must not release it again. */
static flam_status twice(void *user, const flam_tensor *grad, flam_tensor **out_grad) {
  ++*(int *)user;
  *out_grad = flam_add(grad, grad);
  return FLAM_OK;
}

static flam_status refuse(void *user, const flam_tensor *grad, flam_tensor **out_grad) {
  (void)grad;
  (void)out_grad;
  flam_error_set("refused by the hook", user, NULL);
  return FLAM_ERROR_CALLBACK;
}

static flam_hook_callback hook_of(flam_status (*call)(void *, const flam_tensor *, flam_tensor **),
                                  int *user) {
  flam_hook_callback hook;
  memset(&hook, 0, sizeof hook);
  hook.struct_size = sizeof hook;
  hook.user = user;
  hook.call = call;
  return hook;
}

static void test_handles_handed_over_by_callbacks(void) {
  int calls = 0;
  const double data[2] = {3, 5};
  const int64_t size[1] = {2};
  flam_tensor_from_data_options tensor_from_data_options = FLAM_TENSOR_FROM_DATA_OPTIONS_INIT;
  tensor_from_data_options.requires_grad = 1;
  flam_tensor *x = flam_tensor_from_data(data, size, 1, FLAM_F64, &tensor_from_data_options), *grad;
  const flam_hook_callback hook = hook_of(twice, &calls);
  const flam_scope frame = flam_frame_push();
  flam_tensor *y;
  CHECK(flam_tensor_register_hook(x, &hook) != NULL);
  y = flam_sum(x, NULL);
  CHECK(flam_backward(y) == FLAM_OK && calls == 1);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  grad = flam_tensor_grad(x);
  CHECK(equals(grad, 2, 2));
  flam_tensor_release(grad);
  flam_tensor_release(x);
  CHECK(live() == 0);
}

static void test_an_error_before_a_callback_stays_first(void) {
  int user = 0;
  const double data[2] = {3, 5};
  const int64_t size[1] = {2};
  flam_tensor_from_data_options tensor_from_data_options = FLAM_TENSOR_FROM_DATA_OPTIONS_INIT;
  tensor_from_data_options.requires_grad = 1;
  flam_tensor *x = flam_tensor_from_data(data, size, 1, FLAM_F64, &tensor_from_data_options);
  const flam_hook_callback hook = hook_of(refuse, &user);
  const flam_scope frame = flam_frame_push();
  flam_tensor *y;
  CHECK(flam_tensor_register_hook(x, &hook) != NULL);
  y = flam_sum(x, NULL);
  flam_autograd_backward_options keep = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT;
  keep.retain_graph = 1;
  CHECK(flam_autograd_backward(&y, 1, &keep) == FLAM_ERROR_CALLBACK);
  CHECK(flam_error_payload() == &user);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "refused by the hook");
  flam_neg(NULL);
  CHECK(flam_backward(y) == FLAM_ERROR_CALLBACK);       /* its own */
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_neg"); /* the first */
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  flam_tensor_release(x);
  CHECK(live() == 0);
}

static void test_the_report(void) {
  flam_tensor *a, *b, *c;
  char wanted[200];
  a = vector(1, 2);
  b = vector(1, 2);
  c = flam_neg(a);
  sprintf(wanted,
          "2 x tensor f64[2] on %s from flam_tensor_from_data\n"
          "1 x tensor f64[2] on %s from flam_neg\n",
          flam_device_name(flam_tensor_device(a)), flam_device_name(flam_tensor_device(c)));
  CHECK(strcmp(flam_leak_report(), wanted) == 0);
  flam_tensor_release(a);
  flam_tensor_release(b);
  flam_set_leak_tracking_enabled(0);
  flam_set_leak_tracking_enabled(1);
  CHECK(flam_leak_report()[0] == '\0');
  flam_tensor_release(c); /* made before tracking began: nobody's concern */
  flam_neg(NULL);
  {
    flam_error *error = flam_error_take();
    CHECK(strcmp(flam_leak_report(), "1 x flam_error from flam_error_take\n") == 0);
    flam_error_release(error);
  }
  CHECK(live() == 0);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_a_frame_releases_what_was_made_in_it();
  test_releases_inside_a_frame_count_once();
  test_in_place_and_out_forms_add_no_count();
  test_retain_and_keep_of_other_handles();
  test_a_thread_that_ends_frees_its_frames();
  test_frames_nest();
  test_failures_in_a_frame();
  test_handles_handed_over_by_callbacks();
  test_an_error_before_a_callback_stays_first();
  test_the_report();
  return 0;
}
