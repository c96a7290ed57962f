/* Data parallel training from C: two threads as ranks over one store, a model of named tensors and
 * one of modules, gradients that stay apart, hooks of the program's own and what each of them drops
 * exactly once, what all of it has cost, and errors that name the parameter. */
#include <pthread.h>

#include "pairs.h"

enum { RANKS = 2 };

typedef struct {
  flam_store *store;
  int rank;
} job;

typedef struct {
  const flam_group *group;
  int begun, finished, pending_dropped, dropped;
} counts;

static flam_status begin(void *user, size_t bucket, const flam_tensor *buffer, void **out_pending) {
  counts *c = (counts *)user;
  flam_group_all_reduce_options how = FLAM_GROUP_ALL_REDUCE_OPTIONS_INIT;
  flam_tensor *tensors[1];
  tensors[0] = (flam_tensor *)buffer;
  how.async_op = FLAM_TRUE;
  CHECK(bucket == 0);
  *out_pending = flam_group_all_reduce(c->group, tensors, 1, &how);
  ++c->begun;
  return *out_pending ? FLAM_OK : FLAM_ERROR_CALLBACK;
}

static flam_status finish(void *user, void *pending, flam_tensor **out_reduced) {
  (void)out_reduced; /* the sum is in the bucket */
  ++((counts *)user)->finished;
  return flam_work_wait((flam_work *)pending, 10);
}

static flam_status refuse(void *user, size_t bucket, const flam_tensor *buffer,
                          void **out_pending) {
  (void)user, (void)bucket, (void)buffer, (void)out_pending;
  flam_error_set("nothing is sent today", NULL, NULL);
  return FLAM_ERROR_CALLBACK;
}

static void drop_pending(void *user, void *pending) {
  ++((counts *)user)->pending_dropped;
  flam_work_release((flam_work *)pending);
}

static void drop(void *user) { ++((counts *)user)->dropped; }

static flam_ddp_hook hook_of(counts *c) {
  flam_ddp_hook hook;
  memset(&hook, 0, sizeof hook);
  hook.struct_size = sizeof hook;
  hook.user = c;
  hook.begin = begin;
  hook.finish = finish;
  hook.drop_pending = drop_pending;
  hook.drop = drop;
  return hook;
}

static flam_tensor *parameter(double a, double b) {
  flam_tensor *t = vector(a, b);
  CHECK(flam_tensor_set_requires_grad(t, 1) == FLAM_OK);
  return t;
}

/* loss = sum(a * b * scale), or of a alone */
static void step(flam_ddp *ddp, const flam_tensor *a, const flam_tensor *b, double scale) {
  flam_tensor *loss;
  CHECK(flam_ddp_prepare_forward(ddp) == FLAM_OK);
  loss = flam_sum(flam_mul_f64(b ? flam_mul(a, b) : a, scale), NULL);
  CHECK(flam_ddp_prepare_backward(ddp, &loss, 1) == FLAM_OK);
  CHECK(flam_backward(loss) == FLAM_OK);
}

static void clear(flam_tensor *t) { CHECK(flam_tensor_set_grad(t, NULL) == FLAM_OK); }

static void of_tensors(const flam_group *group, int rank) {
  flam_tensor *a = parameter(2, 3), *b = parameter(rank + 5, 7);
  flam_state *parameters = flam_state_new();
  flam_ddp *ddp;
  flam_scope apart;
  CHECK(flam_state_set(parameters, "a", a) == FLAM_OK);
  CHECK(flam_state_set(parameters, "b", b) == FLAM_OK);
  ddp = flam_ddp_of(group, parameters, NULL, NULL);
  CHECK(ddp != NULL && equals(b, 5, 7)); /* rank 0's */
  CHECK(flam_ddp_bucket_count(ddp) == 1);
  step(ddp, a, b, rank + 1);
  CHECK(equals(flam_tensor_grad(a), 1.5 * 5, 1.5 * 7));
  clear(a), clear(b);
  apart = flam_ddp_no_sync_push(ddp);
  step(ddp, a, b, rank + 1);
  CHECK(equals(flam_tensor_grad(a), (rank + 1) * 5, (rank + 1) * 7));
  CHECK(flam_scope_pop(apart) == FLAM_OK);
  step(ddp, a, b, rank + 1);
  CHECK(equals(flam_tensor_grad(a), 15, 21));
  CHECK(flam_ddp_bucket_set_buffer(ddp, 0, a) == FLAM_ERROR_SHAPE);
  flam_error_clear();
  CHECK(flam_ddp_set_divisor(ddp, 0) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  step(ddp, a, NULL, 1);
  CHECK(flam_ddp_prepare_forward(ddp) == FLAM_ERROR_AUTOGRAD);
  CHECK_ERROR(FLAM_ERROR_AUTOGRAD,
              rank ? "did not receive grad for rank 1: b" : "did not receive grad for rank 0: b");
  flam_ddp_release(ddp);
  step(ddp = flam_ddp_of(group, parameters, NULL, NULL), a, b, 1);
  flam_ddp_release(ddp);
}

static void with_hooks(const flam_group *group, int rank) {
  counts c = {NULL, 0, 0, 0, 0}, never = {NULL, 0, 0, 0, 0};
  flam_tensor *a = parameter(2, 3), *b = parameter(5, 7);
  flam_state *parameters = flam_state_new();
  flam_ddp *ddp;
  flam_ddp_hook hook = hook_of(&c);
  c.group = group;
  CHECK(flam_state_set(parameters, "a", a) == FLAM_OK);
  CHECK(flam_state_set(parameters, "b", b) == FLAM_OK);
  ddp = flam_ddp_of(group, parameters, NULL, NULL);
  CHECK(flam_ddp_register_hook(ddp, &hook) == FLAM_OK);
  step(ddp, a, b, rank + 1);
  CHECK(equals(flam_tensor_grad(a), 15, 21)); /* a sum, and no mean */
  CHECK(c.begun == 1 && c.finished == 1 && c.pending_dropped == 1 && c.dropped == 0);
  hook = hook_of(&never);
  CHECK(flam_ddp_register_hook(ddp, &hook) == FLAM_ERROR_INVALID_ARGUMENT && never.dropped == 1);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "can only be called once");
  flam_ddp_release(ddp);
  CHECK(c.dropped == 1);

  ddp = flam_ddp_of(group, parameters, NULL, NULL);
  hook = hook_of(&c);
  hook.begin = refuse;
  CHECK(flam_ddp_register_hook(ddp, &hook) == FLAM_OK);
  CHECK(flam_ddp_prepare_forward(ddp) == FLAM_OK);
  {
    flam_tensor *loss = flam_sum(flam_mul(a, b), NULL);
    CHECK(flam_ddp_prepare_backward(ddp, &loss, 1) == FLAM_OK);
    CHECK(flam_backward(loss) == FLAM_ERROR_CALLBACK);
    CHECK_ERROR(FLAM_ERROR_CALLBACK, "nothing is sent today");
  }
  flam_ddp_release(ddp);
  CHECK(c.dropped == 2 && c.pending_dropped == 1);
}

