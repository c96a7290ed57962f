// CUDA C++ on the CPU: with this header the host compiler builds unchanged kernel sources, and
// `launch` runs their grids with one fiber per thread. Blocks run one after another; within a block
// a thread runs until it waits for others, and who runs next is shuffled by a seed, so a missing
// barrier shows as a wrong result and a barrier that some threads never reach as an error. What a
// kernel says in PTX (matrix instructions, asynchronous copies) it says here by the functions of
// matrix.h and copies.h. Not covered: the copy engine, clusters.
#pragma once
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static  // one block runs at a time
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#include "vector_types.h"

#include "grid.h"

#include "atomics.h"
#include "banks.h"
#include "copies.h"
#include "intrinsics.h"
#include "matrix.h"
#include "traffic.h"
#include "warp.h"

#define threadIdx (::cuda_on_cpu::current->index)
#define blockIdx (::cuda_on_cpu::current->grid->block)
#define blockDim (::cuda_on_cpu::current->grid->block_dim)
#define gridDim (::cuda_on_cpu::current->grid->grid_dim)
#define warpSize 32
