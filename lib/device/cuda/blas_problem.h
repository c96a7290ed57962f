// A product as cuBLASLt is asked for it: where its operands lie, in which types it is computed, how
// its operands are aligned. Made for the first product of a key.
#pragma once
#include <cstdint>

#include "device/cuda/blas_plan.h"

namespace flambeau::cuda {

struct BlasTypes {
  int data, compute, scale;  // of cudaDataType_t, cublasComputeType_t, cudaDataType_t
};

struct BlasAlignments {
  uint32_t first, second, c, out;  // of c, where there is none, out's
};

struct BlasProblem {
  BlasPlan plan;
  BlasTypes types;
  BlasAlignments by;
  int64_t batches;
  uint32_t epilogue;

  BlasProblem(const BlasPlan& plan, const hal::SlopedMatmul& p);
};

}  // namespace flambeau::cuda
