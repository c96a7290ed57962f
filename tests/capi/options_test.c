/* Structs of options of other sizes than the library's: an older header's is shorter and ends where
 * a field does, a newer one's is longer and is taken as long as it sets nothing unknown; garbage is
 * refused with a text that says which. A list is set with its count, and 0 is no choice. */
#include "pairs.h"

typedef struct {
  flam_dims_options known;
  double later; /* of a header to come */
} longer;

static flam_tensor *summed(const flam_tensor *x, const flam_dims_options *options) {
  return flam_amax(x, options);
}

static void test_shorter_structs(const flam_tensor *x) {
  const int64_t last = -1;
  flam_dims_options options = FLAM_DIMS_OPTIONS_INIT;
  flam_tensor *y;
  options.dim = &last;
  options.n_dim = 1;
  options.keepdim = 1;
  options.struct_size = offsetof(flam_dims_options, keepdim); /* keepdim has its default */
  y = summed(x, &options);
  CHECK(flam_tensor_dim(y) == 0);
  flam_tensor_release(y);
  options.struct_size = offsetof(flam_dims_options, reserved);
  y = summed(x, &options);
  CHECK(flam_tensor_dim(y) == 1);
  flam_tensor_release(y);
  options.struct_size = offsetof(flam_dims_options, keepdim) + 2;
  CHECK(summed(x, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no field ends there");
  options.struct_size = sizeof(size_t);
  CHECK(summed(x, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no field ends there");
}

static void test_longer_structs(const flam_tensor *x) {
  longer options = {FLAM_DIMS_OPTIONS_INIT, 0};
  flam_tensor *y;
  options.known.struct_size = sizeof options;
  options.known.keepdim = 1;
  y = summed(x, &options.known);
  CHECK(flam_tensor_dim(y) == 1);
  flam_tensor_release(y);
  options.later = 0.5;
  CHECK(summed(x, &options.known) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "an option of newer headers");
  options.known.struct_size = (size_t)-1;
  CHECK(summed(x, &options.known) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "no field ends there");
}

static void test_what_is_reserved_is_zero(const flam_tensor *x) {
  flam_dims_options options = FLAM_DIMS_OPTIONS_INIT;
  options.reserved = 7;
  CHECK(summed(x, &options) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "reserved is 7, and must be 0");
}

/* A list whose count was forgotten is refused, where no entries are not a value of their own. */
static void test_lists_have_counts(const flam_tensor *x) {
  const int64_t last = -1, size[] = {1, 1, 3, 3}, one = 1;
  flam_tensor *image = flam_ones(size, 4, NULL), *kernel = flam_ones(size, 4, NULL), *y;
  flam_reduce_options sum = FLAM_REDUCE_OPTIONS_INIT;
  flam_conv_options conv = FLAM_CONV_OPTIONS_INIT;
  flam_autograd_backward_options backward = FLAM_AUTOGRAD_BACKWARD_OPTIONS_INIT;
  flam_dims_options all = FLAM_DIMS_OPTIONS_INIT;
  sum.dim = &last;
  CHECK(flam_sum(x, &sum) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "options->dim is set and its count is 0");
  conv.padding = &one;
  CHECK(flam_conv2d(image, kernel, NULL, &conv) == NULL);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "options->padding is set and its count is 0");
  backward.inputs = &image;
  CHECK(flam_autograd_backward(&image, 1, &backward) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "options->inputs is set and its count is 0");
  all.dim = &last; /* over no dimensions: each element's truth */
  y = flam_all(x, &all);
  CHECK(flam_tensor_numel(y) == 2);
  flam_tensor_release(y);
  flam_tensor_release(image);
  flam_tensor_release(kernel);
}

/* 0 is no choice: the default, wherever there is one. */
static void test_no_choice_is_the_default(const flam_tensor *x) {
  flam_tensor *y = flam_zeros_like(x, NULL), *loss = flam_mse_loss(x, y, 0), *rows;
  flam_triangle_indices_options corner = FLAM_TRIANGLE_INDICES_OPTIONS_INIT;
  double mean = 0;
  CHECK(flam_tensor_item_f64(loss, &mean) == FLAM_OK && mean == 2.5);
  corner.dtype = 0;
  rows = flam_tril_indices(2, 2, &corner);
  CHECK(flam_tensor_dtype(rows) == FLAM_I64);
  flam_tensor_release(y);
  flam_tensor_release(loss);
  flam_tensor_release(rows);
}

int main(void) {
  flam_tensor *x;
  load();
  flam_set_leak_tracking_enabled(1);
  x = vector(1, 2);
  test_shorter_structs(x);
  test_longer_structs(x);
  test_what_is_reserved_is_zero(x);
  test_lists_have_counts(x);
  test_no_choice_is_the_default(x);
  CHECK(equals(x, 1, 2));
  flam_tensor_release(x);
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
