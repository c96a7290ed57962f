// Factorizations by cuSOLVER, solutions by triangles and lists of small matrices by cuBLAS. Other
// batches are a call for each matrix, with one question for the workspace, which they share in the
// order of the stream; its part on the host is free again when a call returns. Some functions wait
// for the device within, and none of cuSOLVER's is promised to work in a capture.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/allocator.h"
#include "device/cuda/solver_handles.h"
#include "device/cuda/status.h"
#include "device/factor.h"
#include "device/streams.h"
#include "device/workspace.h"

namespace flambeau::cuda {
namespace {

using hal::FactorKind;
using hal::Status;

constexpr size_t kBlasWorkspace = size_t(4) << 20;  // bytes; it would keep its own for each handle

int narrowed(int64_t n) {
  check(n <= std::numeric_limits<int>::max(), Code::unsupported,
        "cuSOLVER takes no matrix of this kind with ", n,
        " rows or columns; factor it on the host: x.cpu()");
  return int(n);
}

// Memory for one matrix after the other.
struct Space {
  size_t device_bytes = 0, host_bytes = 0, info_bytes = 0;
  void *device = nullptr, *host = nullptr;
  int* info = nullptr;  // of arguments alone, where the program has no flags of its own
};

// What was asked for, on a stream whose handles are this thread's.
class Factoring {
 public:
  Factoring(const solver::Functions& f, const SolverHandles& h, Stream s, const hal::Factor& p)
      : f_(f), h_(h), stream_(s), p_(p) {}
  void enqueue();

 private:
  // Matrix i of those that begin at `first`.
  void* at(void* first, int64_t i, int64_t elements) const {
    return first ? static_cast<std::byte*>(first) + i * elements * (wide_ ? 8 : 4) : nullptr;
  }
  static void* const* list(void* addresses) { return static_cast<void* const*>(addresses); }
  template <class Size, class Each>
  void every(const char* what, const Size& size, const Each& each) const;

  void cholesky();
  void lu();
  void lu_solve();
  void swap_rows();
  void reflections();
  void orthogonal();
  void symmetric();
  void singular();
  void triangle();

