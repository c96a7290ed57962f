/* Errors as C sees them: one check after a chain of calls, the first error kept, NULL operands
 * that carry it on, and records that are taken, moved between threads and given back. */
#include "pairs.h"

#include <pthread.h>

static int dropped;
static void count_drop(void *payload) { dropped += *(int *)payload; }

static void test_success_leaves_the_record_alone(void) {
  flam_tensor *x = vector(1, -2);
  flam_tensor *y = flam_neg(x);
  CHECK(y && flam_error_code() == FLAM_OK);
  CHECK(flam_error_message()[0] == '\0');
  CHECK(flam_error_take() == NULL);
  flam_error_set("stale", NULL, NULL);
  flam_tensor_release(y);
  y = flam_neg(x); /* a stale error never blocks a call whose operands are there */
  CHECK(y && equals(y, -1, 2));
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "stale");
  flam_tensor_release(x);
  flam_tensor_release(y);
}

static void test_a_chain_keeps_its_first_error(void) {
  const int64_t size[1] = {3};
  const double data[3] = {1, 2, 3};
  flam_tensor *x = vector(1, 2);
  flam_tensor *odd = flam_tensor_from_data(data, size, 1, FLAM_F64, NULL);
  flam_tensor *bad = flam_add(x, odd);
  flam_tensor *y;
  CHECK(bad == NULL && flam_error_code() == FLAM_ERROR_SHAPE);
  y = flam_neg(flam_abs(bad));
  CHECK(y == NULL && flam_error_code() == FLAM_ERROR_SHAPE);
  CHECK(strstr(flam_error_message(), "tensor a (2)"));
  CHECK(flam_tensor_to_host(bad, NULL, 0) == FLAM_ERROR_SHAPE);
  CHECK_ERROR(FLAM_ERROR_SHAPE, "tensor a (2)");
  flam_tensor_release(x);
  flam_tensor_release(odd);
}

