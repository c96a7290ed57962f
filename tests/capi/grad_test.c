/* Gradients as C sees them: scopes of the recording mode closed in order, backward and grad, values
 * overwritten before backward, and a function with a gradient written in C. */
#include <pthread.h>

#include "pairs.h"

static flam_tensor *leaf(double a, double b) {
  flam_tensor *x = vector(a, b);
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  return x;
}

static flam_status backward(flam_tensor *y, flam_bool retain) {
  flam_autograd_backward_options how = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT;
  how.retain_graph = retain;
  return flam_autograd_backward(&y, 1, &how);
}

static int gradient_is(flam_tensor *x, double a, double b) {
  flam_tensor *grad = flam_tensor_grad(x);
  const int same = grad && equals(grad, a, b);
  flam_tensor_release(grad);
  return same;
}

static void test_scopes_close_in_order(void) {
  const flam_scope off = flam_grad_mode_push(0), on = flam_grad_mode_push(1);
  CHECK(flam_grad_enabled() && off != on);
  CHECK(flam_scope_pop(off) == FLAM_ERROR_SCOPE && flam_grad_enabled()); /* nothing changes */
  flam_error_clear();
  CHECK(flam_scope_pop(on) == FLAM_OK && !flam_grad_enabled());
  CHECK(flam_scope_pop(on) == FLAM_ERROR_SCOPE);
  flam_error_clear();
  flam_set_grad_enabled(1);
  CHECK(flam_grad_enabled());
  CHECK(flam_scope_pop(off) == FLAM_OK && flam_grad_enabled());
  CHECK(flam_scope_pop(0) == FLAM_ERROR_SCOPE);
  flam_error_clear();
}

static void *pop_elsewhere(void *scope) {
  static int refused;
  refused = flam_grad_enabled() && flam_scope_pop(*(flam_scope *)scope) == FLAM_ERROR_SCOPE;
  flam_error_clear();
  return &refused;
}

static void test_scopes_belong_to_their_thread(void) {
  flam_scope off = flam_grad_mode_push(0);
  pthread_t thread;
  void *refused;
  CHECK(pthread_create(&thread, NULL, pop_elsewhere, &off) == 0 &&
        pthread_join(thread, &refused) == 0);
  CHECK(*(int *)refused && !flam_grad_enabled());
  CHECK(flam_scope_pop(off) == FLAM_OK);
}

static pthread_key_t key; /* its destructor runs when the library's own of the thread have */

static void open_late(void *opened) {
  *(int *)opened = flam_grad_mode_push(0) || flam_inference_mode_push(1) || flam_frame_push();
  CHECK(flam_grad_enabled() && !flam_inference_enabled());
  CHECK_ERROR(FLAM_ERROR_SCOPE, "this thread is ending");
}

static void *open_and_end(void *opened) {
  CHECK(flam_frame_push() && flam_grad_mode_push(1));
  CHECK(pthread_setspecific(key, opened) == 0);
  return NULL;
}

static void test_no_scope_opens_once_a_thread_has_closed_them(void) {
  int opened = -1;
  pthread_t thread;
  CHECK(pthread_key_create(&key, open_late) == 0);
  CHECK(pthread_create(&thread, NULL, open_and_end, &opened) == 0 &&
        pthread_join(thread, NULL) == 0);
  CHECK(opened == 0);
}

static void test_modes(void) {
  flam_tensor *x = leaf(1, 2), *y;
  flam_scope scope = flam_grad_mode_push(0);
  y = flam_mul(x, x);
  CHECK(!flam_tensor_requires_grad(y) && flam_scope_pop(scope) == FLAM_OK);
  CHECK(backward(y, 0) == FLAM_ERROR_AUTOGRAD);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "does not require grad");
  flam_tensor_release(y);
  scope = flam_inference_mode_push(1);
  y = flam_mul(x, x);
  CHECK(flam_inference_enabled() && flam_tensor_is_inference(y) &&
        flam_scope_pop(scope) == FLAM_OK);
  CHECK(!flam_inference_enabled());
  flam_tensor_release(y);
  flam_tensor_release(x);
}

