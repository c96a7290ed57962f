// A kind of product as cuBLASLt keeps it: descriptors, and the algorithm that it chose. Made once
// and used by every product of the same key, since making and asking cost more than a small
// product. Where a bias, sums or a GELU's input lie is all that changes, for which a call holds the
// lock.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "device/cuda/blas_lt.h"
#include "device/cuda/blas_problem.h"

namespace flambeau::cuda {

// A call of cuBLASLt that failed, thrown within this provider.
struct BlasFailure {
  int status;
  const char* what;
};
void blas_ok(int status, const char* what);
bool blas_unsupported(int status);  // rather than a failure

// Owns an object of cuBLASLt.
template <class T>
class Owned {
 public:
  explicit Owned(int (*destroy)(T)) : destroy_(destroy) {}
  ~Owned() {
    if (value_) destroy_(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* out() { return &value_; }
  operator T() const { return value_; }

 private:
  T value_ = nullptr;
  int (*destroy_)(T);
};

class BlasProduct {
 public:
  // Asks for an algorithm, which may allocate in the middle of a capture.
  BlasProduct(const lt::Functions& f, lt::Handle handle, const BlasProblem& problem,
              const hal::SlopedMatmul& first);

  // Null where cuBLASLt has no algorithm, or had one that then did not run here.
  const lt::Heuristic* algorithm() const {
    return algorithm_ && !given_up_.load(std::memory_order_relaxed) ? &*algorithm_ : nullptr;
  }
  void give_up() { given_up_ = true; }

  // What cuBLASLt would try, its own choice first.
  std::vector<lt::Heuristic> candidates(int most) const { return ask(most); }
  // The one among them that was found to be the fastest; null while none was. The first stays.
  const lt::Heuristic* tuned() const { return tuned_.load(std::memory_order_acquire); }
  const lt::Heuristic* tune(const lt::Heuristic& fastest);

  // Enqueues one product of this kind; the workspace is as large as the algorithm wants.
  int run(const hal::SlopedMatmul& problem, const lt::Heuristic& by, void* workspace,
          lt::NativeStream stream);

 private:
  template <class V>
  void set(int attribute, const V& value);
  void lay_out(Owned<lt::Layout>& layout, const ColumnMatrix& m, const BlasProblem& p);
  std::vector<lt::Heuristic> ask(int most) const;

  const void* vector_of(const hal::Matmul& p) const {  // a bias that is read, sums that are written
    return p.row_sums ? p.row_sums : has_bias_ ? p.c.data : nullptr;
  }
  void point(int attribute, const void*& at, const void* to);
  int enqueue(const hal::Matmul& p, const lt::Heuristic& by, void* workspace,
              lt::NativeStream stream) const;

  const lt::Functions& f_;
  const lt::Handle handle_;
  const bool swapped_, has_c_, has_bias_, wide_;  // of its plan; scaled in f64
  Owned<lt::Desc> desc_{f_.desc_destroy};
  Owned<lt::Layout> first_{f_.layout_destroy}, second_{f_.layout_destroy}, c_{f_.layout_destroy},
      out_{f_.layout_destroy};
  const BlasAlignments by_;
  std::optional<lt::Heuristic> algorithm_, fastest_;
  std::atomic<const lt::Heuristic*> tuned_{nullptr};
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;
  const void *vector_ = nullptr, *aux_ = nullptr;  // that the descriptor names
};

}  // namespace flambeau::cuda
