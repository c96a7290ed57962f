/* The functions of driver.c beside the driver's own, for the stand-ins that are linked to it. */
#ifndef TESTS_HARNESS_CUDA_RUNTIME_DRIVER_H
#define TESTS_HARNESS_CUDA_RUNTIME_DRIVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void standin_makes_context(int device);
void standin_offers(void (*enqueue)(void* stream, const char* name, void (*run)(void*, const void*),
                                    const void* call, size_t bytes));
/* `run(NULL, a copy of the bytes at call)` in the order of the stream. */
void standin_enqueues(void* stream, const char* name, void (*run)(void*, const void*),
                      const void* call, size_t bytes);
void standin_breach(const char* text);
int standin_breaches(void);
void standin_forgive(void);

#ifdef __cplusplus
}
#endif
#endif
