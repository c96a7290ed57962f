/* Weights in files as C sees them: both formats there and back, every dtype, a file that is damaged
 * or cannot be written, and what was there before a failure. */
#include "pairs.h"

#include <unistd.h>

static char path[4096];

/* A file of this process below the folder for passing files. */
static const char *file_named(const char *name) {
  const char *folder = getenv("TMPDIR");
  sprintf(path, "%.2000s/flambeau-%ld-%.200s", folder ? folder : "/tmp", (long)getpid(), name);
  return path;
}

static void round_trip(const char *name) {
  flam_state *state = flam_state_new(), *read;
  flam_tensor *values = vector(0.1, -3), *half, *matrix, *empty;
  const int64_t shape[2] = {1, 2}, none[2] = {0, 3};
  half = flam_to(values, FLAM_BF16, 0, NULL);
  matrix = flam_reshape(values, shape, 2);
  flam_creation_options zeros_options = FLAM_CREATION_OPTIONS_INIT;
  zeros_options.dtype = FLAM_I32;
  empty = flam_zeros(none, 2, &zeros_options);
  CHECK(flam_state_set(state, "net.0.weight", matrix) == FLAM_OK);
  CHECK(flam_state_set(state, "net.0.bias", values) == FLAM_OK);
  CHECK(flam_state_set(state, "half", half) == FLAM_OK &&
        flam_state_set(state, "none", empty) == FLAM_OK);
  CHECK(flam_save(state, file_named(name)) == FLAM_OK);
  read = flam_load(path, 0);
  CHECK(read && flam_state_size(read) == 4 &&
        strcmp(flam_state_name(read, 0), "net.0.weight") == 0);
  flam_tensor_release(matrix);
  flam_tensor_release(empty);
  matrix = flam_state_get(read, "net.0.weight");
  empty = flam_state_get(read, "none");
  CHECK(equals(matrix, 0.1, -3) && flam_tensor_dim(matrix) == 2 &&
        flam_tensor_size(matrix, 1) == 2);
  CHECK(flam_tensor_numel(empty) == 0 && flam_tensor_size(empty, 1) == 3 &&
        flam_tensor_dtype(empty) == FLAM_I32);
  {
    flam_tensor *again = flam_state_get(read, "half");
    uint16_t wrote[2], got[2];
    CHECK(flam_tensor_dtype(again) == FLAM_BF16);
    CHECK(flam_tensor_to_host(half, wrote, sizeof wrote) == FLAM_OK);
    CHECK(flam_tensor_to_host(again, got, sizeof got) == FLAM_OK &&
          memcmp(wrote, got, sizeof got) == 0);
    flam_tensor_release(again);
  }
  CHECK(remove(path) == 0);
  flam_tensor_release(values);
  flam_tensor_release(half);
  flam_tensor_release(matrix);
  flam_tensor_release(empty);
  flam_state_release(state);
  flam_state_release(read);
}

static void test_files_that_cannot_be_had(void) {
  flam_state *state = flam_state_new();
  CHECK(flam_load(file_named("absent.safetensors"), 0) == NULL);
  CHECK_ERROR(FLAM_ERROR_IO, "absent.safetensors");
  CHECK(flam_save(state, file_named("weights.txt")) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, ".safetensors");
  CHECK(flam_save(state, "/nowhere/at/all.safetensors") == FLAM_ERROR_IO);
  CHECK_ERROR(FLAM_ERROR_IO, "/nowhere/at/all");
  CHECK(flam_save(flam_load("", 0), file_named("none.pt")) ==
        FLAM_ERROR_IO); /* the first error is kept */
  flam_error_clear();
  CHECK(access(path, F_OK) != 0);
  flam_state_release(state);
}

static void test_every_cut_of_a_file_is_an_error(void) {
  flam_state *state = flam_state_new();
  flam_tensor *values = vector(1, 2);
  char content[4096];
  size_t size, cut;
  FILE *file;
  CHECK(flam_state_set(state, "x", values) == FLAM_OK);
  CHECK(flam_save(state, file_named("cut.safetensors")) == FLAM_OK);
  file = fopen(path, "rb");
  CHECK(file && (size = fread(content, 1, sizeof content, file)) > 16 && size < sizeof content);
  fclose(file);
  for (cut = 0; cut < size; ++cut) {
    file = fopen(path, "wb");
    CHECK(file && fwrite(content, 1, cut, file) == cut && fclose(file) == 0);
    CHECK(flam_load(path, 0) == NULL);
    CHECK_ERROR(FLAM_ERROR_IO, "cut.safetensors");
  }
  CHECK(remove(path) == 0);
  flam_tensor_release(values);
  flam_state_release(state);
}

int main(void) {
  load();
  flam_set_leak_tracking_enabled(1);
  round_trip("weights.safetensors");
  round_trip("weights.pt");
  test_files_that_cannot_be_had();
  test_every_cut_of_a_file_is_an_error();
  CHECK(flam_leak_report()[0] == '\0');
  return 0;
}
