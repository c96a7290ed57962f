/* What the stand-ins show for NVIDIA's driver, below all of them: a library that opens, its
 * version, which devices have a context, the way to put work on a stream, and the count of breaches
 * of contract, for which the process fails at its end. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

enum { most_devices = 64, invalid_device = 101, broken = 97 };
static int has_context[most_devices], breaches;

typedef void (*enqueue)(void *stream, const char *name, void (*run)(void *, const void *),
                        const void *call, size_t bytes);
static enqueue way;

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

SHOWN void standin_makes_context(int device) {
  if (device >= 0 && device < most_devices) has_context[device] = 1;
}

/* The stand-in for the runtime says how; libraries of kernels use it. */
SHOWN void standin_offers(enqueue given) { way = given; }
SHOWN void standin_enqueues(void *stream, const char *name, void (*run)(void *, const void *),
                            const void *call, size_t bytes) {
  way(stream, name, run, call, bytes);
}

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
