/* The functions of driver.c beside the driver's own, for the stand-ins that are linked to it. */
#ifndef TESTS_HARNESS_CUDA_RUNTIME_DRIVER_H
#define TESTS_HARNESS_CUDA_RUNTIME_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { most_devices = 64 };

void standin_makes_context(int device);
/* The machine's GPUs, and how to ask for the memory of a device by CUDA's number. */
void standin_offers_machine(int (*count)(void),
                            void (*memory)(int device, size_t* free_bytes, size_t* total_bytes));
int standin_machine(void);
void standin_memory(int device, size_t* free_bytes, size_t* total_bytes);
/* Which of them CUDA_VISIBLE_DEVICES shows, in CUDA's order; how many. */
int standin_devices(int* out);
void standin_uuid(int gpu, unsigned char out[16]);
struct standin_access {
  const void* data;
  size_t bytes;
  int write;
};
typedef void (*standin_enqueue)(void* stream, const char* name, void (*run)(void*, const void*),
                                const void* call, size_t bytes,
                                const struct standin_access* accesses, size_t n_accesses);
void standin_offers(standin_enqueue given);
/* `run(NULL, a copy of the bytes at call)`, which touches that memory, in the order of `stream`. */
void standin_enqueues(void* stream, const char* name, void (*run)(void*, const void*),
                      const void* call, size_t bytes, const struct standin_access* accesses,
                      size_t n_accesses);

/* A library's call into CUDA: the thread's device, whether a capture forbids it to allocate, and
 * the cudaError_t that a test asked for instead of success; then what else went wrong in it. */
struct standin_call {
  int device, unsafe, error;
};
void standin_offers_calls(struct standin_call (*enter)(const char* name), int (*failed)(void));
struct standin_call standin_enters(const char* name);
int standin_failed(void);

/* What devices ran (0: a kernel, 1: a copy, 2: a fill), on the host's steady clock, and the number
 * that the thread which launched it had named. */
struct standin_activity {
  int kind, device;
  unsigned stream;
  const char* name;
  int64_t begin, end;
  uint64_t number;
};
/* `take` tells of what is done, and answers whether that is all. */
struct standin_tracer {
  void (*on)(int whether);
  void (*launch)(uint64_t number);
  int (*take)(void (*tell)(const struct standin_activity*));
};
void standin_offers_tracer(const struct standin_tracer* given);
const struct standin_tracer* standin_traces(void);

/* Whether all these bytes are memory of the calling thread's device. */
void standin_offers_memory(int (*holds)(const void* p, size_t bytes));
int standin_holds(const void* p, size_t bytes);
void standin_breach(const char* text);
int standin_breaches(void);
void standin_forgive(void);

#ifdef __cplusplus
}
#endif
#endif
