/* Tuning from C: switches and limits, what is refused, and a product that was measured, written to
 * a file and read again, where a GPU has a library of products. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <unistd.h>

#include "pairs.h"

static void test_switches_and_limits_hold(void) {
  CHECK(!flam_tuning_enabled() && flam_tuning_measures_enabled());
  flam_set_tuning_measures_enabled(FLAM_FALSE);
  CHECK(!flam_tuning_measures_enabled());
  flam_set_tuning_measures_enabled(FLAM_TRUE);
  CHECK(flam_tuning_duration() == 30 && flam_tuning_iterations() == 100);
  CHECK(flam_set_tuning_duration(-1) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "milliseconds");
  CHECK(flam_set_tuning_iterations(-1) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "iterations");
  CHECK(flam_set_tuning_duration(5) == FLAM_OK && flam_set_tuning_iterations(3) == FLAM_OK);
  CHECK(flam_tuning_duration() == 5 && flam_tuning_iterations() == 3);
  CHECK(strcmp(flam_tuning_results(), "") == 0);
}

static void test_files_that_are_not_there_are_refused(void) {
  CHECK(flam_tuning_read_file("/nowhere/at/all.csv") == FLAM_ERROR_IO);
  CHECK_ERROR(FLAM_ERROR_IO, "/nowhere/at/all.csv");
}

static void test_a_measured_product_survives_in_a_file(void) {
  const char *validators = NULL;
  char path[] = "/tmp/flambeau-tuning-XXXXXX";
  const int file = mkstemp(path);
  flam_tensor *a = flam_reshape(flam_to(vector(1, 2), FLAM_DTYPE_NONE, gpu_under_test(0), NULL),
                                (const int64_t[]){1, 2}, 2);
  CHECK(file >= 0 && close(file) == 0);
  flam_set_tuning_enabled(FLAM_TRUE);
  flam_tensor_release(flam_mm(a, flam_transpose(a, 0, 1)));
  flam_set_tuning_enabled(FLAM_FALSE);
  if (flam_tuning_validators(&validators) == FLAM_OK) {
    CHECK(strstr(validators, "CUBLASLT_VERSION,") != NULL);
    CHECK(strncmp(flam_tuning_results(), "GemmTunableOp_float", 19) == 0);
    CHECK(strstr(flam_tuning_results(), ",1_1_2_1_") != NULL);
    CHECK(flam_tuning_write_file(path) == FLAM_OK && flam_tuning_read_file(path) == FLAM_OK);
    CHECK(flam_tuning_write_file("/nowhere/at/all.csv") == FLAM_ERROR_IO);
    CHECK_ERROR(FLAM_ERROR_IO, "/nowhere/at/all.csv");
  } else {
    CHECK(flam_error_code() == FLAM_ERROR_UNSUPPORTED || flam_error_code() == FLAM_ERROR_NO_GPU);
    flam_error_clear();
    CHECK(strcmp(flam_tuning_results(), "") == 0);
  }
  CHECK(equals(flam_reshape(a, (const int64_t[]){2}, 1), 1, 2));
  CHECK(unlink(path) == 0);
}

int main(void) {
  flam_scope frame;
  CHECK(setenv("FLAMBEAU_SIM", "devices=1,memory=64MiB", 0) == 0);
  load();
  frame = flam_frame_push();
  test_switches_and_limits_hold();
  test_files_that_are_not_there_are_refused();
  test_a_measured_product_survives_in_a_file();
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  return 0;
}
