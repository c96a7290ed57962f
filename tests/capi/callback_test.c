/* Code of the program inside the engine: every kind of callback makes temporaries, opens scopes,
 * switches modes and leaves all of it so. The caller sees nothing of it, the temporaries are gone,
 * the results survive, and what a callback keeps is its own, whichever thread ran it. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "pairs.h"

static int calls, opens_a_frame;

/* What a careless callback does first. What it makes is released, be it in the callback's own frame
 * or in one that it opened and nobody pops. */
static void misbehave(void) {
  flam_scope scope;
  ++calls;
  if (opens_a_frame) CHECK(flam_frame_push() != 0);
  CHECK(flam_grad_mode_push(0) != 0);
  flam_autocast_push_options autocast_push_options = FLAM_AUTOCAST_PUSH_OPTIONS_INIT;
  autocast_push_options.dtype = FLAM_BF16;
  CHECK(flam_autocast_push(FLAM_CPU, &scope, &autocast_push_options) == FLAM_OK);
  CHECK(flam_inference_mode_push(0) != 0);
  flam_set_grad_enabled(0);
  CHECK(vector(7, 7) != NULL); /* a temporary */
}

/* Runs `code` in a frame of the caller and checks that calling back left nothing behind. */
#define UNDISTURBED(code)                                  \
  do {                                                     \
    const int before = calls;                              \
    const flam_scope own = flam_frame_push();              \
    code;                                                  \
    CHECK(calls > before && flam_error_code() == FLAM_OK); \
    CHECK(flam_grad_enabled());                            \
    CHECK(!flam_autocast_enabled(FLAM_CPU));               \
    CHECK(flam_frame_pop(own) == FLAM_OK);                 \
  } while (0)

static flam_tensor *leaf(double a, double b) {
  flam_tensor *x = vector(a, b);
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  return x;
}

static flam_status backward(flam_tensor *y) {
  flam_tensor *sum = flam_sum(y, NULL);
  return flam_backward(sum);
}

static flam_tensor *doubled(const flam_tensor *t) { return flam_add(flam_neg(flam_neg(t)), t); }

/* ---- modules and hooks */

static flam_tensor *cache;

static flam_status forward(void *user, flam_tensor *const *inputs, size_t n_inputs,
                           flam_tensor **out) {
  (void)user, (void)n_inputs;
  if (!cache) cache = flam_tensor_keep(flam_relu(inputs[0]));
  misbehave();
  *out = flam_add(doubled(inputs[0]), cache);
  return FLAM_OK;
}

static flam_status after(void *user, const flam_tensor *input, const flam_tensor *output,
                         flam_tensor **out) {
  (void)user, (void)input;
  misbehave();
  *out = doubled(output);
  return FLAM_OK;
}

static void test_modules(void) {
  flam_module_vtable table = {sizeof(flam_module_vtable), NULL, NULL, NULL};
  flam_module_hook_callback hook = {sizeof(flam_module_hook_callback), NULL, NULL, NULL};
  flam_tensor *x = vector(1, 2), *y = NULL;
  flam_module *m;
  int i;
  table.forward = forward;
  hook.call = after;
  m = flam_module_new("Careless", &table);
  for (i = 0; i < 3; ++i) UNDISTURBED(CHECK(equals(flam_module_call(m, x), 3, 6)));
  CHECK(equals(cache, 1, 2));
  flam_hook_release(flam_module_register_hook(m, FLAM_HOOK_FORWARD, &hook));
  CHECK(flam_error_code() == FLAM_OK);
  UNDISTURBED(y = flam_tensor_retain(flam_module_call(m, x)));
  CHECK(equals(y, 6, 12)); /* the caller's frame is gone, its retained result is not */
  flam_tensor_release(y);
  flam_tensor_release(cache);
  cache = NULL;
  flam_tensor_release(x);
  flam_module_release(m);
}

/* ---- gradients */

static flam_status on_gradient(void *user, const flam_tensor *grad, flam_tensor **out) {
  (void)user;
  misbehave();
  *out = doubled(grad);
  return FLAM_OK;
}

static flam_status own_gradient(void *user, flam_tensor *const *grads, size_t n_grads,
                                flam_tensor **out_grads, size_t n_out_grads) {
  (void)user;
  CHECK(n_grads == 1 && n_out_grads == 1);
  misbehave();
  out_grads[0] = doubled(grads[0]);
  return FLAM_OK;
}

static void test_gradients(void) {
  flam_hook_callback hook;
  flam_function function;
  flam_tensor *x = leaf(1, 2), *grad;
  flam_hook *kept;
  memset(&hook, 0, sizeof hook);
  hook.struct_size = sizeof hook;
  hook.call = on_gradient;
  memset(&function, 0, sizeof function);
  function.struct_size = sizeof function;
  function.backward = own_gradient;
  kept = flam_tensor_register_hook(x, &hook);
  UNDISTURBED(CHECK(backward(flam_mul(x, x)) == FLAM_OK));
  grad = flam_tensor_grad(x);
  CHECK(equals(grad, 4, 8));
  flam_tensor_release(grad);
  flam_hook_remove(kept);
  flam_hook_release(kept);
  CHECK(flam_tensor_set_grad(x, NULL) == FLAM_OK);
  UNDISTURBED({
    flam_tensor *raw = vector(5, 5);
    flam_tensor_list *made = flam_function_record(&function, &x, 1, &raw, 1, NULL);
    CHECK(backward(flam_tensor_list_get(made, 0)) == FLAM_OK);
  });
  grad = flam_tensor_grad(x);
  CHECK(equals(grad, 2, 2));
  flam_tensor_release(grad);
  flam_tensor_release(x);
}

