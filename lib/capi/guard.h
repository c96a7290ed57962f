// What stands between a generated shim and its C++ target: NULL propagation, conversion of arguments, the
// exception barrier, and the hand-over of results. Nothing here allocates or locks where a call succeeds.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/thread_local.h"
#include "capi/objects.h"
#include "flambeau/common.h"
#include "tensor/tensor.h"

namespace flambeau::capi {

// ---- the error record (error.cc) -------------------------------------------------------------------------

inline FLAM_THREAD_LOCAL flam_error* t_error = nullptr;  // this thread's first failure since it was cleared

flam_status pending_code() noexcept;
// Records the exception in flight unless an error is pending, and returns the pending code.
flam_status record_exception(const char* function) noexcept;
// A NULL where a handle is needed: the pending error's code, or a new error that names the argument.
flam_status null_operand(const char* function, const char* argument) noexcept;

// ---- handles ---------------------------------------------------------------------------------------------

// Set while handles must be written down: a frame is open on this thread, or leaks are tracked.
struct Frame;
inline FLAM_THREAD_LOCAL Frame* t_frame = nullptr;
inline bool tracking_handles = false;

void note_handle(RefCounted* object, const char* function);
void forget_handle(RefCounted* object) noexcept;

inline flam_tensor* give(Tensor t, const char* function) {
  TensorImpl* impl = t.detach_handle();
  if ((t_frame || tracking_handles) && impl) [[unlikely]] note_handle(impl, function);
  return reinterpret_cast<flam_tensor*>(impl);
}

template <class T> T* give(Ref<T> object, const char* function) {
  T* p = object.detach();
  if ((t_frame || tracking_handles) && p) [[unlikely]] note_handle(p, function);
  return p;
}

inline flam_tensor_list* give(std::vector<Tensor> list, const char* function) {
  return give(make_list(std::move(list)), function);
}

template <class T> void release_handle(T* object) noexcept {
  if (!object) return;
  RefCounted* counted;
  if constexpr (std::is_same_v<T, flam_tensor>) {
    counted = reinterpret_cast<TensorImpl*>(object);
  } else {
    counted = object;
  }
  if (t_frame || tracking_handles) [[unlikely]] forget_handle(counted);
  counted->release();
}

// ---- arguments -------------------------------------------------------------------------------------------

// A Tensor is one pointer, so a handle's bits are a Tensor that nobody counts.
inline const Tensor& as_tensor(flam_tensor* const& handle) {
  static_assert(sizeof(Tensor) == sizeof(handle));
  return reinterpret_cast<const Tensor&>(handle);
}
inline const Tensor& as_tensor(const flam_tensor* const& handle) {
  return reinterpret_cast<const Tensor&>(handle);
}
inline TensorsView as_tensors(const flam_tensor* const* handles, size_t n) {
  return {reinterpret_cast<const Tensor*>(handles), n};
}
inline TensorsView as_tensors(flam_tensor* const* handles, size_t n) {
  return {reinterpret_cast<const Tensor*>(handles), n};
}
inline bool has_null(TensorsView list) {
  for (const Tensor& t : list) {
    if (!t) return true;
  }
  return false;
}
inline std::string_view as_text(const char* s) { return s ? std::string_view(s) : std::string_view(); }
template <class T> std::optional<T> as_optional(const T* p) {
  return p ? std::optional<T>(*p) : std::nullopt;
}

// ---- results ---------------------------------------------------------------------------------------------

inline flam_dtype to_c(Dtype d) { return static_cast<flam_dtype>(d); }
inline flam_device to_c(Device d) { return d.code(); }
inline flam_bool to_c(bool b) { return b; }
template <class T>
  requires std::is_arithmetic_v<T> || std::is_pointer_v<T>
T to_c(T v) {
  return v;
}

inline void put(flam_tensor** out, Tensor t, const char* function) { *out = give(std::move(t), function); }
template <class T> void put(T** out, Ref<T> object, const char* function) { *out = give(std::move(object), function); }
inline void put(flam_tensor_list** out, std::vector<Tensor> list, const char* function) {
  *out = give(std::move(list), function);
}
template <class O, class T> void put(O* out, const T& value, const char*) { *out = to_c(value); }

template <class F> auto guard_handle(const char* function, F&& f) noexcept
    -> decltype(give(f(), function)) {
  try {
    return give(f(), function);
  } catch (...) {
    record_exception(function);
    return nullptr;
  }
}

// Results are written only after the target returned all of them.
template <class F, class... Out>
flam_status guard_status(const char* function, F&& f, Out*... out) noexcept {
  try {
    if constexpr (sizeof...(Out) == 0) {
      f();
    } else if constexpr (sizeof...(Out) == 1) {
      auto result = f();
      (put(out, std::move(result), function), ...);
    } else {
      auto results = f();
      std::apply([&](auto&... r) { (put(out, std::move(r), function), ...); }, results);
    }
    return FLAM_OK;
  } catch (...) {
    return record_exception(function);
  }
}

// Functions that never fail: a target that throws after all gives zero.
template <class F> auto guard_value(F&& f) noexcept {
  using R = decltype(f());
  if constexpr (std::is_void_v<R>) {
    try {
      f();
    } catch (...) {
    }
  } else {
    try {
      return to_c(f());
    } catch (...) {
      return decltype(to_c(f())){};
    }
  }
}

}  // namespace flambeau::capi
