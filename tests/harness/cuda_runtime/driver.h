/* The functions of driver.c beside the driver's own, for the stand-ins that are linked to it. */
#ifndef TESTS_HARNESS_CUDA_RUNTIME_DRIVER_H
#define TESTS_HARNESS_CUDA_RUNTIME_DRIVER_H

#include <stddef.h>

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
