/* What a program keeps with a thread goes along where the library goes on upon another one: taken,
 * given there, taken and given back, each state dropped once, and the functions after the last of
 * them. A backward pass deep inside of others is such work. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "pairs.h"

enum { deep = 70 };

typedef struct {
  int taken, given, dropped, gone; /* the calls of each function */
  flam_status fails;               /* with which `take` answers */
  int slips;                       /* whether a call within `take` fails, which it overlooks */
} counts;

static pthread_key_t key; /* of the word that a thread keeps */
static pthread_t bottom;
static int word_below;

static int word(void) { return (int)(intptr_t)pthread_getspecific(key); }
static void say(int w) { CHECK(pthread_setspecific(key, (void *)(intptr_t)w) == 0); }

static flam_status take(void *user, void **out_state) {
  const int64_t three = 3;
  counts *c = (counts *)user;
  if (c->fails != FLAM_OK) {
    flam_error_set("nothing to take", NULL, NULL);
    return c->fails;
  }
  ++c->taken;
  if (c->slips) flam_neg(flam_add(vector(1, 2), flam_ones(&three, 1, NULL)));
  if (word()) {
    int *state = (int *)malloc(sizeof *state);
    CHECK(state != NULL);
    *state = word();
    *out_state = state;
  }
  return FLAM_OK;
}

static flam_status give(void *user, void *state) {
  ++((counts *)user)->given;
  say(state ? *(int *)state : 0);
  return FLAM_OK;
}

static void drop_state(void *user, void *state) {
  ++((counts *)user)->dropped;
  CHECK(state != NULL);
  free(state);
}

static void drop(void *user) { ++((counts *)user)->gone; }

static flam_hook *registered(counts *c) {
  flam_thread_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  state.user = c;
  state.take = take;
  state.give = give;
  state.drop_state = drop_state;
  state.drop = drop;
  return flam_thread_state_register(&state);
}

static flam_status pass(intptr_t left);

static flam_status on_gradient(void *user, const flam_tensor *grad, flam_tensor **out_grad) {
  const intptr_t left = (intptr_t)user;
  (void)grad, (void)out_grad;
  if (left) return pass(left - 1);
  bottom = pthread_self();
  word_below = word();
  if (word()) say(word() + 1);
  return FLAM_OK;
}

/* A backward pass whose hook runs the next one. */
static flam_status pass(intptr_t left) {
  const flam_scope frame = flam_frame_push(), on = flam_grad_mode_push(1);
  flam_hook_callback hook;
  flam_tensor *x = vector(1, 2);
  flam_status status;
  memset(&hook, 0, sizeof hook);
  hook.struct_size = sizeof hook;
  hook.user = (void *)left;
  hook.call = on_gradient;
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  CHECK(flam_tensor_register_hook(x, &hook) != NULL);
  status = flam_backward(flam_sum(x, NULL));
  CHECK(status != FLAM_OK || equals(flam_tensor_grad(x), 1, 1));
  CHECK(flam_scope_pop(on) == FLAM_OK);
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  return status;
}

static void test_a_state_goes_there_and_back(void) {
  counts c = {0, 0, 0, 0, FLAM_OK, 0};
  flam_hook *hook = registered(&c);
  CHECK(hook != NULL);
  say(41);
  CHECK(pass(0) == FLAM_OK && c.taken == 0); /* on this thread nothing need be taken */
  say(41);
  CHECK(pass(deep) == FLAM_OK);
  CHECK(!pthread_equal(bottom, pthread_self()) && word_below == 41 && word() == 42);
  CHECK(c.taken == 2 && c.given == 2 && c.dropped == 2 && c.gone == 0);
  say(0); /* nothing: NULL is given, and never dropped */
  CHECK(pass(deep) == FLAM_OK);
  CHECK(word_below == 0 && word() == 0 && c.taken == 4 && c.given == 4 && c.dropped == 2);
  flam_hook_remove(hook);
  CHECK(c.gone == 1);
  say(41);
  CHECK(pass(deep) == FLAM_OK && word_below == 0 && word() == 41 && c.taken == 4);
  flam_hook_release(hook);
  CHECK(c.gone == 1);
}

static void test_a_released_hook_stays(void) {
  static counts c = {0, 0, 0, 0, FLAM_OK, 0};
  flam_hook_release(registered(&c));
  CHECK(c.gone == 0);
  say(7);
  CHECK(pass(deep) == FLAM_OK && word_below == 7 && word() == 8 && c.dropped == 2);
}

static void test_what_fails(void) {
  counts c = {0, 0, 0, 0, FLAM_ERROR_CALLBACK, 0};
  flam_thread_state none;
  flam_hook *hook = registered(&c);
  CHECK(pass(deep) == FLAM_ERROR_CALLBACK);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "nothing to take");
  c.fails = FLAM_OK;
  c.slips = 1;
  say(7); /* so that there is a state beside the error */
  CHECK(pass(deep) == FLAM_ERROR_SHAPE);
  CHECK_ERROR(FLAM_ERROR_SHAPE, "The size of tensor a (2) must match");
  CHECK(c.given == 0 && c.dropped == 1);
  say(0);
  flam_hook_remove(hook);
  flam_hook_release(hook);
  CHECK(c.gone == 1 && pass(deep) == FLAM_OK);
  memset(&none, 0, sizeof none);
  none.struct_size = sizeof none;
  none.user = &c;
  none.take = take;
  none.drop = drop;
  CHECK(flam_thread_state_register(&none) == NULL && c.gone == 2);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "`take` and `give` are both needed");
  CHECK(flam_thread_state_register(NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "state");
}

int main(void) {
  load();
  CHECK(pthread_key_create(&key, NULL) == 0);
  flam_set_leak_tracking_enabled(1);
  test_what_fails();
  test_a_state_goes_there_and_back();
  test_a_released_hook_stays();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
