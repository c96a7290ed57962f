// The host language's functions as the engine holds them: `user` is dropped exactly once, a
// failure carries the host's own exception object through the engine, and results are taken over
// or refused whole.
#pragma once
#include <cstring>
#include <span>

#include "base/error.h"
#include "capi/guard.h"
#include "capi/handle_table.h"
#include "capi/host_call.h"
#include "flambeau/common.h"
#include "tensor/tensor.h"

namespace flambeau::capi {

// A handle borrowed for the length of a call; NULL for an undefined tensor.
inline const flam_tensor* handle(const Tensor& t) {
  if (checking_handles) [[unlikely]]
    lend_for_call(t.impl());
  return reinterpret_cast<const flam_tensor*>(t.impl());
}

// Tensors as an array of borrowed handles: a Tensor's bits are its handle.
inline flam_tensor* const* handles(TensorsView ts) {
  static_assert(sizeof(Tensor) == sizeof(void*));
  for (size_t i = 0; checking_handles && i < ts.size(); ++i) lend_for_call(ts[i].impl());
  return reinterpret_cast<flam_tensor* const*>(ts.data());
}

// The same for as long as their owner has them.
inline flam_tensor* const* lent_handles(const std::vector<Tensor>& ts) {
  for (size_t i = 0; checking_handles && i < ts.size(); ++i) lend(ts[i].impl());
  return reinterpret_cast<flam_tensor* const*>(ts.data());
}

// What a callback returned: from here on its count is the library's. While handles are checked a
// wrong one is not taken over, and is the callback's failure.
inline Tensor adopt(const char* what, flam_tensor* owned, flam_status* status) {
  if (checking_handles && wrong_handle(what, {{"the result", owned, "flam_tensor", true}})) {
    if (*status == FLAM_OK) *status = FLAM_ERROR_INVALID_ARGUMENT;
    return {};
  }
  return Tensor(Ref<TensorImpl>::adopt(reinterpret_cast<TensorImpl*>(take_over(owned))));
}

// Owns a callback's `user`.
class Callback {
 public:
  Callback(void* user, void (*drop)(void*)) : user_(user), drop_(drop) { Handed::claim(user); }
  Callback(const Callback&) = delete;
  ~Callback() { call_drop(drop_, user_); }
  void* user() const { return user_; }

 private:
  void* user_;
  void (*drop_)(void*);
};

// Reads a struct of this or an older version over `own`, which holds the defaults; what a newer
// one has beyond must be zero, because this library would ignore it.
template <class T> bool read_sized(T* own, const T* given) {
  constexpr size_t most = 4096;  // no version of a struct comes near: the field was never set
  const size_t size = given->struct_size;
  if (size < sizeof given->struct_size || size > most) return false;
  for (size_t i = sizeof *own; i < size; ++i) {
    if (reinterpret_cast<const char*>(given)[i] != 0) return false;
  }
  std::memcpy(static_cast<void*>(own), given, std::min(size, sizeof *own));
  own->struct_size = sizeof *own;
  return true;
}

// A callback's vtable. One that is refused still has its `user` dropped.
template <class V> V sized_copy(const V* given, const char* type) {
  V v{};
  if (!read_sized(&v, given)) {
    if (given->struct_size >= sizeof v && given->drop) Callback(given->user, given->drop);
    fail(Code::invalid_argument, type, ": struct_size ", given->struct_size,
         " is unknown; this library knows ", sizeof v, " bytes. Set it to sizeof(", type, ")");
  }
  return v;
}

enum class Result : int8_t { required, optional };

// Runs f(&out), a host function that writes one owned tensor.
template <class F> Tensor call_back(const char* what, F&& f, Result result = Result::required) {
  flam_tensor* out = nullptr;
  const HostCall call;
  flam_status status = f(&out);
  Tensor t = adopt(what, out, &status);
  call.check(what, status);
  check(t.defined() || result == Result::optional, Code::callback, what, " returned no tensor");
  return t;
}

}  // namespace flambeau::capi
