/* A training in C, one call of CUDA's runtime failing in its midst: the step says what that means,
 * the next ones work where the device is not lost, and nothing is held afterwards. Each failure is
 * a process of its own, over the stand-in; elsewhere nothing fails, on the cpu. */
#define _POSIX_C_SOURCE 200112L
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { steps = 40, numbers = 64 };

struct failure {
  const char *how; /* call, error, calls that pass before it, how often */
  flam_status code;
  const char *text;
};

static const struct failure failures[] = {
    {"cudaMalloc:2:20:3", FLAM_ERROR_OUT_OF_DEVICE_MEMORY, "16.00 MiB"},
    {"cudaLaunchKernel:209:200:1", FLAM_ERROR_NO_KERNEL_IMAGE, "this GPU's architecture"},
    {"cudaMemcpyAsync:999:20:1", FLAM_ERROR_INTERNAL, "cudaErrorUnknown"},
    {"cudaLaunchKernel:719:200:1", FLAM_ERROR_DEVICE_LOST, "unspecified launch failure"},
    {"cudaMemcpyAsync:220:20:1", FLAM_ERROR_DEVICE_LOST, "NVLink"},
};

static flam_creation_options on(flam_device device) {
  flam_creation_options options = FLAM_CREATION_OPTIONS_INIT;
  options.device = device;
  return options;
}

static flam_tensor *filled(double value, flam_device device) {
  const flam_creation_options options = on(device);
  const int64_t n = numbers;
  return flam_full_f64(&n, 1, value, &options);
}

/* One step of w towards the target; FLAM_OK, or what the thread's error says. */
static flam_status step(flam_tensor *w, flam_optimizer *sgd, flam_device device, double *out_loss) {
  const flam_scope frame = flam_frame_push();
  const flam_creation_options options = on(device);
  const int64_t many = 4 << 20; /* which each step asks the device for */
  flam_tensor *large = flam_empty(&many, 1, &options), *target = filled(3, device);
  flam_tensor *loss = large ? flam_mse_loss(w, target, FLAM_REDUCTION_SUM) : NULL;
  float value = 0;
  flam_status status = loss ? flam_backward(loss) : flam_error_code();
  if (status == FLAM_OK) status = flam_optimizer_step(sgd);
  if (status == FLAM_OK) status = flam_tensor_to_host(loss, &value, sizeof value);
  *out_loss = value;
  flam_optimizer_zero_grad(sgd, 1);
  flam_frame_pop(frame);
  return status;
}

static void check_learning(flam_tensor *w, flam_optimizer *sgd, flam_device device,
                           const struct failure *f) {
  double first = 0, last = 0;
  int i, failed = 0;
  int64_t held = 0;
  for (i = 0; i < steps; ++i) {
    double loss = 0;
    const flam_status status = step(w, sgd, device, &loss);
    if (status != FLAM_OK) {
      CHECK(f && ++failed && i > 3);
      CHECK_ERROR(f->code, f->text);
    } else {
      CHECK(!failed || f->code != FLAM_ERROR_DEVICE_LOST);
      last = loss;
    }
    if (i == 0) first = last, held = flam_memory_allocated(device);
    CHECK(flam_memory_allocated(device) == held);
    flam_memory_empty_cache(device);
    flam_error_clear();
  }
  CHECK(!f || failed == 1 || (failed > 1 && f->code == FLAM_ERROR_DEVICE_LOST));
  CHECK(first > 0 && last < first / 2);
}

static void train(const struct failure *f) {
  flam_sgd_options options = FLAM_SGD_OPTIONS_INIT;
  flam_device device;
  flam_tensor *w;
  flam_optimizer *sgd;
  CHECK(!f || setenv("FLAMBEAU_STANDIN_FAIL", f->how, 1) == 0);
  load();
  flam_set_leak_tracking_enabled(1);
  device = flam_device_make(f ? FLAM_CUDA : FLAM_CPU, f ? 0 : -1);
  w = filled(0, device);
  CHECK(flam_tensor_set_requires_grad(w, 1) == FLAM_OK);
  options.lr = 0.05;
  sgd = flam_sgd_new(&w, 1, &options);
  CHECK(sgd != NULL);
  check_learning(w, sgd, device, f);
  flam_optimizer_release(sgd);
  flam_tensor_release(w);
  CHECK(flam_leak_report()[0] == '\0');
  exit(0);
}

int main(void) {
  const char *library = getenv("FLAMBEAU_LIBRARY");
  size_t i;
  if (!library || !strstr(library, "/standin/")) train(NULL);
  for (i = 0; i < sizeof failures / sizeof *failures; ++i) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) train(&failures[i]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      fprintf(stderr, "%s: ended with %d\n", failures[i].how, status);
      return 1;
    }
  }
  return 0;
}
