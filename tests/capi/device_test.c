/* Two GPUs of 16 MiB as C sees them: tensors and modules that move, the text of a device
 * mismatch, and running out of memory: what the error says, that nothing is lost, and that a retry
 * succeeds. */
#define _POSIX_C_SOURCE 200112L
#include "pairs.h"

static const int64_t MiB = 1048576;

static flam_device gpu(int index) { return gpu_under_test(index); }

/* Whether the pending error says so; %s stands for the device. */
static int says(const char *text, flam_device device) {
  char whole[200];
  snprintf(whole, sizeof whole, text, flam_device_name(device));
  return strstr(flam_error_message(), whole) != NULL;
}

static flam_tensor *bytes_on(flam_device device, int64_t n) {
  flam_creation_options empty_options = FLAM_CREATION_OPTIONS_INIT;
  empty_options.dtype = FLAM_U8;
  empty_options.device = device;
  return flam_empty(&n, 1, &empty_options);
}

static void test_devices_are_there(void) {
  flam_device named = 0;
  int64_t free_bytes = 0, total = 0;
  const flam_device_type type = flam_device_type_of(gpu(0));
  const char *second = type == FLAM_CUDA ? "cuda:1" : "sim:1";
  CHECK(flam_device_count(type) == 2 && flam_device_is_available(type));
  CHECK(flam_device_parse(second, &named) == FLAM_OK && named == gpu(1));
  CHECK(strcmp(flam_device_name(named), second) == 0 &&
        flam_device_total_memory(named) == 16 * MiB);
  CHECK(flam_device_memory_info(named, &free_bytes, &total) == FLAM_OK && total == 16 * MiB &&
        free_bytes <= total);
  CHECK(gpu(32767) != 0 && gpu(32768) == 0 && gpu(65537) == 0);
  CHECK(flam_device_parse("gpu", &named) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "cuda");
  CHECK(bytes_on(gpu(2), 1) == NULL);
  CHECK(says("%s", gpu(2)));
  flam_error_clear();
}

static void test_tensors_and_modules_move(void) {
  flam_tensor *x = vector(1, 2), *there = flam_to(x, FLAM_DTYPE_NONE, gpu(0), NULL);
  flam_to_options to_options = FLAM_TO_OPTIONS_INIT;
  to_options.non_blocking = 1;
  flam_tensor *over = flam_to(there, FLAM_DTYPE_NONE, gpu(1), &to_options);
  flam_tensor *sum = flam_add(over, over);
  flam_module *module = flam_module_new("Plain", NULL);
  void *data = NULL;
  CHECK(flam_tensor_device(there) == gpu(0) && flam_tensor_device(sum) == gpu(1));
  CHECK(equals(sum, 2, 4));
  CHECK(flam_tensor_host_data(over, &data) == FLAM_ERROR_DEVICE_MISMATCH);
  flam_error_clear();
  CHECK(flam_module_set_parameter(module, "w", x) == FLAM_OK &&
        flam_module_to(module, 0, gpu(1), NULL) == FLAM_OK);
  CHECK(flam_tensor_device(x) == gpu(1) && equals(x, 1, 2)); /* moved in place */
  CHECK(flam_memory_allocated(gpu(1)) > 0);
  flam_tensor_release(x);
  flam_tensor_release(there);
  flam_tensor_release(over);
  flam_tensor_release(sum);
  flam_module_release(module);
  CHECK(flam_device_synchronize(gpu(1)) == FLAM_OK && flam_memory_allocated(gpu(1)) == 0);
}

