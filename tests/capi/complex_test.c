/* Complex numbers as C sees them: a bare one is an operand that promotes by its category, and the
 * only element of a tensor comes back as two parts, which one number cannot hold. */
#include <math.h>

#include "pairs.h"

static void test_a_bare_number_is_an_operand(void) {
  double real = 0, imag = 0, ends[4];
  flam_tensor *x = vector(1, 2), *i = flam_scalar_c128(0.5, -2), *y = flam_mul(x, i), *sum;
  CHECK(i && flam_tensor_dim(i) == 0 && flam_tensor_dtype(i) == FLAM_C128);
  CHECK(flam_tensor_dtype(y) == FLAM_C128);
  CHECK(flam_tensor_to_host(y, ends, sizeof ends) == FLAM_OK);
  CHECK(ends[0] == 0.5 && ends[1] == -2 && ends[2] == 1 && ends[3] == -4);
  CHECK(equals(x, 1, 2));
  sum = flam_sum(y, NULL);
  CHECK(flam_tensor_item_c128(sum, &real, &imag) == FLAM_OK && real == 1.5 && imag == -6);
  CHECK(flam_tensor_item_f64(sum, &real) != FLAM_OK && real == 1.5);
  flam_error_clear();
  flam_tensor_release(x);
  flam_tensor_release(i);
  flam_tensor_release(y);
  flam_tensor_release(sum);
}

/* It has no width of its own: reals of half the width stay that. */
static void test_it_promotes_by_category(void) {
  const float data[1] = {2};
  const int64_t one = 1;
  double real = 0, imag = 0;
  flam_tensor *x = flam_tensor_from_data(data, &one, 1, FLAM_F32, NULL);
  flam_tensor *i = flam_scalar_c128(0, 1), *y = flam_mul(x, i);
  CHECK(flam_tensor_dtype(y) == FLAM_C64);
  CHECK(flam_tensor_item_c128(y, &real, &imag) == FLAM_OK && real == 0 && imag == 2);
  flam_tensor_release(x);
  flam_tensor_release(i);
  flam_tensor_release(y);
}

static void test_the_only_element(void) {
  double real = 7, imag = 7;
  flam_tensor *x = vector(3, 4), *first = flam_select(x, 0, 0), *zero;
  CHECK(flam_tensor_item_c128(first, &real, &imag) == FLAM_OK && real == 3 && imag == 0);
  imag = 7;
  CHECK(flam_tensor_item_c128(x, &real, &imag) == FLAM_ERROR_SHAPE && real == 3 && imag == 7);
  flam_error_clear();
  zero = flam_scalar_c128(-0.0, -0.0);
  CHECK(flam_tensor_item_c128(zero, &real, &imag) == FLAM_OK && signbit(real) && signbit(imag));
  CHECK(flam_tensor_item_c128(zero, &real, NULL) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  CHECK(flam_tensor_item_c128(NULL, &real, &imag) == FLAM_ERROR_INVALID_ARGUMENT);
  flam_error_clear();
  flam_tensor_release(x);
  flam_tensor_release(first);
  flam_tensor_release(zero);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  test_a_bare_number_is_an_operand();
  test_it_promotes_by_category();
  test_the_only_element();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
