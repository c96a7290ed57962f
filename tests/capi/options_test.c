/* Structs of options of other sizes than the library's: an older header's is shorter and ends where
 * a field does, a newer one's is longer and is taken as long as it sets nothing unknown; garbage is
 * refused with a text that says which. */
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

int main(void) {
  flam_tensor *x;
  load();
  flam_set_leak_tracking_enabled(1);
  x = vector(1, 2);
  test_shorter_structs(x);
  test_longer_structs(x);
  test_what_is_reserved_is_zero(x);
  CHECK(equals(x, 1, 2));
  flam_tensor_release(x);
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
