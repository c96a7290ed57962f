// The host language's functions as the engine holds them: `user` is dropped exactly once, a failure carries
// the host's own exception object through the engine, and results are taken over or refused whole.
#pragma once
#include <cstring>
#include <span>

#include "base/error.h"
#include "flambeau/common.h"
#include "tensor/tensor.h"

namespace flambeau::capi {

// A handle borrowed for the length of a call; NULL for an undefined tensor.
inline const flam_tensor* handle(const Tensor& t) { return reinterpret_cast<const flam_tensor*>(t.impl()); }

// Tensors as an array of borrowed handles: a Tensor's bits are its handle.
inline const flam_tensor* const* handles(TensorsView ts) {
  static_assert(sizeof(Tensor) == sizeof(void*));
  return reinterpret_cast<const flam_tensor* const*>(ts.data());
}

inline Tensor adopt(flam_tensor* owned) {
  return Tensor(Ref<TensorImpl>::adopt(reinterpret_cast<TensorImpl*>(owned)));
}

// Owns a callback's `user`.
class Callback {
 public:
  Callback(void* user, void (*drop)(void*)) : user_(user), drop_(drop) {}
  Callback(const Callback&) = delete;
  ~Callback() {
    if (drop_) drop_(user_);
  }
  void* user() const { return user_; }

 private:
  void* user_;
  void (*drop_)(void*);
};

// Copies a vtable of this or an older version; a newer one's unknown slots must be empty. A vtable that is
// refused still has its `user` dropped.
template <class V> V sized_copy(const V* given, void* user, const char* type) {
  V v{};
  const size_t known = std::min<size_t>(given->struct_size, sizeof v);
  std::memcpy(static_cast<void*>(&v), given, known);
  bool empty = given->struct_size >= 2 * sizeof(uint32_t);
  for (size_t i = sizeof v; i < given->struct_size; ++i) {
    empty &= reinterpret_cast<const char*>(given)[i] == 0;
  }
  if (!empty) {
    if (v.drop) v.drop(user);
    fail(Code::invalid_argument, type, ": struct_size ", given->struct_size, " is unknown; this library knows ",
         sizeof v, " bytes. Set it to sizeof(", type, ")");
  }
  return v;
}

// Turns the error that a callback recorded on this thread (flam_error_set) into an exception that carries it;
// defined beside the error record.
[[noreturn]] void throw_callback_error(const char* what, flam_status status);

enum class Result : int8_t { required, optional };

// Runs f(&out), a host function that writes one owned tensor.
template <class F> Tensor call_back(const char* what, F&& f, Result result = Result::required) {
  flam_tensor* out = nullptr;
  const flam_status status = f(&out);
  Tensor t = adopt(out);
  if (status != FLAM_OK) throw_callback_error(what, status);
  check(t.defined() || result == Result::optional, Code::callback, what, " returned no tensor");
  return t;
}

}  // namespace flambeau::capi
