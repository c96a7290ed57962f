// What a kernel source gets for the toolkit's header of this name.
#pragma once
#include "cuda_on_cpu.h"

// Of libraries of kernels, which throw here what they return there.
using cudaError_t = int;
using cudaStream_t = void*;
inline constexpr cudaError_t cudaSuccess = 0;
