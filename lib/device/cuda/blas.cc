// Running a product: what the cache keeps of its kind, else its plan; a workspace, the call. What
// the library has no way to compute is left to our own product, which is told of once; memory that
// it lacks for itself is made room for as the allocator does.
#include "device/cuda/blas.h"

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/warning.h"
#include "device/allocator.h"
#include "device/cuda/blas_cache.h"
#include "device/cuda/blas_tuning.h"
#include "device/cuda/status.h"
#include "device/streams.h"
#include "device/tuning.h"
#include "device/workspace.h"

namespace flambeau::cuda {
namespace {

// A handle that finds no memory is not initialised, either.
hal::Status meaning(int status) {
  switch (status) {
    case lt::kSuccess:
      return hal::Status::ok;
    case lt::kNotInitialized:
    case lt::kAllocFailed:
      return hal::Status::out_of_memory;
    case lt::kArchMismatch:
    case lt::kNotSupported:
      return hal::Status::unsupported;
    default:
      return hal::Status::internal;
  }
}

hal::Status left_to_us(const std::string& why) {
  static ToldOnce told;
  told.warn(
      "flambeau's own kernel, which is several times slower, computes what cuBLASLt does not: ",
      why);
  return hal::Status::unsupported;
}

// Whether more is asked for than products of our own make.
bool has_more(const hal::SlopedMatmul& p) { return p.row_sums || p.gelu_input.data; }

// The product of this kind, made where it is the first; null where cuBLASLt does not take it.
std::shared_ptr<BlasProduct> product_of(const hal::SlopedMatmul& p, int device) {
  BlasCache& cache = BlasCache::instance();
  const BlasKey key = key_of(p, device);
  if (std::shared_ptr<BlasProduct> known = cache.find(key)) return known;
  const std::optional<BlasPlan> plan = plan_of(p);
  const lt::Functions* const f = plan ? lt::functions_if_any() : nullptr;
  return f ? cache.make(key, *f, device, BlasProblem(*plan, p), p) : nullptr;
}

hal::Status run(Stream s, const hal::SlopedMatmul& p) {
  const DeviceGuard guard(s.device.index);
  if (guard.error() != cudaSuccess) return status_of(guard.error());
  const std::shared_ptr<BlasProduct> product = product_of(p, s.device.index);
  if (!product) return hal::Status::unsupported;
  const lt::Heuristic* chosen = product->algorithm();
  if (tuning::enabled.load(std::memory_order_relaxed)) chosen = tuned_algorithm(s, p, *product);
  if (!chosen && has_more(p)) return hal::Status::unsupported;  // the product alone may be
  if (!chosen)
    return left_to_us(cat_text("it has no algorithm for a product of [", p.m, ", ", p.k, "] by [",
                               p.k, ", ", p.n, "] of dtype ", name_of(p.dtype)));
  const Workspace workspace(s, chosen->workspace, "matmul workspace");
  const int status = product->run(p, *chosen, workspace.data(), native_stream(s));
  if (blas_unsupported(status)) product->give_up();
  blas_ok(status, "the product");
  return hal::Status::ok;
}

hal::Status attempt(Stream s, const hal::SlopedMatmul& problem) try {
  return run(s, problem);
} catch (const BlasFailure& failure) {
  const cudaError_t cause = cudaGetLastError();  // a device that is lost says so by every call
  if (cause != cudaSuccess) return status_of(cause);
  const std::string text = cat_text("cuBLASLt: ", failure.what, " failed with ",
                                    lt::functions().status_name(failure.status));
  const hal::Status status = meaning(failure.status);
  if (status != hal::Status::unsupported) return failed(status, text);
  return has_more(problem) ? status : left_to_us(text);
}

}  // namespace

hal::Status blas_matmul(int, Stream s, const hal::Matmul& problem) {
  return blas_sloped_matmul(s, problem);
}

hal::Status blas_sloped_matmul(Stream s, const hal::SlopedMatmul& problem) {
  const hal::Status status = attempt(s, problem);
  if (status != hal::Status::out_of_memory || allocator_of(s.device).capturing()) return status;
  allocator_of(s.device).empty_cache();
  return attempt(s, problem);
}

}  // namespace flambeau::cuda