static void test_a_mismatch_names_every_operand(void) {
  const flam_scope frame = flam_frame_push();
  const int64_t shape[2] = {2, 2};
  flam_creation_options ones_options = FLAM_CREATION_OPTIONS_INIT;
  ones_options.device = gpu(0);
  flam_tensor *x = flam_ones(shape, 2, &ones_options), *w = flam_ones(shape, 2, NULL);
  flam_tensor *b = flam_ones(shape, 1, NULL);
  const char *text;
  CHECK(flam_linear(x, w, b) == NULL && flam_error_code() == FLAM_ERROR_DEVICE_MISMATCH);
  text = flam_error_message();
  CHECK(strstr(text, "flam_linear(") && says("input: f32[2, 2] on %s", gpu(0)));
  CHECK(strstr(text, "weight: f32[2, 2] on cpu") && strstr(text, "bias: f32[2] on cpu"));
  CHECK(says("weight and bias are on cpu, the others on %s", gpu(0)));
  CHECK(strstr(text, "move them: flam_to(weight, FLAM_DTYPE_NONE, flam_device_make(FLAM_"));
  flam_error_clear();
  CHECK(flam_add(x, flam_to(w, FLAM_DTYPE_NONE, gpu(1), NULL)) == NULL);
  CHECK(says("%s", gpu(1)) && says("%s", gpu(0)));
  CHECK_ERROR(FLAM_ERROR_DEVICE_MISMATCH, "add(input: ");
  CHECK(flam_add(x, flam_scalar_f64(1)) && flam_add_f64(x, 1)); /* a number has no device */
  CHECK(flam_frame_pop(frame) == FLAM_OK);
}

static void test_running_out_of_memory(void) {
  flam_tensor *first = bytes_on(gpu(0), 10 * MiB), *second;
  int64_t ooms = -1;
  CHECK(first && bytes_on(gpu(0), 10 * MiB) == NULL &&
        flam_error_code() == FLAM_ERROR_OUT_OF_DEVICE_MEMORY);
  CHECK(says("out of memory", 0) && says("ried to allocate 10.00 MiB", 0) && says("%s", gpu(0)));
  CHECK(says("held by", 0));
  CHECK(flam_neg(bytes_on(gpu(0), 10 * MiB)) == NULL); /* and it goes through a chain */
  CHECK_ERROR(FLAM_ERROR_OUT_OF_DEVICE_MEMORY, "out of memory");
  CHECK(flam_memory_stat(gpu(0), "num_ooms", &ooms) == FLAM_OK && ooms == 2);
  second = bytes_on(gpu(1), 10 * MiB); /* the other device has room */
  CHECK(second != NULL);
  flam_tensor_release(first);
  first = bytes_on(gpu(0), 10 * MiB); /* a retry after a release */
  CHECK(first && flam_memory_allocated(gpu(0)) == 10 * MiB);
  CHECK(bytes_on(gpu(0), 100 * MiB) == NULL);
  CHECK_ERROR(FLAM_ERROR_OUT_OF_DEVICE_MEMORY, "larger than the whole device");
  flam_tensor_release(first);
  flam_tensor_release(second);
  CHECK(flam_memory_allocated(gpu(0)) == 0 && flam_memory_reserved(gpu(0)) > 0);
  CHECK(flam_memory_empty_cache(gpu(0)) == FLAM_OK && flam_memory_reserved(gpu(0)) == 0);
}

static void test_an_allocation_fails_where_it_should(void) {
  flam_tensor *first, *second;
  CHECK(flam_memory_fail_allocation(2, 0) == FLAM_OK);
  first = bytes_on(gpu(0), MiB);
  CHECK(first && bytes_on(gpu(0), MiB) == NULL);
  CHECK_ERROR(FLAM_ERROR_OUT_OF_DEVICE_MEMORY, "out of memory");
  second = bytes_on(gpu(0), MiB); /* once only */
  CHECK(second && flam_memory_fail_allocation(1, 1) == FLAM_OK);
  CHECK(bytes_on(gpu(0), MiB) == NULL);
  flam_error_clear();
  CHECK(bytes_on(gpu(1), MiB) == NULL);
  flam_error_clear();
  CHECK(flam_memory_fail_allocation(-1, 0) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "nth is -1");
  CHECK(flam_memory_fail_allocation(0, 0) == FLAM_OK);
  flam_tensor_release(second);
  second = bytes_on(gpu(1), MiB);
  CHECK(second != NULL);
  flam_tensor_release(first);
  flam_tensor_release(second);
}

int main(void) {
  const char *given = getenv("FLAMBEAU_SIM");
  char text[256];
  sprintf(text, "%.200s,memory=16MiB", given ? given : "devices=2");
  CHECK(setenv("FLAMBEAU_SIM", text, 1) == 0);
  load();
  CHECK(flam_set_default_device(flam_device_make(FLAM_CPU, 0)) == FLAM_OK);
  flam_set_leak_tracking_enabled(1);
  test_devices_are_there();
  test_tensors_and_modules_move();
  test_a_mismatch_names_every_operand();
  test_running_out_of_memory();
  test_an_allocation_fails_where_it_should();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
