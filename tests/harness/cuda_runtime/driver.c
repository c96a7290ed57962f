/* What the stand-ins show for NVIDIA's driver, below all of them: a library that opens, its
 * version, which devices have a context, the way to put work on a stream, and the count of breaches
 * of contract, for which the process fails at its end. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

#include "driver.h"

enum { invalid_device = 101, broken = 97 };
static int has_context[most_devices], breaches;

SHOWN int cuDriverGetVersion(int *version) {
  const char *named = getenv("FLAMBEAU_STANDIN_DRIVER");
  *version = named ? atoi(named) : 13000;
  return 0;
}

SHOWN int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (device < 0 || device >= most_devices) return invalid_device;
  *flags = 0;
  *active = has_context[device];
  return 0;
}

static int (*gpus)(void);
static void (*memory_of)(int device, size_t *free_bytes, size_t *total_bytes);

SHOWN void standin_offers_machine(int (*count)(void), void (*memory)(int, size_t *, size_t *)) {
  gpus = count;
  memory_of = memory;
}
SHOWN int standin_machine(void) { return gpus ? gpus() : 0; }
SHOWN void standin_memory(int device, size_t *free_bytes, size_t *total_bytes) {
  memory_of(device, free_bytes, total_bytes);
}

SHOWN void standin_uuid(int gpu, unsigned char out[16]) {
  for (int i = 0; i < 16; ++i) out[i] = (unsigned char)(i == 0 ? 0xa0 + gpu : 0x10 + i);
}

/* "GPU-a1" and the like: all digits of a UUID but the first two are alike. */
static int by_uuid(const char *entry, size_t length) {
  int found = -1;
  for (int gpu = 0; gpu < standin_machine(); ++gpu) {
    unsigned char uuid[16];
    char text[16];
    standin_uuid(gpu, uuid);
    snprintf(text, sizeof text, "GPU-%02x111213", uuid[0]);
    if (length > strlen(text) || strncmp(text, entry, length) != 0) continue;
    if (found >= 0) return -1;
    found = gpu;
  }
  return found;
}

SHOWN int standin_devices(int *out) {
  int shown[most_devices], count = 0;
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  if (!out) out = shown;
  if (!at) {
    for (; count < standin_machine(); ++count) out[count] = count;
    return count;
  }
  while (*at) {
    const size_t length = strcspn(at, ",");
    char *end = NULL;
    const long number = strtol(at, &end, 10);
    const int gpu = strncmp(at, "GPU-", 4) == 0                              ? by_uuid(at, length)
                    : end == at || number < 0 || number >= standin_machine() ? -1
                                                                             : (int)number;
    if (gpu < 0) return count;
    for (int i = 0; i < count; ++i)
      if (out[i] == gpu) return 0;
    out[count++] = gpu;
    at += length;
    if (*at) ++at;
  }
  return count;
}

SHOWN void standin_makes_context(int device) {
  if (device >= 0 && device < most_devices) has_context[device] = 1;
}

static int (*holds)(const void *p, size_t bytes);
SHOWN void standin_offers_memory(int (*given)(const void *, size_t)) { holds = given; }
SHOWN int standin_holds(const void *p, size_t bytes) { return holds(p, bytes); }

/* The stand-in for the runtime says how; libraries of kernels use it. */
static standin_enqueue way;
SHOWN void standin_offers(standin_enqueue given) { way = given; }
SHOWN void standin_enqueues(void *stream, const char *name, void (*run)(void *, const void *),
                            const void *call, size_t bytes, const struct standin_access *accesses,
                            size_t n_accesses) {
  way(stream, name, run, call, bytes, accesses, n_accesses);
}

static struct standin_call (*enter)(const char *name);
static int (*failed)(void);
SHOWN void standin_offers_calls(struct standin_call (*enters)(const char *), int (*fails)(void)) {
  enter = enters;
  failed = fails;
}
SHOWN struct standin_call standin_enters(const char *name) { return enter(name); }
SHOWN int standin_failed(void) { return failed(); }

static const struct standin_tracer *tracer;
SHOWN void standin_offers_tracer(const struct standin_tracer *given) { tracer = given; }
SHOWN const struct standin_tracer *standin_traces(void) { return tracer; }

SHOWN void standin_breach(const char *text) {
  __atomic_add_fetch(&breaches, 1, __ATOMIC_RELAXED);
  fprintf(stderr, "cuda stand-in: %s\n", text);
}
SHOWN int standin_breaches(void) { return __atomic_load_n(&breaches, __ATOMIC_RELAXED); }
SHOWN void standin_forgive(void) { __atomic_store_n(&breaches, 0, __ATOMIC_RELAXED); }

__attribute__((destructor)) static void at_the_end(void) {
  if (!standin_breaches()) return;
  fprintf(stderr, "cuda stand-in: the contract was broken %d times\n", standin_breaches());
  fflush(NULL);
  _exit(broken);
}
