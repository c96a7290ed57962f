/* Tensors of two numbers, the smallest that show which element is which; compared by reading them
 * back. */
#ifndef TESTS_CAPI_PAIRS_H
#define TESTS_CAPI_PAIRS_H

#include "check.h"

static flam_tensor* vector(double a, double b) {
  double data[2];
  const int64_t size[1] = {2};
  data[0] = a;
  data[1] = b;
  return flam_tensor_from_data(data, size, 1, FLAM_F64, NULL);
}

static int equals(const flam_tensor* t, double a, double b) {
  double data[2] = {0, 0};
  if (flam_tensor_to_host(t, data, sizeof data) != FLAM_OK) return 0;
  return data[0] == a && data[1] == b;
}

#endif