static void test_a_null_operand_is_named(void) {
  flam_tensor *x = vector(1, 2);
  CHECK(flam_neg(NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_neg: input is NULL");
  CHECK(flam_add(x, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_add: other is NULL");
  CHECK(flam_tensor_from_data(NULL, NULL, 1, FLAM_F64, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_tensor_from_data: size is NULL");
  CHECK(flam_tensor_dim(NULL) == 0 && flam_tensor_sizes(NULL) == NULL);
  flam_tensor_release(NULL);
  CHECK(flam_error_code() == FLAM_OK);
  flam_tensor_release(x);
}

/* A failed bias must not become "no bias". */
static void test_a_nullable_operand_fails_while_an_error_is_pending(void) {
  const int64_t size[2] = {2, 2};
  const double data[4] = {1, 0, 0, 1};
  flam_tensor *x = vector(3, 4);
  flam_tensor *w = flam_tensor_from_data(data, size, 2, FLAM_F64, NULL);
  flam_tensor *y = flam_linear(x, w, NULL);
  CHECK(y && equals(y, 3, 4));
  CHECK(flam_linear(x, w, flam_neg(NULL)) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_neg: input is NULL");
  flam_tensor_release(x);
  flam_tensor_release(w);
  flam_tensor_release(y);
}

static void test_numbers_that_are_no_enumerators(void) {
  flam_tensor *x = vector(1, 2);
  const int64_t size[1] = {2};
  CHECK(flam_tensor_from_data(NULL, size, 1, 99, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no dtype of number 99");
  CHECK(flam_tensor_from_data(NULL, size, 1, -1, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no dtype of number -1");
  flam_tensor_from_data_options tensor_from_data_options = FLAM_TENSOR_FROM_DATA_OPTIONS_INIT;
  tensor_from_data_options.device = 7 << 16;
  CHECK(flam_tensor_from_data(NULL, size, 1, FLAM_F32, &tensor_from_data_options) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no device of code 458752");
  CHECK(flam_mse_loss(x, x, 77) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no flam_reduction of number 77");
  flam_tensor_release(x);
}

static void test_a_refused_call_drops_what_it_was_given(void) {
  int one = 1;
  flam_tensor *x;
  const int64_t size[1] = {2};
  dropped = 0;
  CHECK(flam_tensor_from_blob(&one, NULL, 1, FLAM_F32, count_drop, &one, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "size is NULL");
  CHECK(dropped == 1);
  CHECK(flam_tensor_from_blob(&one, size, 1, 99, count_drop, &one, NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no dtype of number 99");
  CHECK(dropped == 2);
  {
    flam_hook_callback hook;
    memset(&hook, 0, sizeof hook);
    hook.struct_size = sizeof hook;
    hook.user = &one;
    hook.drop = count_drop;
    CHECK(flam_tensor_register_hook(NULL, &hook) == NULL);
    CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_tensor_register_hook: tensor is NULL");
    CHECK(dropped == 3);
    x = vector(1, 2); /* and the hook has no function */
    CHECK(flam_tensor_register_hook(x, &hook) == NULL);
    CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no function");
    CHECK(dropped == 4);
    flam_tensor_release(x);
  }
}

static void test_records_are_taken_and_restored(void) {
  flam_error *first, *second;
  int one = 1, ten = 10;
  dropped = 0;
  flam_error_set("first", &one, count_drop);
  CHECK(flam_error_payload() == &one);
  first = flam_error_take();
  CHECK(first && flam_error_code() == FLAM_OK && flam_error_payload() == NULL);
  CHECK(flam_error_code_of(first) == FLAM_ERROR_CALLBACK);
  CHECK(strcmp(flam_error_message_of(first, FLAM_LANGUAGE_C), "first") == 0);
  flam_error_set("second", &ten, count_drop);
  flam_error_restore(first); /* one is pending already: the first of them stays */
  CHECK(dropped == 1 && strcmp(flam_error_message(), "second") == 0);
  second = flam_error_take();
  flam_error_restore(second);
  CHECK(flam_error_payload() == &ten && dropped == 1);
  flam_error_set("third", NULL, NULL);
  CHECK(dropped == 11);
  flam_error_set(NULL, NULL, NULL);
  CHECK(flam_error_code() == FLAM_ERROR_CALLBACK && flam_error_message()[0] == '\0');
  flam_error_clear();
  flam_error_clear();
  flam_error_release(NULL);
  flam_error_restore(NULL);
  CHECK(flam_error_code() == FLAM_OK);
}

static void *fail_elsewhere(void *out) {
  int *code = (int *)out;
  code[0] = flam_error_code();
  flam_neg(NULL);
  code[1] = flam_error_code();
  return flam_error_take();
}

static void *leave_an_error(void *payload) {
  flam_error_set("left", payload, count_drop);
  return NULL;
}

static void test_every_thread_has_its_own(void) {
  pthread_t thread;
  void *taken;
  int code[2], hundred = 100;
  flam_error_set("mine", NULL, NULL);
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, code) == 0 &&
        pthread_join(thread, &taken) == 0);
  CHECK(code[0] == FLAM_OK && code[1] == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "mine");
  flam_error_restore((flam_error *)taken);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_neg: input is NULL");
  dropped = 0;
  CHECK(pthread_create(&thread, NULL, leave_an_error, &hundred) == 0 &&
        pthread_join(thread, NULL) == 0);
  CHECK(dropped == 100); /* a thread that ends gives its record back */
}

static void test_versions(void) {
  CHECK(flam_version() >> 16 == FLAM_VERSION_MAJOR);
  CHECK(flam_version_require(FLAM_VERSION_MAJOR, FLAM_VERSION_MINOR) == FLAM_OK);
  CHECK(flam_version_require(FLAM_VERSION_MAJOR, FLAM_VERSION_MINOR + 1) == FLAM_ERROR_ABI_VERSION);
  CHECK_ERROR(FLAM_ERROR_ABI_VERSION, "0.");
  CHECK(flam_version_require(FLAM_VERSION_MAJOR + 1, 0) == FLAM_ERROR_ABI_VERSION);
  flam_error_clear();
}

/* Before the library is loaded, and after loading has failed, calls fail and say so. */
static void test_calls_without_a_library(const char *reason) {
  flam_optimizer *nothing = NULL;
  double value = 3;
  CHECK(flam_neg(NULL) == NULL && flam_optimizer_step(nothing) == FLAM_ERROR_LIBRARY_MISSING);
  CHECK(flam_optimizer_lr(nothing, 0) == 0 && flam_tensor_numel(NULL) == 0 && value == 3);
  CHECK(flam_tensor_item_f64(NULL, &value) == FLAM_ERROR_LIBRARY_MISSING && value == 3);
  CHECK(flam_error_code() == FLAM_ERROR_LIBRARY_MISSING);
  flam_tensor_release(NULL);
  flam_error_clear();
  CHECK(strstr(flam_error_message(), reason) != NULL);
}

static void test_a_status_is_the_calls_own(void) {
  flam_tensor *x = vector(1, 2);
  double value = 0;
  flam_neg(NULL);
  CHECK(flam_tensor_item_f64(x, &value) == FLAM_ERROR_SHAPE); /* two elements */
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "flam_neg");       /* the first of the chain */
  flam_neg(NULL);
  CHECK(flam_tensor_item_f64(NULL, &value) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  flam_tensor_release(x);
}

static void test_texts_speak_the_readers_language(void) {
  flam_tensor *x = vector(1, 2);
  flam_error *taken;
  CHECK(flam_bincount(x, NULL, 0) == NULL);
  CHECK(strstr(flam_error_message(), "convert it: flam_to(x, FLAM_I64, FLAM_DEVICE_NONE, NULL)"));
  CHECK(strstr(flam_error_message_in(FLAM_LANGUAGE_PYTHON), "convert it: x.to(int64)"));
  taken = flam_error_take();
  CHECK(strstr(flam_error_message_of(taken, FLAM_LANGUAGE_RUST), "x.to_dtype(Dtype::I64)?"));
  CHECK(flam_error_message_in(FLAM_LANGUAGE_RUST)[0] == '\0');
  flam_error_release(taken);
  flam_error_set("my own: x.to(int64) is None", NULL, NULL); /* a program's words are its own */
  CHECK_ERROR(FLAM_ERROR_CALLBACK, "my own: x.to(int64) is None");
  flam_tensor_release(x);
}

static void test_loading_says_why_it_failed(void) {
  CHECK(strstr(flam_library_load("/nowhere/libflambeau.so.0"), "/nowhere/libflambeau.so.0") !=
        NULL);
  test_calls_without_a_library("/nowhere/libflambeau.so.0");
  CHECK(strstr(flam_library_load("libc.so.6"), "this file is not libflambeau") != NULL);
  test_calls_without_a_library("this file is not libflambeau");
}

/* What failed to load leaves what is loaded in use; loading it again changes nothing. */
static void test_a_library_stays_loaded(void) {
  flam_tensor *x = vector(1, 2);
  flam_tensor *(*const neg)(const flam_tensor *) = flam_neg;
  CHECK(flam_library_load("/nowhere/libflambeau.so.0") != NULL);
  CHECK(flam_neg == neg && equals(flam_neg(x), -1, -2) && flam_error_code() == FLAM_OK);
  CHECK(flam_library_load("libc.so.6") != NULL);
  CHECK(flam_neg == neg && equals(flam_neg(x), -1, -2) && flam_error_code() == FLAM_OK);
  load();
  CHECK(flam_neg == neg && equals(flam_neg(x), -1, -2));
  flam_tensor_release(x);
}

int main(void) {
  test_calls_without_a_library("call flam_library_load(NULL) before any other function");
  test_loading_says_why_it_failed();
  load();
  test_success_leaves_the_record_alone();
  test_a_chain_keeps_its_first_error();
  test_a_status_is_the_calls_own();
  test_texts_speak_the_readers_language();
  test_a_null_operand_is_named();
  test_a_nullable_operand_fails_while_an_error_is_pending();
  test_numbers_that_are_no_enumerators();
  test_a_refused_call_drops_what_it_was_given();
  test_records_are_taken_and_restored();
  test_every_thread_has_its_own();
  test_versions();
  test_a_library_stays_loaded();
  return 0;
}
