// The objects of the stand-in for cuBLASLt, by kind. Each has a number of its own that none gets
// again: one that is dead, or was never made, is found by whatever call is given it. All but one
// handle of each device are destroyed before the process ends: CUDA may be gone by then, so that
// the library, as others do, keeps that one.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "device/cuda/blas_lt.h"

namespace flambeau::cuda::lt {

struct HandleTag {
  static constexpr const char* kKind = "handle";
  int device;
};
struct DescTag {
  static constexpr const char* kKind = "descriptor";
  int compute, scale;
  int32_t trans_a = 0, trans_b = 0;
  uint32_t epilogue = kPlain;
  const void *bias = nullptr, *aux = nullptr;
  int64_t aux_ld = 0;
};
struct LayoutTag {
  static constexpr const char* kKind = "layout";
  int type;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batches = 1;
  int64_t step = 0;  // from one matrix of the batch to the next
  bool operator==(const LayoutTag&) const = default;
};
struct PreferenceTag {
  static constexpr const char* kKind = "preference";
  size_t workspace = 0;
  uint32_t aligned[4] = {256, 256, 256, 256};  // a, b, c, d
};

}  // namespace flambeau::cuda::lt

namespace cublaslt {

constexpr int kInvalid = 7;  // CUBLAS_STATUS_INVALID_VALUE

int breach(const char* function, const std::string& text);  // counts it, and gives kInvalid

template <class T> class Living {
 public:
  static Living& all() {
    static Living& made = *new Living;
    return made;
  }
  T* add(const T& value) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(++last_, value);
    return reinterpret_cast<T*>(last_);
  }
  T* find(const T* number) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(reinterpret_cast<uintptr_t>(number));
    return at == objects_.end() ? nullptr : &at->second;
  }
  bool remove(const T* number) {
    const std::lock_guard lock(mutex_);
    return objects_.erase(reinterpret_cast<uintptr_t>(number)) == 1;
  }
  const std::map<uintptr_t, T>& at_the_end() const { return objects_; }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, T> objects_;
  uintptr_t last_ = 0;
};

template <class T> int make(T** out, const T& value) {
  *out = Living<T>::all().add(value);
  return flambeau::cuda::lt::kSuccess;
}
// Null, and a breach, where it is dead.
template <class T> T* live(const char* function, const T* number) {
  T* const found = Living<T>::all().find(number);
  if (!found) breach(function, std::string("a dead ") + T::kKind);
  return found;
}
template <class T> int destroy(const char* function, const T* number) {
  if (Living<T>::all().remove(number)) return flambeau::cuda::lt::kSuccess;
  return breach(function, std::string("a dead ") + T::kKind);
}

}  // namespace cublaslt
