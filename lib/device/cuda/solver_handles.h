// Handles of cuSOLVER and cuBLAS, one of each for every stream that factors matrices, made on first
// use. A handle is one thread's at a time: whoever has it holds its lock. They stay until the
// process ends, when CUDA may be gone.
#pragma once
#include <mutex>

#include "device/cuda/solver_library.h"
#include "device/hal.h"

namespace flambeau::cuda {

// A call that failed, thrown within this provider.
struct SolverFailure {
  int status;
  const char* what;
  bool blas;                  // by cuBLAS
  bool made_nothing = false;  // it was to make a handle: nothing has been enqueued

  hal::Status meaning() const;
  const char* name() const;  // of the status
};
inline void solver_ok(int status, const char* what, bool blas = false) {
  if (status != solver::kSuccess) throw SolverFailure{status, what, blas};
}

struct SolverHandles {
  std::mutex mutex;
  solver::Handle solver = nullptr;
  solver::Params params = nullptr;
  solver::BlasHandle blas = nullptr;
};

// Those of a stream, to be made with its device current by who has the lock.
SolverHandles& solver_handles(Stream s);
void make_solver(const solver::Functions& f, SolverHandles& h, Stream s);
void make_blas(const solver::Functions& f, SolverHandles& h, Stream s);

}  // namespace flambeau::cuda
