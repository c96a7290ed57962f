// A product as cuBLASLt is asked for it: where its operands lie, in which types it is computed, how
// its operands are aligned. The key says all that descriptors and the choice of an algorithm depend
// on, and nothing else, so that what was answered once holds for every product of the same key.
#pragma once
#include <array>
#include <cstdint>

#include "device/cuda/blas_plan.h"

namespace flambeau::cuda {

struct BlasTypes {
  int data, compute, scale;  // of cudaDataType_t, cublasComputeType_t, cudaDataType_t
};

// Bytes, at most 256; of what is absent as much. An algorithm reads by words as wide as these
// allow.
struct BlasAlignments {
  uint32_t first, second, c, out, bias;
};

using BlasKey = std::array<int64_t, 23>;
struct BlasKeyHash {
  size_t operator()(const BlasKey& key) const {
    uint64_t h = 0;
    for (const int64_t v : key) h = (h ^ uint64_t(v)) * 0x9e3779b97f4a7c15, h ^= h >> 29;
    return size_t(h);
  }
};

struct BlasProblem {
  BlasPlan plan;
  BlasTypes types;
  BlasAlignments by;
  int64_t batches;
  uint32_t epilogue;
  BlasKey key;

  BlasProblem(const BlasPlan& plan, const hal::Matmul& p, int device);
};

}  // namespace flambeau::cuda
