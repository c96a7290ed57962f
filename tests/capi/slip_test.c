/* A callback that returns FLAM_OK although a call within it failed has failed: programs chain calls
 * and look once. Every kind of callback slips so, with a plausible result, and whoever runs it gets
 * the error of the call that failed; nothing goes on with half a result. test_exports.py asks for
 * each struct of callbacks by name; flam_thread_state is in thread_state_test.c. */
#include "pairs.h"

static int slips; /* the callbacks that have slipped */

static void slip(void) {
  const flam_scope frame = flam_frame_push();
  const int64_t three[] = {3};
  ++slips;
  CHECK(flam_add(vector(1, 2), flam_ones(three, 1, NULL)) == NULL);
  flam_frame_pop(frame);
}

/* Runs a call into which a callback slips, in a frame, and checks that it fails with its error. */
#define SLIPS(call)                                                       \
  do {                                                                    \
    const int before = slips;                                             \
    const flam_scope frame = flam_frame_push();                           \
    call;                                                                 \
    CHECK(slips > before);                                                \
    CHECK_ERROR(FLAM_ERROR_SHAPE, "The size of tensor a (2) must match"); \
    CHECK(flam_frame_pop(frame) == FLAM_OK);                              \
  } while (0)

#define TABLE(type, name) \
  type name;              \
  memset(&name, 0, sizeof name), name.struct_size = sizeof name

static flam_tensor *leaf(void) {
  flam_tensor *x = vector(1, 2);
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  return x;
}

static flam_tensor *square(flam_tensor *x) { return flam_sum(flam_mul(x, x), NULL); }

/* ---- modules */

static flam_status forward(void *user, flam_tensor *const *in, size_t n_in, flam_tensor **out) {
  (void)n_in;
  slip();
  if (user) *out = flam_tensor_retain(in[0]);
  return FLAM_OK;
}

static flam_status after(void *user, const flam_tensor *in, const flam_tensor *y,
                         flam_tensor **out) {
  (void)user, (void)in, (void)y, (void)out;
  slip();
  return FLAM_OK;
}

static void test_modules(void) {
  flam_tensor *x = vector(1, 2);
  flam_module *linear = flam_nn_linear(2, 2, NULL);
  TABLE(flam_module_vtable, table);
  TABLE(flam_module_hook_callback, hook);
  table.forward = forward;
  SLIPS(flam_module_call(flam_module_new("Empty", &table), x));
  table.user = x;
  SLIPS(flam_module_call(flam_module_new("Same", &table), x));
  hook.call = after;
  flam_hook_release(flam_module_register_hook(linear, FLAM_HOOK_FORWARD, &hook));
  SLIPS(flam_module_call(linear, flam_to(x, FLAM_F32, 0, NULL)));
  flam_module_release(linear);
  flam_tensor_release(x);
}

/* ---- backward */

static flam_status on_gradient(void *user, const flam_tensor *grad, flam_tensor **out) {
  (void)user, (void)grad, (void)out;
  slip();
  return FLAM_OK;
}

static flam_status on_node(void *user, flam_tensor *const *given, size_t n_given,
                           flam_tensor *const *seen, size_t n_seen, flam_tensor **out,
                           size_t n_out) {
  (void)user, (void)given, (void)n_given, (void)seen, (void)n_seen, (void)out, (void)n_out;
  slip();
  return FLAM_OK;
}

static flam_status own_gradient(void *user, flam_tensor *const *grads, size_t n_grads,
                                flam_tensor **out_grads, size_t n_out_grads) {
  (void)user, (void)grads, (void)n_grads, (void)out_grads, (void)n_out_grads;
  slip();
  return FLAM_OK;
}