static flam_status pack(void *user, const flam_tensor *tensor, void **out_packed) {
  (void)user;
  flam_frame_push(); /* what it returns is opaque: without a frame all that it makes stays */
  misbehave();
  *out_packed = flam_tensor_retain(tensor);
  return FLAM_OK;
}

static flam_status unpack(void *user, void *packed, flam_tensor **out_tensor) {
  (void)user;
  misbehave();
  *out_tensor = flam_neg(flam_neg((flam_tensor *)packed));
  return FLAM_OK;
}

static void drop_packed(void *user, void *packed) {
  (void)user;
  flam_frame_push();
  misbehave();
  flam_tensor_release((flam_tensor *)packed);
}

static void test_saved_values(void) {
  flam_saved_hooks hooks;
  flam_tensor *x = leaf(2, 3), *y = NULL, *grad;
  flam_scope scope;
  memset(&hooks, 0, sizeof hooks);
  hooks.struct_size = sizeof hooks;
  hooks.pack = pack;
  hooks.unpack = unpack;
  hooks.drop_packed = drop_packed;
  CHECK(flam_saved_hooks_push(&hooks, &scope) == FLAM_OK);
  UNDISTURBED(y = flam_tensor_retain(flam_mul(x, x)));
  CHECK(flam_scope_pop(scope) == FLAM_OK);
  UNDISTURBED(CHECK(backward(y) == FLAM_OK));
  grad = flam_tensor_grad(x);
  CHECK(equals(grad, 4, 6));
  flam_tensor_release(grad);
  flam_tensor_release(y);
  flam_tensor_release(x);
}

/* ---- optimizers */

static flam_status closure(void *user, double *out_loss) {
  flam_tensor *x = (flam_tensor *)user;
  CHECK(backward(flam_mul(x, x)) == FLAM_OK); /* recording: its caller's modes do not reach it */
  misbehave();
  *out_loss = 1;
  return FLAM_OK;
}

static flam_status rate(void *user, int64_t epoch, size_t group, double *out_factor) {
  (void)user, (void)epoch, (void)group;
  misbehave();
  *out_factor = 1;
  return FLAM_OK;
}

static void test_optimizers(void) {
  flam_closure loss = {sizeof(flam_closure), NULL, closure, NULL};
  flam_rate_callback factor = {sizeof(flam_rate_callback), NULL, rate, NULL};
  flam_tensor *x = leaf(1, 2);
  flam_rmsprop_options rmsprop_options = FLAM_RMSPROP_OPTIONS_INIT;
  rmsprop_options.lr = 0.5;
  flam_optimizer *o = flam_rmsprop_new(&x, 1, &rmsprop_options);
  double value = 0;
  loss.user = x;
  UNDISTURBED(CHECK(flam_optimizer_step_closure(o, &loss, &value) == FLAM_OK && value == 1));
  UNDISTURBED(CHECK(flam_scheduler_step(flam_lambda_lr_new(o, &factor)) == FLAM_OK));
  flam_optimizer_release(o);
  flam_tensor_release(x);
}

/* ---- data: an item that the program makes lives until the program drops it */

static int64_t eight(void *user) {
  (void)user;
  return 8;
}

static flam_status fetch_item(void *user, const int64_t *indices, size_t n_indices,
                              flam_tensor_list **out_batch, void **out_item) {
  (void)user, (void)n_indices, (void)out_batch;
  *out_item = vector((double)indices[0], 1);
  return FLAM_OK;
}

static flam_status fetch_list(void *user, const int64_t *indices, size_t n_indices,
                              flam_tensor_list **out_batch, void **out_item) {
  flam_tensor *t;
  (void)user, (void)n_indices, (void)out_item;
  if (opens_a_frame) flam_frame_push();
  flam_set_grad_enabled(0);
  t = vector((double)indices[0], 1);
  *out_batch = flam_tensor_list_new(&t, 1);
  CHECK(flam_tensor_list_append(*out_batch, flam_neg(t)) == FLAM_OK);
  return FLAM_OK;
}

static void drop_item(void *item) { flam_tensor_release((flam_tensor *)item); }

static flam_loader *loader_of(flam_status (*fetch)(void *, const int64_t *, size_t,
                                                   flam_tensor_list **, void **),
                              int workers) {
  flam_dataset_vtable table = {sizeof(flam_dataset_vtable), NULL, eight, NULL, drop_item, NULL};
  flam_loader_options options;
  flam_dataset *dataset;
  flam_loader *loader;
  table.fetch = fetch;
  flam_loader_options_init(&options);
  options.num_workers = workers;
  dataset = flam_dataset_new(&table);
  loader = flam_loader_new(dataset, &options);
  flam_dataset_release(dataset);
  return loader;
}

