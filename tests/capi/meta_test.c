/* Tensors without elements as C sees them: a model of any size is described, moved onto a real
 * device empty, and trained there; what would read elements says that there are none. */
#include "pairs.h"

static flam_tensor *on_meta(const int64_t *shape, size_t n) {
  flam_creation_options options = FLAM_CREATION_OPTIONS_INIT;
  options.device = flam_device_make(FLAM_META, -1);
  return flam_empty(shape, n, &options);
}

static void test_the_device(void) {
  const flam_device meta = flam_device_make(FLAM_META, -1);
  flam_device parsed = 0;
  CHECK(flam_device_parse("meta", &parsed) == FLAM_OK && parsed == meta);
  CHECK(flam_device_type_of(meta) == FLAM_META && strcmp(flam_device_name(meta), "meta") == 0);
  CHECK(flam_device_count(FLAM_META) == 1 && flam_device_is_available(FLAM_META));
  CHECK(flam_device_current(FLAM_META) == meta);
  CHECK(flam_device_parse("meta:1", &parsed) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "there is one");
  CHECK(flam_device_synchronize(meta) == FLAM_OK);
}

/* More than any machine has. */
static void test_shapes_without_memory(void) {
  const int64_t shape[] = {INT64_C(1) << 30, INT64_C(1) << 20};
  const int64_t before = flam_memory_allocated(flam_device_make(FLAM_CPU, -1));
  flam_tensor *w = on_meta(shape, 2), *x = on_meta(shape + 1, 1), *y = flam_matmul(w, x);
  CHECK(w && y && flam_tensor_dim(y) == 1 && flam_tensor_numel(y) == shape[0]);
  CHECK(flam_tensor_nbytes(w) == INT64_C(1) << 52 && flam_tensor_data_ptr(w) == NULL);
  CHECK(flam_memory_allocated(flam_device_make(FLAM_CPU, -1)) == before);
  flam_tensor_release(w);
  flam_tensor_release(x);
  flam_tensor_release(y);
}

static void test_gradients_have_shapes(void) {
  const int64_t shape[] = {3, 4};
  flam_tensor *x = on_meta(shape, 2);
  CHECK(flam_tensor_set_requires_grad(x, 1) == FLAM_OK);
  flam_tensor *square = flam_mul(x, x), *loss = flam_sum(square, NULL);
  CHECK(flam_backward(loss) == FLAM_OK);
  flam_tensor *grad = flam_tensor_grad(x);
  CHECK(grad && flam_tensor_numel(grad) == 12 &&
        flam_device_type_of(flam_tensor_device(grad)) == FLAM_META);
  flam_tensor_release(x);
  flam_tensor_release(square);
  flam_tensor_release(loss);
  flam_tensor_release(grad);
}

static void test_no_elements_to_read(void) {
  const int64_t one = 1;
  double number = 0;
  float here[1] = {0};
  void *data = NULL;
  flam_tensor *x = on_meta(&one, 1), *real = vector(1, 2);
  CHECK(flam_tensor_item_f64(x, &number) == FLAM_ERROR_UNSUPPORTED);
  CHECK_ERROR(FLAM_ERROR_UNSUPPORTED, "cannot be called on meta tensors");
  CHECK(flam_tensor_to_host(x, here, sizeof here) == FLAM_ERROR_UNSUPPORTED);
  CHECK_ERROR(FLAM_ERROR_UNSUPPORTED, "Cannot copy out of meta tensor");
  CHECK(flam_tensor_host_data(x, &data) == FLAM_ERROR_DEVICE_MISMATCH);
  flam_error_clear();
  CHECK(flam_to(x, FLAM_DTYPE_NONE, flam_device_make(FLAM_CPU, -1), NULL) == NULL);
  CHECK_ERROR(FLAM_ERROR_UNSUPPORTED, "Cannot copy out of meta tensor");
  CHECK(flam_add(x, real) == NULL);
  CHECK_ERROR(FLAM_ERROR_DEVICE_MISMATCH, "meta");
  CHECK(flam_nonzero(x) == NULL);
  CHECK_ERROR(FLAM_ERROR_UNSUPPORTED, "Cannot copy out of meta tensor");
  CHECK(equals(real, 1, 2)); /* and nothing was written */
  flam_tensor_release(x);
  flam_tensor_release(real);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_the_device();
  test_shapes_without_memory();
  test_gradients_have_shapes();
  test_no_elements_to_read();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