/* Passes that begin and end in the middle of a graph whose tensors are gone. */
static void test_passes_begin_and_end_at_nodes(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = leaf(2, 3), *hidden = flam_mul(x, x);
  flam_tensor *loss, *place, *one;
  flam_node *node = flam_tensor_gradient_node(hidden);
  flam_tensor_list *slope;
  flam_grad_options how = FLAM_GRAD_OPTIONS_INIT;
  CHECK(flam_node_id(node) == flam_node_id(flam_tensor_grad_fn(hidden)));
  CHECK(flam_node_output_count(node) == 1);
  place = flam_node_output(node, 0);
  CHECK(flam_tensor_dim(place) == 1 && flam_tensor_size(place, 0) == 2 && equals(place, 0, 0));
  CHECK(flam_mul_(hidden, vector(4, 6)) == hidden); /* it moves on, its old place stays */
  loss = flam_sum(hidden, NULL);
  slope = flam_grad(&loss, 1, &place, 1, NULL);
  one = flam_tensor_list_get(slope, 0);
  CHECK(equals(one, 4, 6));
  how.grad_outputs = &one;
  how.n_grad_outputs = 1;
  slope = flam_grad(&place, 1, &x, 1, &how);
  CHECK(equals(flam_tensor_list_get(slope, 0), 16, 36));
  CHECK(flam_node_output(node, 1) == NULL);
  CHECK_ERROR(FLAM_ERROR_INDEX, "1");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

static void test_nodes_of_leaves(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = leaf(2, 3);
  flam_node *node = flam_tensor_gradient_node(x);
  CHECK(flam_tensor_gradient_node(vector(1, 2)) == NULL && flam_error_code() == FLAM_OK);
  CHECK(flam_node_id(node) == flam_node_id(flam_node_next(flam_tensor_grad_fn(flam_exp(x)), 0)));
  CHECK(flam_node_output_count(node) == 1 && flam_node_sequence_nr(node) == UINT64_MAX);
  CHECK(flam_tensor_set_grad(flam_node_output(node, 0), vector(7, 8)) == FLAM_OK);
  CHECK(gradient_is(x, 7, 8));
  CHECK(flam_node_set_sequence_nr(node, 1) == FLAM_ERROR_AUTOGRAD);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "AccumulateGrad");
  node = flam_tensor_gradient_node(flam_exp(x));
  CHECK(flam_node_set_sequence_nr(node, 100) == FLAM_OK && flam_node_sequence_nr(node) == 100);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

static void test_backward_and_grad(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = leaf(2, 3), *y = flam_sum(flam_mul(flam_mul(x, x), x), NULL);
  flam_tensor_list *first, *second;
  flam_tensor *slope;
  CHECK(backward(y, 1) == FLAM_OK && gradient_is(x, 12, 27));
  CHECK(backward(y, 1) == FLAM_OK && gradient_is(x, 24, 54)); /* gradients add up */
  flam_grad_options grad_options = FLAM_GRAD_OPTIONS_INIT;
  grad_options.create_graph = 1;
  first = flam_grad(&y, 1, &x, 1, &grad_options);
  slope = flam_sum(flam_tensor_list_get(first, 0), NULL);
  second = flam_grad(&slope, 1, &x, 1, NULL);
  CHECK(equals(flam_tensor_list_get(second, 0), 12, 18)); /* 6 x */
  CHECK(gradient_is(x, 24, 54));
  CHECK(flam_tensor_list_get(second, 1) == NULL);
  CHECK_ERROR(FLAM_ERROR_INDEX, "1");
  y = flam_sum(flam_mul(x, x), NULL);
  CHECK(backward(y, 0) == FLAM_OK && backward(y, 0) == FLAM_ERROR_AUTOGRAD);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "retain_graph");
  CHECK(flam_tensor_set_grad(x, NULL) == FLAM_OK && flam_tensor_grad(x) == NULL);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

static void test_an_overwritten_value_is_named(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = leaf(1, 2), *kept = flam_exp(x);
  CHECK(flam_mul_f64_(kept, 2) == kept || flam_error_code() == FLAM_OK);
  CHECK(backward(flam_sum(kept, NULL), 0) == FLAM_ERROR_AUTOGRAD);
  CHECK(strstr(flam_error_message(), "\"mul") != NULL);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "modified by an inplace operation");
  CHECK(flam_mul_f64_(x, 2) == NULL);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "leaf");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