static void test_items(int workers) {
  flam_loader *loader = loader_of(fetch_item, workers);
  int i;
  for (i = 0; i < 8; ++i) {
    const flam_scope frame = flam_frame_push();
    void *item = NULL;
    CHECK(flam_loader_next(loader, NULL, &item) == FLAM_OK && item);
    CHECK(flam_frame_pop(frame) == FLAM_OK);
    CHECK(equals((flam_tensor *)item, i, 1));
    drop_item(item);
  }
  CHECK(flam_loader_next(loader, NULL, NULL) == FLAM_OK); /* the end of the epoch */
  CHECK(flam_loader_next(loader, NULL, NULL) == FLAM_OK); /* an item that nobody wants */
  flam_loader_release(loader);
}

static void test_lists(int workers) {
  flam_loader *loader = loader_of(fetch_list, workers);
  flam_tensor_list *batch = NULL;
  flam_tensor *joined;
  CHECK(flam_loader_next(loader, &batch, NULL) == FLAM_OK && flam_grad_enabled());
  joined = flam_cat(flam_tensor_list_data(batch), flam_tensor_list_size(batch), 0);
  CHECK(flam_tensor_numel(joined) == 4);
  flam_tensor_release(joined);
  flam_tensor_list_release(batch);
  CHECK(flam_loader_next(loader, NULL, NULL) == FLAM_OK);
  flam_loader_release(loader);
}

/* ---- what a callback may not do */

static flam_scope callers;

static flam_status pop_the_callers(void *user, flam_tensor *const *inputs, size_t n_inputs,
                                   flam_tensor **out) {
  (void)user, (void)n_inputs;
  CHECK(flam_scope_pop(callers) == FLAM_ERROR_SCOPE);
  CHECK_ERROR(FLAM_ERROR_SCOPE, "opened by the caller of the callback");
  *out = flam_neg(inputs[0]);
  return FLAM_OK;
}

static void test_the_callers_scopes_stay(void) {
  flam_module_vtable table = {sizeof(flam_module_vtable), NULL, pop_the_callers, NULL};
  flam_module *m = flam_module_new("Greedy", &table);
  callers = flam_frame_push();
  CHECK(equals(flam_module_call(m, vector(1, 2)), -1, -2));
  CHECK(flam_frame_pop(callers) == FLAM_OK);
  flam_module_release(m);
}

static flam_status end_the_process(void *user, flam_tensor *const *inputs, size_t n_inputs,
                                   flam_tensor **out) {
  (void)user, (void)n_inputs, (void)out;
  CHECK(flam_frame_push() != 0 && flam_neg(inputs[0]) != NULL);
  exit(0); /* closes the frames of this thread; the callback's own is on its stack */
}

static void test_a_callback_may_end_the_process(void) {
  flam_module_vtable table = {sizeof(flam_module_vtable), NULL, end_the_process, NULL};
  const pid_t child = fork();
  int status = 0;
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(flam_set_default_device(flam_device_make(FLAM_CPU, 0)) == FLAM_OK);
    flam_frame_push();
    flam_module_call(flam_module_new("Last", &table), vector(1, 2));
    _exit(1);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- other languages, whose objects release their handles */

static flam_tensor *object;

static flam_status make_an_object(void *user, flam_tensor *const *inputs, size_t n_inputs,
                                  flam_tensor **out) {
  flam_scope frame;
  (void)user, (void)n_inputs;
  flam_frame_leave();
  object = flam_neg(inputs[0]);
  frame = flam_frame_push();
  CHECK(flam_abs(inputs[0]) != NULL);
  flam_frame_leave(); /* leaves the callback's frame only */
  CHECK(live() == 4 && flam_frame_pop(frame) == FLAM_OK && live() == 3);
  *out = flam_tensor_retain(object);
  return FLAM_OK;
}

static void test_handles_that_belong_to_objects(void) {
  flam_module_vtable table = {sizeof(flam_module_vtable), NULL, make_an_object, NULL};
  flam_module *m = flam_module_new("Object", &table);
  const flam_scope frame = flam_frame_push();
  flam_tensor *x = vector(1, 2), *y = flam_module_call(m, x);
  flam_frame_leave(); /* this one is no callback's: nothing happens */
  CHECK(y == object && live() == 4);
  CHECK(flam_frame_pop(frame) == FLAM_OK && live() == 2 && equals(object, -1, -2));
  flam_tensor_release(object);
  flam_module_release(m);
  CHECK(live() == 0);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  for (opens_a_frame = 0; opens_a_frame < 2; ++opens_a_frame) {
    test_modules();
    test_gradients();
    test_saved_values();
    test_optimizers();
    test_items(0);
    test_items(2);
    test_lists(0);
    test_lists(2);
    test_the_callers_scopes_stay();
    CHECK(flam_leak_report()[0] == '\0');
  }
  test_handles_that_belong_to_objects();
  test_a_callback_may_end_the_process();
  return 0;
}