  const solver::Functions& f_;
  const SolverHandles& h_;
  const Stream stream_;
  const hal::Factor& p_;
  const bool wide_ = p_.dtype == Dtype::f64;
  const int type_ = wide_ ? solver::kReal64 : solver::kReal32;
};

// Asks `size(space)` and calls `each(space, i)` for every matrix.
template <class Size, class Each>
void Factoring::every(const char* what, const Size& size, const Each& each) const {
  Space space;
  solver_ok(size(space), "asking for a workspace");
  // The larger one first: the stream keeps a block for it.
  const Workspace device(stream_, space.device_bytes, "linalg workspace");
  const Workspace info(stream_, space.info_bytes, "linalg info");
  std::vector<std::byte> host(space.host_bytes);
  space.device = device.data();
  space.host = host.data();
  space.info = static_cast<int*>(info.data());
  for (int64_t i = 0; i < p_.batches; ++i) solver_ok(each(space, i), what);
}

void Factoring::cholesky() {
  if (p_.listed) {
    const int n = narrowed(p_.n);
    return solver_ok(f_.potrf_batched[wide_](h_.solver, solver::kLower, n, list(p_.a), n, p_.info,
                                             narrowed(p_.batches)),
                     "potrfBatched");
  }
  every(
      "potrf",
      [&](Space& w) {
        return f_.potrf_size(h_.solver, h_.params, solver::kLower, p_.n, type_, p_.a, p_.n, type_,
                             &w.device_bytes, &w.host_bytes);
      },
      [&](const Space& w, int64_t i) {
        return f_.potrf(h_.solver, h_.params, solver::kLower, p_.n, type_, at(p_.a, i, p_.n * p_.n),
                        p_.n, type_, w.device, w.device_bytes, w.host, w.host_bytes, p_.info + i);
      });
}

void Factoring::lu() {
  if (p_.listed) {
    const int n = narrowed(p_.n);
    return solver_ok(
        f_.getrf_batched[wide_](h_.blas, n, list(p_.a), n, static_cast<int*>(p_.pivots), p_.info,
                                narrowed(p_.batches)),
        "getrfBatched", true);
  }
  const int64_t k = std::min(p_.m, p_.n);
  every(
      "getrf",
      [&](Space& w) {
        return f_.getrf_size(h_.solver, h_.params, p_.m, p_.n, type_, p_.a, p_.m, type_,
                             &w.device_bytes, &w.host_bytes);
      },
      [&](const Space& w, int64_t i) {
        return f_.getrf(h_.solver, h_.params, p_.m, p_.n, type_, at(p_.a, i, p_.m * p_.n), p_.m,
                        static_cast<int64_t*>(p_.pivots) + i * k, type_, w.device, w.device_bytes,
                        w.host, w.host_bytes, p_.info + i);
      });
}

void Factoring::lu_solve() {
  if (p_.listed) {
    const int n = narrowed(p_.n);
    int info = 0;  // of arguments alone
    return solver_ok(f_.getrs_batched[wide_](h_.blas, solver::kPlain, n, narrowed(p_.k), list(p_.a),
                                             n, static_cast<const int*>(p_.pivots), list(p_.b), n,
                                             &info, narrowed(p_.batches)),
                     "getrsBatched", true);
  }
  const Workspace info(stream_, sizeof(int), "linalg info");  // of arguments alone
  for (int64_t i = 0; i < p_.batches; ++i)
    solver_ok(
        f_.getrs(h_.solver, h_.params, solver::kPlain, p_.n, p_.k, type_, at(p_.a, i, p_.n * p_.n),
                 p_.n, static_cast<const int64_t*>(p_.pivots) + i * p_.n, type_,
                 at(p_.b, i, p_.n * p_.k), p_.n, static_cast<int*>(info.data())),
        "getrs");
}

void Factoring::swap_rows() {
  const int m = narrowed(p_.m), n = narrowed(p_.n), k = narrowed(p_.k);
  for (int64_t i = 0; i < p_.batches; ++i)
    solver_ok(f_.laswp[wide_](h_.solver, n, at(p_.a, i, p_.m * p_.n), m, 1, k,
                              static_cast<const int*>(p_.pivots) + i * p_.k, 1),
              "laswp");
}

void Factoring::reflections() {
  const int64_t k = std::min(p_.m, p_.n);
  every(
      "geqrf",
      [&](Space& w) {
        w.info_bytes = sizeof(int);
        return f_.geqrf_size(h_.solver, h_.params, p_.m, p_.n, type_, p_.a, p_.m, type_, p_.b,
                             type_, &w.device_bytes, &w.host_bytes);
      },
      [&](const Space& w, int64_t i) {
        return f_.geqrf(h_.solver, h_.params, p_.m, p_.n, type_, at(p_.a, i, p_.m * p_.n), p_.m,
                        type_, at(p_.b, i, k), type_, w.device, w.device_bytes, w.host,
                        w.host_bytes, w.info);
      });
}

void Factoring::orthogonal() {
  const int m = narrowed(p_.m), n = narrowed(p_.n), k = narrowed(p_.k);
  int elements = 0;
  every(
      "orgqr",
      [&](Space& w) {
        const int status = f_.orgqr_size[wide_](h_.solver, m, n, k, p_.a, m, p_.b, &elements);
        w.device_bytes = size_t(elements) * (wide_ ? 8 : 4);
        w.info_bytes = sizeof(int);
        return status;
      },
      [&](const Space& w, int64_t i) {
        return f_.orgqr[wide_](h_.solver, m, n, k, at(p_.a, i, p_.m * p_.n), m, at(p_.b, i, p_.k),
                               w.device, elements, w.info);
      });
}

void Factoring::symmetric() {
  const int vectors = p_.vectors ? solver::kVectors : solver::kNoVectors;
  every(
      "syevd",
      [&](Space& w) {
        return f_.syevd_size(h_.solver, h_.params, vectors, solver::kLower, p_.n, type_, p_.a, p_.n,
                             type_, p_.b, type_, &w.device_bytes, &w.host_bytes);
      },
      [&](const Space& w, int64_t i) {
        return f_.syevd(h_.solver, h_.params, vectors, solver::kLower, p_.n, type_,
                        at(p_.a, i, p_.n * p_.n), p_.n, type_, at(p_.b, i, p_.n), type_, w.device,
                        w.device_bytes, w.host, w.host_bytes, p_.info + i);
      });
}

void Factoring::singular() {
  const auto job = static_cast<signed char>(!p_.u ? 'N' : p_.full ? 'A' : 'S');
  const int64_t columns = p_.full ? p_.m : p_.n;
  every(
      "gesvd",
      [&](Space& w) {
        return f_.gesvd_size(h_.solver, h_.params, job, job, p_.m, p_.n, type_, p_.a, p_.m, type_,
                             p_.b, type_, p_.u, p_.m, type_, p_.vt, p_.n, type_, &w.device_bytes,
                             &w.host_bytes);
      },
      [&](const Space& w, int64_t i) {
        return f_.gesvd(h_.solver, h_.params, job, job, p_.m, p_.n, type_, at(p_.a, i, p_.m * p_.n),
                        p_.m, type_, at(p_.b, i, p_.n), type_, at(p_.u, i, p_.m * columns), p_.m,
                        type_, at(p_.vt, i, p_.n * p_.n), p_.n, type_, w.device, w.device_bytes,
                        w.host, w.host_bytes, p_.info + i);
      });
}

void Factoring::triangle() {
  const int n = narrowed(p_.n), k = narrowed(p_.k), step = narrowed(p_.step);
  const int uplo = p_.upper ? solver::kUpper : solver::kLower;
  const int trans = p_.transposed ? solver::kTransposed : solver::kPlain;
  const int diag = p_.unit ? solver::kUnit : solver::kNonUnit;
  const float one = 1;
  const double wide_one = 1;
  const void* const alpha = wide_ ? static_cast<const void*>(&wide_one) : &one;
  const int status =
      p_.listed ? f_.trsm_batched[wide_](h_.blas, solver::kLeft, uplo, trans, diag, n, k, alpha,
                                         list(p_.a), step, list(p_.b), n, narrowed(p_.batches))
                : f_.trsm[wide_](h_.blas, solver::kLeft, uplo, trans, diag, n, k, alpha, p_.a, step,
                                 p_.b, n);
  solver_ok(status, p_.listed ? "trsmBatched" : "trsm", true);
}

void Factoring::enqueue() {
  switch (p_.kind) {
    case FactorKind::cholesky:
      return cholesky();
    case FactorKind::lu:
      return lu();
    case FactorKind::lu_solve:
      return lu_solve();
    case FactorKind::swap_rows:
      return swap_rows();
    case FactorKind::reflections:
      return reflections();
    case FactorKind::orthogonal:
      return orthogonal();
    case FactorKind::symmetric:
      return symmetric();
    case FactorKind::singular:
      return singular();
    case FactorKind::triangle:
      return triangle();
  }
}

bool by_blas(const hal::Factor& p) {
  return p.kind == FactorKind::triangle ||
         (p.listed && (p.kind == FactorKind::lu || p.kind == FactorKind::lu_solve));
}

Status run(Stream s, const hal::Factor& p) {
  const solver::Functions& f = solver::functions();
  SolverHandles& handles = solver_handles(s);
  const std::lock_guard lock(handles.mutex);
  if (!by_blas(p)) {
    make_solver(f, handles, s);
    Factoring(f, handles, s, p).enqueue();
    return Status::ok;
  }
  make_blas(f, handles, s);
  const Workspace space(s, kBlasWorkspace, "linalg workspace");
  solver_ok(f.blas_set_workspace(handles.blas, space.data(), kBlasWorkspace),
            "naming the workspace", true);
  Factoring(f, handles, s, p).enqueue();
  return Status::ok;
}

Status failed_with(const SolverFailure& failure) {
  const cudaError_t cause = cudaGetLastError();  // a device that is lost says so by every call
  if (cause != cudaSuccess) return status_of(cause);
  return failed(failure.meaning(), cat_text(failure.blas ? "cuBLAS: " : "cuSOLVER: ", failure.what,
                                            " failed with ", failure.name()));
}

Status factor(int device, Stream s, const hal::Factor& p) {
  const DeviceGuard guard(device);
  if (guard.error() != cudaSuccess) return status_of(guard.error());
  auto capture = cudaStreamCaptureStatusNone;
  const cudaError_t asked =
      cudaStreamIsCapturing(static_cast<cudaStream_t>(native_stream(s)), &capture);
  if (asked != cudaSuccess) return status_of(asked);
  const bool captured = capture != cudaStreamCaptureStatusNone;
  if (captured && p.kind != FactorKind::triangle)
    return failed(Status::capture,
                  "cuSOLVER promises no factorization in a captured graph; factor before it");
  try {
    return run(s, p);
  } catch (const SolverFailure& failure) {
    if (!failure.made_nothing || failure.meaning() != Status::out_of_memory || captured)
      return failed_with(failure);
  }
  (void)cudaGetLastError();  // of what found no memory: the next launch would fail for it
  allocator_of(s.device).empty_cache();
  try {
    return run(s, p);
  } catch (const SolverFailure& failure) {
    return failed_with(failure);
  }
}

constexpr hal::FactorLibrary kLibrary{[] { return solver::functions_if_any() != nullptr; }, factor};

[[maybe_unused]] const bool entered = (hal::cuda_factors = &kLibrary, true);

}  // namespace
}  // namespace flambeau::cuda
