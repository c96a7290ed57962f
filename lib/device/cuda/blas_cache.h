// What cuBLASLt was told and answered, kept by kind of product, and a handle for each device. One
// lock for both, held while they are looked up and no longer. Handles stay until the process ends,
// when CUDA may be gone; descriptors, which are the host's alone, are given back before.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cuda/blas_key.h"
#include "device/cuda/blas_product.h"

namespace flambeau::cuda {

class BlasCache {
 public:
  static BlasCache& instance();

  std::shared_ptr<BlasProduct> find(const BlasKey& key);  // null: none of its kind was made yet
  std::shared_ptr<BlasProduct> make(const BlasKey& key, const lt::Functions& f, int device,
                                    const BlasProblem& problem, const hal::SlopedMatmul& first);

 private:
  static constexpr size_t kMost = 4096;  // kinds of products

  lt::Handle handle(const lt::Functions& f, int device);
  void close();

  std::mutex mutex_;
  bool closed_ = false;
  std::map<int, lt::Handle> handles_;
  std::unordered_map<BlasKey, std::shared_ptr<BlasProduct>, BlasKeyHash> products_;
};

}  // namespace flambeau::cuda
