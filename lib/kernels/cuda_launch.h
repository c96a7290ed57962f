// Launching a kernel from its host entry: the same line for nvcc and for the emulator of the tests.
// FLAM_LAUNCH(kernel, grid, block, shared_bytes, stream, args...) converts the arguments to the
// kernel's parameter types and throws where the launch is refused; a template's name goes in
// parentheses, for its commas. FLAM_DYNAMIC_SHARED(T, name) declares the kernel's `shared_bytes` as
// an array of T.
#pragma once

#if defined(FLAM_EMU)

#include "cuda_on_cpu.h"

#define FLAM_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  ::cuda_on_cpu::launch(#kernel, kernel, grid, block, shared_bytes, \
                        stream __VA_OPT__(, ) __VA_ARGS__)
#define FLAM_DYNAMIC_SHARED(T, name) \
  T* const name = static_cast<T*>(::cuda_on_cpu::dynamic_shared())

#else

#include <cuda_runtime.h>

#include <string>
#include <utility>

#include "base/error.h"

#define FLAM_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)   \
  ::flambeau::launch_cuda(#kernel, kernel, grid, block, shared_bytes, \
                          stream __VA_OPT__(, ) __VA_ARGS__)
// One name for all kernels, because every `extern __shared__` of a program is the same array.
#define FLAM_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char flam_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(flam_dynamic_shared)

namespace flambeau {

template <class T> struct Unchanged {
  using type = T;
};  // keeps an argument out of deduction

// What CUDA, or a library of kernels, said to a launch.
[[noreturn]] inline void throw_refused(const char* name, cudaError_t e, std::string facts) {
  (void)cudaGetLastError();  // the next launch must not see this one's error
  const bool no_image = e == cudaErrorNoKernelImageForDevice || e == cudaErrorInvalidDeviceFunction;
  const bool bad = e == cudaErrorInvalidConfiguration || e == cudaErrorInvalidValue ||
                   e == cudaErrorLaunchOutOfResources;
  throw Error(no_image ? Code::no_kernel_image
              : bad    ? Code::internal
                       : Code::device_lost,
              cat_text("CUDA refused to launch ", name, ": ", cudaGetErrorString(e)),
              std::move(facts),
              no_image ? "this GPU needs another build of the library: see flambeau doctor" : "");
}

template <class... P>
void launch_cuda(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
                 void* stream, typename Unchanged<P>::type... args) {
  void* pointers[sizeof...(P) + 1] = {const_cast<void*>(static_cast<const void*>(&args))...,
                                      nullptr};
  const void* entry = reinterpret_cast<const void*>(kernel);
  cudaError_t e = cudaSuccess;
  if (shared_bytes > 48 * 1024) {  // more than every GPU has must be asked for
    e = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared_bytes));
  }
  if (e == cudaSuccess) {
    e = cudaLaunchKernel(entry, grid, block, pointers, shared_bytes,
                         static_cast<cudaStream_t>(stream));
  }
  if (e == cudaSuccess) return;
  throw_refused(name, e,
                cat_text("grid ", grid.x, "x", grid.y, "x", grid.z, ", block ", block.x, "x",
                         block.y, "x", block.z, ", ", shared_bytes, " bytes of shared memory"));
}

}  // namespace flambeau

#endif
