/* How many handles the program holds, from the report of leaks, which it turns on first. */
#ifndef TESTS_CAPI_LIVE_H
#define TESTS_CAPI_LIVE_H

#include "check.h"

static int live(void) {
  int count = 0, n = 0;
  const char* line;
  for (line = flam_leak_report(); *line; line = strchr(line, '\n') + 1) {
    CHECK(sscanf(line, "%d x ", &n) == 1);
    count += n;
  }
  return count;
}

#endif
