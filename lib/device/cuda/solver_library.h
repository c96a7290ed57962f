// The parts of cuSOLVER and cuBLAS that are used, declared here so that no header of theirs is
// needed. Values are those of cusolver_common.h, cublas_api.h and library_types.h; the functions
// without a letter for the type are the 64-bit ones, which CUDA has since 11.1.
#pragma once
#include <cstddef>
#include <cstdint>

namespace flambeau::cuda::solver {

using Handle = struct HandleTag*;          // cusolverDnHandle_t
using Params = struct ParamsTag*;          // cusolverDnParams_t
using BlasHandle = struct BlasHandleTag*;  // cublasHandle_t
using NativeStream = void*;

enum : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kArchMismatch = 4,
  kExecutionFailed = 6,
  kInternalError = 7,
  kNotSupported = 9
};  // cusolverStatus_t
enum : int {
  kBlasNotInitialized = 1,
  kBlasAllocFailed = 3,
  kBlasInvalidValue = 7,
  kBlasArchMismatch = 8,
  kBlasExecutionFailed = 13,
  kBlasInternalError = 14,
  kBlasNotSupported = 15
};  // cublasStatus_t
enum : int { kReal32 = 0, kReal64 = 1 };      // cudaDataType
enum : int { kLower = 0, kUpper = 1 };        // cublasFillMode_t
enum : int { kPlain = 0, kTransposed = 1 };   // cublasOperation_t
enum : int { kLeft = 0 };                     // cublasSideMode_t
enum : int { kNonUnit = 0, kUnit = 1 };       // cublasDiagType_t
enum : int { kNoVectors = 0, kVectors = 1 };  // cusolverEigMode_t

struct Functions {
  int (*create)(Handle*);
  int (*set_stream)(Handle, NativeStream);
  int (*create_params)(Params*);

  int (*potrf_size)(Handle, Params, int uplo, int64_t n, int type, const void* a, int64_t lda,
                    int compute, size_t* device, size_t* host);
  int (*potrf)(Handle, Params, int uplo, int64_t n, int type, void* a, int64_t lda, int compute,
               void* device, size_t, void* host, size_t, int* info);
  int (*getrf_size)(Handle, Params, int64_t m, int64_t n, int type, const void* a, int64_t lda,
                    int compute, size_t* device, size_t* host);
  int (*getrf)(Handle, Params, int64_t m, int64_t n, int type, void* a, int64_t lda,
               int64_t* pivots, int compute, void* device, size_t, void* host, size_t, int* info);
  int (*getrs)(Handle, Params, int trans, int64_t n, int64_t k, int type, const void* a,
               int64_t lda, const int64_t* pivots, int type_b, void* b, int64_t ldb, int* info);
  int (*geqrf_size)(Handle, Params, int64_t m, int64_t n, int type, const void* a, int64_t lda,
                    int type_tau, const void* tau, int compute, size_t* device, size_t* host);
  int (*geqrf)(Handle, Params, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_tau,
               void* tau, int compute, void* device, size_t, void* host, size_t, int* info);
  int (*syevd_size)(Handle, Params, int vectors, int uplo, int64_t n, int type, const void* a,
                    int64_t lda, int type_w, const void* w, int compute, size_t* device,
                    size_t* host);
  int (*syevd)(Handle, Params, int vectors, int uplo, int64_t n, int type, void* a, int64_t lda,
               int type_w, void* w, int compute, void* device, size_t, void* host, size_t,
               int* info);
  int (*gesvd_size)(Handle, Params, signed char u_job, signed char vt_job, int64_t m, int64_t n,
                    int type, const void* a, int64_t lda, int type_s, const void* s, int type_u,
                    const void* u, int64_t ldu, int type_vt, const void* vt, int64_t ldvt,
                    int compute, size_t* device, size_t* host);
  int (*gesvd)(Handle, Params, signed char u_job, signed char vt_job, int64_t m, int64_t n,
               int type, void* a, int64_t lda, int type_s, void* s, int type_u, void* u,
               int64_t ldu, int type_vt, void* vt, int64_t ldvt, int compute, void* device, size_t,
               void* host, size_t, int* info);

  // Of f32 and of f64.
  int (*orgqr_size[2])(Handle, int m, int n, int k, const void* a, int lda, const void* tau,
                       int* elements);
  int (*orgqr[2])(Handle, int m, int n, int k, void* a, int lda, const void* tau, void* work,
                  int elements, int* info);
  int (*laswp[2])(Handle, int n, void* a, int lda, int first, int last, const int* pivots,
                  int step);

  int (*blas_create)(BlasHandle*);
  int (*blas_set_stream)(BlasHandle, NativeStream);
  int (*blas_set_workspace)(BlasHandle, void*, size_t bytes);
  // Of lists of matrices.
  int (*potrf_batched[2])(Handle, int uplo, int n, void* const* a, int lda, int* info, int batches);
  int (*getrf_batched[2])(BlasHandle, int n, void* const* a, int lda, int* pivots, int* info,
                          int batches);
  int (*getrs_batched[2])(BlasHandle, int trans, int n, int k, const void* const* a, int lda,
                          const int* pivots, void* const* b, int ldb, int* info_on_host,
                          int batches);
  int (*trsm_batched[2])(BlasHandle, int side, int uplo, int trans, int diag, int m, int n,
                         const void* alpha, const void* const* a, int lda, void* const* b, int ldb,
                         int batches);
  int (*trsm[2])(BlasHandle, int side, int uplo, int trans, int diag, int m, int n,
                 const void* alpha, const void* a, int lda, void* b, int ldb);
};

// Opens both libraries on first use.
const Functions& functions();
// Null where one cannot be opened, which is tried again once another directory has been named.
const Functions* functions_if_any();

}  // namespace flambeau::cuda::solver