static void test_gradients(void) {
  flam_tensor *x = leaf(), *y = square(x), *raw = vector(5, 5);
  TABLE(flam_hook_callback, hook);
  TABLE(flam_node_hook_callback, node_hook);
  TABLE(flam_function, function);
  flam_node *node = flam_tensor_grad_fn(y);
  hook.call = on_gradient, node_hook.call = on_node, function.backward = own_gradient;
  flam_hook_release(flam_node_register_hook(node, &node_hook, 1));
  SLIPS(flam_backward(y));
  SLIPS({
    flam_tensor *z = flam_neg(x);
    flam_hook_release(flam_tensor_register_hook(z, &hook));
    flam_backward(flam_sum(z, NULL));
  });
  SLIPS({
    flam_tensor_list *made = flam_function_record(&function, &x, 1, &raw, 1, NULL);
    flam_backward(flam_sum(flam_tensor_list_get(made, 0), NULL));
  });
  CHECK(flam_tensor_grad(x) == NULL && flam_error_code() == FLAM_OK);
  flam_node_release(node);
}

static int unpacks_only;

static flam_status pack(void *user, const flam_tensor *tensor, void **out_packed) {
  (void)user;
  if (!unpacks_only) slip();
  *out_packed = flam_neg(tensor); /* which is dropped once, although the call fails */
  return FLAM_OK;
}

static flam_status unpack(void *user, void *packed, flam_tensor **out_tensor) {
  (void)user;
  slip();
  *out_tensor = flam_tensor_retain((flam_tensor *)packed);
  return FLAM_OK;
}

static void drop_packed(void *user, void *packed) {
  (void)user;
  flam_tensor_release((flam_tensor *)packed);
}

static flam_status recompute(void *user, flam_tensor *const *inputs, size_t n_inputs) {
  (void)user, (void)inputs, (void)n_inputs;
  slip(); /* before the value that backward waits for */
  return FLAM_OK;
}

static void test_saved_values(void) {
  flam_tensor *x = leaf(), *y;
  flam_scope scope;
  TABLE(flam_saved_hooks, hooks);
  TABLE(flam_recompute, again);
  hooks.pack = pack, hooks.unpack = unpack, hooks.drop_packed = drop_packed, again.run = recompute;
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_OK);
  SLIPS(square(x));
  unpacks_only = 1;
  y = square(x);
  CHECK(flam_scope_pop(scope) == FLAM_OK);
  SLIPS(flam_backward(y));
  CHECK(flam_checkpoint_push(&again, &x, 1, &scope, NULL) == FLAM_OK);
  y = square(x);
  CHECK(flam_scope_pop(scope) == FLAM_OK);
  SLIPS(flam_backward(y));
}

/* ---- training */

static flam_status closure(void *user, double *out_loss) {
  (void)user;
  slip();
  *out_loss = 1;
  return FLAM_OK;
}

static flam_status rate(void *user, int64_t epoch, size_t group, double *out_factor) {
  (void)user, (void)epoch, (void)group;
  slip();
  *out_factor = 1;
  return FLAM_OK;
}

static flam_status show(void *user, const char *event, const char *text, const char *json) {
  (void)user, (void)event, (void)text, (void)json;
  slip();
  return FLAM_OK;
}

static flam_status warn(void *user, flam_warning kind, const char *message) {
  (void)user, (void)kind, (void)message;
  slip();
  return FLAM_OK;
}

static void test_training(void) {
  const int64_t other[] = {2, 2};
  flam_tensor *x = leaf();
  flam_optimizer *sgd = flam_sgd_new(&x, 1, NULL);
  flam_progress *progress = flam_progress_new(NULL);
  double loss;
  TABLE(flam_closure, evaluate);
  TABLE(flam_rate_callback, factor);
  TABLE(flam_progress_callback, seen);
  TABLE(flam_warning_callback, told);
  evaluate.call = closure, factor.call = rate, seen.show = show, told.warn = warn;
  SLIPS(flam_optimizer_step_closure(sgd, &evaluate, &loss));
  SLIPS(flam_lambda_lr_new(sgd, &factor));
  SLIPS({
    flam_progress_to_callback(progress, &seen, 0);
    flam_progress_say(progress, "half");
  });
  CHECK(flam_set_warning_callback(&told) == FLAM_OK);
  SLIPS(flam_mse_loss(flam_ones(other, 2, NULL), flam_ones(other, 1, NULL), 0));
  flam_set_warning_descriptor(-1);
  CHECK(equals(x, 1, 2));
  flam_progress_release(progress);
  flam_optimizer_release(sgd);
}

