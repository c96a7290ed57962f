// See blas_cache.h. A product is made without the lock, so that threads which meet a new kind
// together may make it twice: the first one stays.
#include "device/cuda/blas_cache.h"

#include <utility>

#include "device/cuda/status.h"

namespace flambeau::cuda {

BlasCache& BlasCache::instance() {
  static BlasCache& cache = *new BlasCache;  // threads may multiply until the process is gone
  static const struct AtTheEnd {
    ~AtTheEnd() { cache.close(); }
  } at_the_end;
  return cache;
}

lt::Handle BlasCache::handle(const lt::Functions& f, int device) {
  const std::lock_guard lock(mutex_);
  lt::Handle& h = handles_[device];
  if (h) return h;
  const RelaxedCapture relaxed;
  blas_ok(f.create(&h), "creating a handle");
  return h;
}

std::shared_ptr<BlasProduct> BlasCache::find(const BlasKey& key) {
  const std::lock_guard lock(mutex_);
  const auto known = products_.find(key);
  return known == products_.end() ? nullptr : known->second;
}

std::shared_ptr<BlasProduct> BlasCache::make(const BlasKey& key, const lt::Functions& f, int device,
                                             const BlasProblem& problem,
                                             const hal::SlopedMatmul& first) {
  auto made = std::make_shared<BlasProduct>(f, handle(f, device), problem, first);
  std::unordered_map<BlasKey, std::shared_ptr<BlasProduct>, BlasKeyHash> old;  // ends unlocked
  const std::lock_guard lock(mutex_);
  if (closed_) return made;
  if (products_.size() >= kMost) old.swap(products_);
  return products_.try_emplace(key, std::move(made)).first->second;
}

void BlasCache::close() {
  decltype(products_) old;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  old.swap(products_);
}

}  // namespace flambeau::cuda
