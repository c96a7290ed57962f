// Making handles; see solver_handles.h. One that could be made in part alone stays so, and what is
// missing is asked for again by the next call.
#include "device/cuda/solver_handles.h"

#include <map>
#include <utility>

#include "device/cuda/status.h"
#include "device/streams.h"

namespace flambeau::cuda {

SolverHandles& solver_handles(Stream s) {
  static std::mutex& mutex = *new std::mutex;  // threads may factor until the process is gone
  static auto& all = *new std::map<std::pair<int, void*>, SolverHandles>;
  const std::lock_guard lock(mutex);
  return all[{s.device.index, native_stream(s)}];
}

namespace {

// *object, made where there is none yet.
template <class T>
void make(int (*create)(T*), T& object, bool blas) {
  if (object) return;
  const RelaxedCapture relaxed;
  T made = nullptr;
  const int status = create(&made);
  if (status != solver::kSuccess) throw SolverFailure{status, "creating a handle", blas, true};
  object = made;
}

}  // namespace

void make_solver(const solver::Functions& f, SolverHandles& h, Stream s) {
  make(f.create, h.solver, false);
  make(f.create_params, h.params, false);
  solver_ok(f.set_stream(h.solver, native_stream(s)), "naming the stream");
}

void make_blas(const solver::Functions& f, SolverHandles& h, Stream s) {
  make(f.blas_create, h.blas, true);
  solver_ok(f.blas_set_stream(h.blas, native_stream(s)), "naming the stream", true);
}

// A handle that finds no memory is not initialised, either.
hal::Status SolverFailure::meaning() const {
  using namespace solver;
  const int of_memory = blas ? int(kBlasAllocFailed) : int(kAllocFailed);
  const int of_kind = blas ? int(kBlasNotSupported) : int(kNotSupported);
  if (status == kNotInitialized || status == of_memory) return hal::Status::out_of_memory;
  return status == of_kind ? hal::Status::unsupported : hal::Status::internal;
}

const char* SolverFailure::name() const {
  using namespace solver;
  static constexpr struct {
    int status, of_blas;
    const char *name, *name_of_blas;
  } known[] = {{kNotInitialized, kBlasNotInitialized, "CUSOLVER_STATUS_NOT_INITIALIZED",
                "CUBLAS_STATUS_NOT_INITIALIZED"},
               {kAllocFailed, kBlasAllocFailed, "CUSOLVER_STATUS_ALLOC_FAILED",
                "CUBLAS_STATUS_ALLOC_FAILED"},
               {kInvalidValue, kBlasInvalidValue, "CUSOLVER_STATUS_INVALID_VALUE",
                "CUBLAS_STATUS_INVALID_VALUE"},
               {kArchMismatch, kBlasArchMismatch, "CUSOLVER_STATUS_ARCH_MISMATCH",
                "CUBLAS_STATUS_ARCH_MISMATCH"},
               {kExecutionFailed, kBlasExecutionFailed, "CUSOLVER_STATUS_EXECUTION_FAILED",
                "CUBLAS_STATUS_EXECUTION_FAILED"},
               {kInternalError, kBlasInternalError, "CUSOLVER_STATUS_INTERNAL_ERROR",
                "CUBLAS_STATUS_INTERNAL_ERROR"},
               {kNotSupported, kBlasNotSupported, "CUSOLVER_STATUS_NOT_SUPPORTED",
                "CUBLAS_STATUS_NOT_SUPPORTED"}};
  for (const auto& k : known)
    if (status == (blas ? k.of_blas : k.status)) return blas ? k.name_of_blas : k.name;
  return blas ? "another cublasStatus_t" : "another cusolverStatus_t";
}

}  // namespace flambeau::cuda