static void of_a_module(const flam_group *group, int rank) {
  flam_module *model = flam_nn_linear(2, 1, NULL);
  flam_ddp_new_options how = FLAM_DDP_NEW_OPTIONS_INIT;
  flam_tensor *x = flam_to(vector(rank + 1, rank + 2), FLAM_F32, 0, NULL), *y;
  float grad[2] = {0, 0};
  flam_ddp *ddp;
  how.find_unused_parameters = FLAM_TRUE;
  how.bucket_cap_mb = -1;
  CHECK(flam_ddp_new(group, model, &how) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "bucket_cap_mb");
  how.bucket_cap_mb = 1;
  ddp = flam_ddp_new(group, model, &how);
  CHECK(flam_ddp_compress(ddp, FLAM_F64) == FLAM_ERROR_DTYPE);
  flam_error_clear();
  CHECK(flam_ddp_compress(ddp, FLAM_F16) == FLAM_OK);
  CHECK(flam_ddp_prepare_forward(ddp) == FLAM_OK);
  y = flam_module_call(model, x);
  CHECK(flam_ddp_prepare_backward(ddp, &y, 1) == FLAM_OK);
  CHECK(flam_backward(y) == FLAM_OK);
  y = flam_tensor_grad(flam_module_parameter(model, "weight"));
  CHECK(flam_tensor_to_host(y, grad, sizeof grad) == FLAM_OK && grad[0] == 1.5f && grad[1] == 2.5f);
  flam_ddp_release(ddp);
  flam_module_release(model);
}

/* What the steps above have cost is counted, that of gradients apart. */
static void has_counted(const flam_group *group) {
  double calls = 0, seconds = 0, hidden = 0, offset = 1;
  CHECK(flam_group_stat(group, "ddp.calls", &calls) == FLAM_OK && calls >= 4);
  CHECK(flam_group_stat(group, "ddp.seconds", &seconds) == FLAM_OK && seconds > 0);
  CHECK(flam_group_stat(group, "ddp.hidden_seconds", &hidden) == FLAM_OK && hidden <= seconds);
  CHECK(flam_group_stat(group, "ddp.colour", &calls) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "one of calls, bytes, seconds");
  CHECK(strstr(flam_communication_summary(), "all_reduce (DDP)"));
  CHECK(strstr(flam_communication_stats(), "\"collective\":\"all_reduce\""));
  CHECK(flam_group_align_clocks(group, &offset) == FLAM_OK && offset < 1 && offset > -1);
}

/* What one rank writes into the store of their job, all read. */
static void shares_a_store(const flam_group *group, int64_t rank) {
  const uint8_t said = 7;
  uint8_t found = 0;
  flam_store *store = flam_group_store(group);
  CHECK(store != NULL);
  if (rank == 0) CHECK(flam_store_set(store, "said", &said, 1) == FLAM_OK);
  CHECK(flam_tensor_to_host(flam_store_get(store, "said", 20), &found, 1) == FLAM_OK && found == 7);
  flam_store_release(store);
}

static void *train(void *argument) {
  const job *j = (const job *)argument;
  const flam_scope frame = flam_frame_push();
  flam_group_new_options how = FLAM_GROUP_NEW_OPTIONS_INIT;
  flam_group *group;
  CHECK(flam_set_default_device(device_under_test()) == FLAM_OK);
  how.backend = "local";
  how.timeout = 20;
  group = flam_group_new(j->store, j->rank, RANKS, &how);
  CHECK(group != NULL);
  of_tensors(group, j->rank);
  with_hooks(group, j->rank);
  of_a_module(group, j->rank);
  has_counted(group);
  shares_a_store(group, j->rank);
  CHECK(flam_group_leave(group) == FLAM_OK);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  return NULL;
}

int main(void) {
  pthread_t threads[RANKS];
  job jobs[RANKS];
  flam_store *store;
  int i;
  load();
  store = flam_store_hash();
  for (i = 0; i < RANKS; ++i) {
    jobs[i].store = store;
    jobs[i].rank = i;
    CHECK(pthread_create(&threads[i], NULL, train, &jobs[i]) == 0);
  }
  for (i = 0; i < RANKS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  flam_store_release(store);
  return 0;
}