/* ---- data */

static int size_slips;

static int64_t eight(void *user) {
  (void)user;
  if (size_slips) slip();
  return 8;
}

static flam_status fetch(void *user, const int64_t *indices, size_t n_indices,
                         flam_tensor_list **out_batch, void **out_item) {
  flam_tensor *t = vector(1, 2);
  (void)user, (void)indices, (void)n_indices, (void)out_item;
  slip();
  *out_batch = flam_tensor_list_new(&t, 1);
  return FLAM_OK;
}

static void test_data(int workers) {
  flam_loader_options options;
  flam_dataset *data;
  flam_loader *loader;
  flam_tensor_list *batch = NULL;
  TABLE(flam_dataset_vtable, table);
  table.size = eight, table.fetch = fetch;
  data = flam_dataset_new(&table);
  flam_loader_options_init(&options);
  options.num_workers = workers;
  loader = flam_loader_new(data, &options);
  SLIPS(flam_loader_next(loader, &batch, NULL));
  CHECK(batch == NULL);
  flam_loader_release(loader);
  size_slips = 1;
  SLIPS(flam_loader_next(flam_loader_new(data, &options), &batch, NULL));
  size_slips = 0;
  flam_dataset_release(data);
}

/* ---- many processes */

static int begin_slips;

static flam_status begin(void *user, size_t bucket, const flam_tensor *buffer, void **out_pending) {
  (void)user, (void)bucket, (void)buffer, (void)out_pending;
  if (begin_slips) slip();
  return FLAM_OK;
}

static flam_status finish(void *user, void *pending, flam_tensor **out_reduced) {
  (void)user, (void)pending, (void)out_reduced;
  if (!begin_slips) slip();
  return FLAM_OK;
}

static flam_status check(void *user) {
  (void)user;
  slip();
  return FLAM_OK;
}

static void test_waits(void) {
  flam_group *group = flam_group_new(flam_store_hash(), 0, 1, NULL);
  TABLE(flam_interrupt_callback, asked);
  asked.check = check;
  CHECK(flam_set_interrupt_callback(&asked) == FLAM_OK);
  SLIPS(flam_work_wait(flam_group_recv(group, vector(1, 2), NULL), -1)); /* nobody sends */
  CHECK(flam_set_interrupt_callback(NULL) == FLAM_OK);
}

static void test_processes(void) {
  flam_store *store = flam_store_hash();
  flam_group *group = flam_group_new(store, 0, 1, NULL);
  for (begin_slips = 0; begin_slips < 2; ++begin_slips) {
    flam_tensor *x = leaf();
    flam_state *parameters = flam_state_new();
    flam_ddp *ddp;
    TABLE(flam_ddp_hook, hook);
    hook.begin = begin, hook.finish = finish;
    CHECK(flam_state_set(parameters, "x", x) == FLAM_OK);
    ddp = flam_ddp_of(group, parameters, NULL, NULL);
    CHECK(flam_ddp_register_hook(ddp, &hook) == FLAM_OK);
    CHECK(flam_ddp_prepare_forward(ddp) == FLAM_OK);
    CHECK(flam_ddp_prepare_backward(ddp, NULL, 0) == FLAM_OK);
    SLIPS(flam_backward(square(x)));
    flam_ddp_release(ddp);
    flam_state_release(parameters);
  }
  flam_group_release(group);
  flam_store_release(store);
}

int main(void) {
  flam_scope all;
  load();
  flam_set_leak_tracking_enabled(1);
  all = flam_frame_push();
  test_modules();
  test_gradients();
  test_saved_values();
  test_training();
  test_processes();
  test_waits();
  test_data(0);
  test_data(2);
  CHECK(flam_frame_pop(all) == FLAM_OK);
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
