// Opening cuSOLVER and cuBLAS, on which it stands: where there is one, there is the other. A failed
// attempt is repeated as that of cuBLASLt is.
#include "device/cuda/solver_library.h"

#include "base/error.h"
#include "device/cuda/toolkit.h"

namespace flambeau::cuda::solver {
namespace {

void bind_solver(Functions& f) {
  const Library lib = open_of_toolkit(
      {"cuSOLVER", "libcusolver.so", "nvidia/cusolver/lib", "nvidia-cusolver", nullptr, 1});
  lib.bind(f.create, "cusolverDnCreate");
  lib.bind(f.set_stream, "cusolverDnSetStream");
  lib.bind(f.create_params, "cusolverDnCreateParams");
  lib.bind(f.potrf_size, "cusolverDnXpotrf_bufferSize");
  lib.bind(f.potrf, "cusolverDnXpotrf");
  lib.bind(f.getrf_size, "cusolverDnXgetrf_bufferSize");
  lib.bind(f.getrf, "cusolverDnXgetrf");
  lib.bind(f.getrs, "cusolverDnXgetrs");
  lib.bind(f.geqrf_size, "cusolverDnXgeqrf_bufferSize");
  lib.bind(f.geqrf, "cusolverDnXgeqrf");
  lib.bind(f.syevd_size, "cusolverDnXsyevd_bufferSize");
  lib.bind(f.syevd, "cusolverDnXsyevd");
  lib.bind(f.gesvd_size, "cusolverDnXgesvd_bufferSize");
  lib.bind(f.gesvd, "cusolverDnXgesvd");
  lib.bind(f.orgqr_size[0], "cusolverDnSorgqr_bufferSize");
  lib.bind(f.orgqr_size[1], "cusolverDnDorgqr_bufferSize");
  lib.bind(f.orgqr[0], "cusolverDnSorgqr");
  lib.bind(f.orgqr[1], "cusolverDnDorgqr");
  lib.bind(f.laswp[0], "cusolverDnSlaswp");
  lib.bind(f.laswp[1], "cusolverDnDlaswp");
  lib.bind(f.potrf_batched[0], "cusolverDnSpotrfBatched");
  lib.bind(f.potrf_batched[1], "cusolverDnDpotrfBatched");
}

void bind_blas(Functions& f) {
  const Library lib =
      open_of_toolkit({"cuBLAS", "libcublas.so", "nvidia/cublas/lib", "nvidia-cublas", nullptr});
  lib.bind(f.blas_create, "cublasCreate_v2");
  lib.bind(f.blas_set_stream, "cublasSetStream_v2");
  lib.bind(f.blas_set_workspace, "cublasSetWorkspace_v2");
  lib.bind(f.trsm[0], "cublasStrsm_v2");
  lib.bind(f.trsm[1], "cublasDtrsm_v2");
  lib.bind(f.trsm_batched[0], "cublasStrsmBatched");
  lib.bind(f.trsm_batched[1], "cublasDtrsmBatched");
  lib.bind(f.getrf_batched[0], "cublasSgetrfBatched");
  lib.bind(f.getrf_batched[1], "cublasDgetrfBatched");
  lib.bind(f.getrs_batched[0], "cublasSgetrsBatched");
  lib.bind(f.getrs_batched[1], "cublasDgetrsBatched");
}

Functions load() {
  Functions f{};
  bind_solver(f);
  bind_blas(f);
  return f;
}

}  // namespace

const Functions& functions() {
  static const Functions f = load();  // an exception leaves it uninitialised
  return f;
}

const Functions* functions_if_any() {
  static FunctionsIfAny<Functions> any;
  return any.get(&functions, "Matrices are factored on the host, to which they are copied: ");
}

}  // namespace flambeau::cuda::solver
