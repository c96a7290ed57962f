/* What the C tests share: they see only the headers, open the library as any program does, and
 * stop at the first line that does not hold. */
#ifndef TESTS_CAPI_CHECK_H
#define TESTS_CAPI_CHECK_H

#define FLAM_LOAD_IMPLEMENTATION
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flambeau/load.h"

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: failed: %s\n  pending error: %s\n", __FILE__, __LINE__, #condition, \
              flam_error_message());                                                              \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

#define CHECK_ERROR(wanted, text)                        \
  do {                                                   \
    CHECK(flam_error_code() == (wanted));                \
    CHECK(strstr(flam_error_message(), (text)) != NULL); \
    flam_error_clear();                                  \
  } while (0)

/* FLAMBEAU_TEST_DEVICE, or the cpu. */
static flam_device device_under_test(void) {
  const char* named = getenv("FLAMBEAU_TEST_DEVICE");
  flam_device device = 0;
  CHECK(flam_device_parse(named ? named : "cpu", &device) == FLAM_OK);
  return device;
}

/* One of its kind; a simulated one where that is the cpu. */
static inline flam_device gpu_under_test(int index) {
  const flam_device_type type = flam_device_type_of(device_under_test());
  return flam_device_make(type == FLAM_CPU ? FLAM_SIM : type, index);
}

/* The library, with tensors on that device where a program names none. */
static void load(void) {
  const char* reason = flam_library_load(NULL);
  if (reason) {
    fprintf(stderr, "%s\n", reason);
    exit(1);
  }
  CHECK(flam_set_default_device(device_under_test()) == FLAM_OK);
}

#endif
