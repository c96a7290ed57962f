// The part of cuBLASLt that is used, declared here so that no header of it is needed: its ABI has
// been the same since CUDA 11. Values are those of cublasLt.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "device/library.h"

namespace flambeau::cuda::lt {

using Handle = struct HandleTag*;
using Desc = struct DescTag*;
using Layout = struct LayoutTag*;
using Preference = struct PreferenceTag*;
using NativeStream = void*;

enum : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kArchMismatch = 8,
  kNotSupported = 15
};  // cublasStatus_t
enum : int { kReal32 = 0, kReal64 = 1, kReal16 = 2, kRealBf16 = 14 };  // cudaDataType_t
enum : int { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };    // cublasComputeType_t
enum : int {
  kTransA = 3,
  kTransB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
  kAuxPointer = 11,
  kAuxLd = 12
};  // cublasLtMatmulDescAttributes_t
enum : int { kBatchCount = 5, kBatchOffset = 6 };  // cublasLtMatrixLayoutAttribute_t
enum : int {
  kMaxWorkspace = 1,
  kMinAlignmentA = 5,
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8
};  // cublasLtMatmulPreferenceAttributes_t
// cublasLtEpilogue_t; relu and bias add up. The slope of a GELU (DGELU) is where the aux lies. Sums
// over k of a's rows or of b's columns (BGRADA and BGRADB) are written where a bias would be read.
enum : int {
  kPlain = 1,
  kRelu = 2,
  kBias = 4,
  kGeluSlope = 192,
  kRowSums = 256,
  kColumnSums = 512
};

struct Algo {
  uint64_t data[8];
};
struct Heuristic {
  Algo algo;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct Functions {
  size_t (*version)();
  const char* (*status_name)(int status);
  int (*create)(Handle*);
  int (*desc_create)(Desc*, int compute, int scale);
  int (*desc_set)(Desc, int attribute, const void* value, size_t bytes);
  int (*desc_destroy)(Desc);
  int (*layout_create)(Layout*, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*layout_set)(Layout, int attribute, const void* value, size_t bytes);
  int (*layout_destroy)(Layout);
  int (*preference_create)(Preference*);
  int (*preference_set)(Preference, int attribute, const void* value, size_t bytes);
  int (*preference_destroy)(Preference);
  int (*heuristic)(Handle, Desc, Layout a, Layout b, Layout c, Layout d, Preference, int asked,
                   Heuristic*, int* found);
  int (*matmul)(Handle, Desc, const void* alpha, const void* a, Layout, const void* b, Layout,
                const void* beta, const void* c, Layout, void* d, Layout, const Algo*,
                void* workspace, size_t bytes, NativeStream);
};

// Opens the library on first use.
const Functions& functions();
// Null where it cannot be opened, which is tried again once another directory has been named.
const Functions* functions_if_any();

}  // namespace flambeau::cuda::lt
