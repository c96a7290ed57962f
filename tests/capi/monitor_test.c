/* Monitoring from C: readings of a GPU or the reason why there is none, its processes and its
 * properties as JSON, the table, and what is refused. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#include <unistd.h>

#include "pairs.h"

static flam_device gpu(void) { return gpu_under_test(0); }

static void test_readings_are_taken(void) {
  int64_t total = 0, used = 0, left = 0, busy = -1;
  CHECK(flam_monitor_read(gpu(), "memory_total", &total) == FLAM_OK && total > 0);
  CHECK(flam_monitor_read(gpu(), "memory_used", &used) == FLAM_OK && used >= 0);
  CHECK(flam_monitor_read(gpu(), "memory_free", &left) == FLAM_OK && left <= total);
  CHECK(flam_monitor_read(gpu(), "utilization", &busy) == FLAM_OK && busy >= 0 && busy <= 100);
}

static void test_what_is_not_there_is_refused(void) {
  int64_t value = 7;
  CHECK(flam_monitor_read(gpu(), "fan", &value) == FLAM_ERROR_INVALID_ARGUMENT && value == 7);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "memory_used");
  CHECK(flam_monitor_read(flam_device_make(FLAM_CPU, 0), "utilization", &value) ==
        FLAM_ERROR_UNSUPPORTED);
  CHECK_ERROR(FLAM_ERROR_UNSUPPORTED, "cpu");
  CHECK(flam_device_property(gpu(), "colour", &value) == FLAM_ERROR_INVALID_ARGUMENT);
  CHECK_ERROR(FLAM_ERROR_INVALID_ARGUMENT, "warp_size");
}

static void test_texts_name_this_process(void) {
  const char *json = NULL, *list = NULL;
  char pid[32];
  flam_tensor *held = flam_to(vector(1, 2), FLAM_DTYPE_NONE, gpu(), NULL);
  sprintf(pid, "\"pid\": %ld", (long)getpid());
  CHECK(flam_monitor_processes(gpu(), &json) == FLAM_OK && strstr(json, pid) != NULL);
  CHECK(flam_monitor_process_list(gpu(), &list) == FLAM_OK && strncmp(list, "GPU:0", 5) == 0);
  CHECK(strstr(flam_monitor_table(), "MiB in tensors") != NULL);
  CHECK(equals(held, 1, 2));
  flam_tensor_release(held);
}

static void test_properties_are_told(void) {
  const char *json = NULL;
  int64_t warp = 0;
  CHECK(flam_device_property(gpu(), "warp_size", &warp) == FLAM_OK && warp == 32);
  CHECK(flam_device_properties(gpu(), &json) == FLAM_OK);
  CHECK(strncmp(json, "{\"name\": ", 9) == 0 && strstr(json, "\"warp_size\": 32") != NULL);
}

int main(void) {
  flam_scope frame;
  CHECK(setenv("FLAMBEAU_SIM", "devices=1,memory=64MiB", 0) == 0);
  load();
  frame = flam_frame_push();
  test_readings_are_taken();
  test_what_is_not_there_is_refused();
  test_texts_name_this_process();
  test_properties_are_told();
  CHECK(flam_frame_pop(frame) == FLAM_OK);
  return 0;
}