/* The gradient of y = x^2 as C computes it; `user` keeps x. */
typedef struct {
  flam_saved *x;
  int released, dropped;
} square;

static flam_status square_backward(void *user, flam_tensor *const *grads, size_t n_grads,
                                   flam_tensor **out_grads, size_t n_out_grads) {
  flam_tensor *x = flam_saved_get(((square *)user)->x), *two = flam_add(x, x);
  CHECK(n_grads == 1 && n_out_grads == 1 && flam_function_wanted(0));
  out_grads[0] = flam_mul(grads[0], two);
  flam_tensor_release(x);
  flam_tensor_release(two);
  return FLAM_OK;
}

static void square_release(void *user) { ++((square *)user)->released; }
static void square_drop(void *user) {
  square *s = (square *)user;
  flam_saved_release(s->x);
  ++s->dropped;
}

static void test_a_gradient_in_c(void) {
  square state = {NULL, 0, 0};
  flam_function function;
  flam_tensor *x = leaf(3, -4), *raw, *y, *sum;
  flam_tensor_list *results;
  flam_scope off = flam_grad_mode_push(0);
  raw = flam_mul(x, x);
  CHECK(flam_scope_pop(off) == FLAM_OK);
  state.x = flam_saved_new(x, -1);
  memset(&function, 0, sizeof function);
  function.struct_size = sizeof function;
  function.user = &state;
  function.name = "Square";
  function.backward = square_backward;
  function.release_saved = square_release;
  function.drop = square_drop;
  results = flam_function_record(&function, &x, 1, &raw, 1, NULL);
  y = flam_tensor_list_get(results, 0);
  CHECK(equals(y, 9, 16) && strstr(flam_tensor_grad_fn_name(y), "Square"));
  sum = flam_sum(y, NULL);
  CHECK(backward(sum, 0) == FLAM_OK && gradient_is(x, 6, -8));
  CHECK(state.released == 1 && state.dropped == 0);
  flam_tensor_release(sum);
  flam_tensor_list_release(results);
  flam_tensor_release(y);
  flam_tensor_release(raw);
  flam_tensor_release(x);
  CHECK(state.dropped == 1);
}

static flam_status one_for_two(void *user, flam_tensor *const *grads, size_t n_grads,
                               flam_tensor **out_grads, size_t n_out_grads) {
  CHECK(n_grads == 2 && n_out_grads == 1);
  out_grads[0] = flam_add(grads[0], grads[1]);
  ++*(int *)user;
  return FLAM_OK;
}

static void count_drop(void *user) { *(int *)user += 100; }

static void test_results_of_a_function(void) {
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = leaf(1, 2), *operand = flam_neg(x), *raw[2], *first;
  flam_tensor_list *results;
  flam_function function;
  flam_function_record_options written;
  int calls = 0;
  flam_scope off = flam_grad_mode_push(0);
  raw[0] = raw[1] = flam_neg(operand);
  CHECK(flam_scope_pop(off) == FLAM_OK);
  memset(&function, 0, sizeof function);
  function.struct_size = sizeof function;
  function.user = &calls;
  function.backward = one_for_two;
  function.materialize_grads = 1;
  function.drop = count_drop;
  results = flam_function_record(&function, &operand, 1, raw, 2, NULL);
  first = flam_tensor_list_get(results, 0);
  CHECK(first == flam_tensor_list_get(results, 1) && flam_tensor_output_nr(first) == 1);
  CHECK(backward(flam_sum(first, NULL), 0) == FLAM_OK && gradient_is(x, -1, -1) && calls == 1);
  flam_function_record_options_init(&written);
  written.dirty = &operand;
  written.n_dirty = 1;
  CHECK(flam_function_record(&function, &operand, 1, raw, 2, &written) == NULL && calls == 101);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD, "not returned as output");
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_scopes_close_in_order();
  test_scopes_belong_to_their_thread();
  test_no_scope_opens_once_a_thread_has_closed_them();
  test_modes();
  test_passes_begin_and_end_at_nodes();
  test_nodes_of_leaves();
  test_backward_and_grad();
  test_an_overwritten_value_is_named();
  test_a_gradient_in_c();
  test_results_of_a_function();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
