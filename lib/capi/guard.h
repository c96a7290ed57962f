// What stands between a generated shim and its C++ target: NULL propagation, conversion of
// arguments, the exception barrier, and the hand-over of results. Nothing here allocates or locks
// where a call succeeds.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/thread_local.h"
#include "capi/call_text.h"
#include "capi/objects.h"
#include "device/label.h"
#include "device/probe.h"
#include "flambeau/common.h"
#include "tensor/tensor.h"

namespace flambeau::capi {

// ---- the error record (error.cc) --------------------------------------------------------------

inline FLAM_THREAD_LOCAL flam_error* t_error =
    nullptr;  // this thread's first failure since it was cleared

flam_status pending_code() noexcept;
// Records the exception in flight unless an error is pending, and returns its own code. An error
// that says no call gets this one.
flam_status record_exception(const char* function, const Arguments& given = {}) noexcept;
// A NULL where a handle is needed: the pending error's code, or a new error that names the
// argument.
flam_status null_operand(const char* function, const char* argument) noexcept;
flam_status uncountable(const char* function, const char* list, size_t n) noexcept;
flam_status out_of_memory(const char* function) noexcept;

// ---- handles ----------------------------------------------------------------------------------

// Handles are written down while a frame is open on this thread, or while leaks are tracked.
struct Frame;
inline FLAM_THREAD_LOCAL Frame* t_frame = nullptr;
inline std::atomic<bool> tracking_handles = false;
inline bool noting() { return t_frame || tracking_handles.load(std::memory_order_relaxed); }

// FLAMBEAU_CHECK=handles: every handle that the program hands in is looked up. Set when the library
// is opened (handle_table.cc).
extern bool checking_handles;

struct HandleArgument {
  const char* name;
  const void* handle;  // or an array of them
  const char* type;
  bool owned = false;  // handed over for good
  bool list = false;
  size_t n = 0;
};

// Records what is wrong with the first wrong handle: released, lent, foreign, or of another type.
bool wrong_handle(const char* function, std::initializer_list<HandleArgument> given) noexcept;

void note_handle(RefCounted* object,
                 const char* function);  // throws only std::bad_alloc, having noted nothing
void forget_handle(RefCounted* object) noexcept;
void track_handle(RefCounted* object, const char* function) noexcept;  // frames aside
bool move_to_outer_frame(RefCounted* object) noexcept;                 // false: without memory

// A fresh result that is a view of a tensor which nobody else holds is none to the program: it
// stands for itself, with the history that it has as a view.
void forget_hidden_base(const Tensor& result);

// Gives a result to the program. What cannot be noted is not given: its count dies with the
// argument.
inline flam_tensor* give(Tensor t, const char* function) {
  if (t && t.base()) [[unlikely]]
    forget_hidden_base(t);
  if (t && noting()) [[unlikely]]
    note_handle(t.impl(), function);
  return reinterpret_cast<flam_tensor*>(t.detach_handle());
}

template <class T> T* give(Ref<T> object, const char* function) {
  if (object && noting()) [[unlikely]]
    note_handle(object.get(), function);
  return object.detach();
}

inline flam_tensor_list* give(std::vector<Tensor> list, const char* function) {
  for (const Tensor& t : list)
    if (t && t.base()) [[unlikely]]
      forget_hidden_base(t);
  return give(make_list(std::move(list)), function);
}

template <class T> RefCounted* counted(T* handle) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, flam_tensor>) {
    return reinterpret_cast<TensorImpl*>(handle);
  } else {
    return handle;
  }
}

template <class T> [[gnu::always_inline]] inline void release_handle(T* handle) noexcept {
  if (!handle) return;
  if (noting()) [[unlikely]]
    forget_handle(counted(handle));
  counted(handle)->release();
}

// A count that no frame knows of: it is the program's to release.
template <class T> T* retain_handle(const T* handle, const char* function) noexcept {
  T* const same = const_cast<T*>(handle);
  counted(same)->retain();
  if (tracking_handles.load(std::memory_order_relaxed)) [[unlikely]]
    track_handle(counted(same), function);
  return same;
}

template <class T> T* keep_handle(T* handle, const char* function) noexcept {
  if (!t_frame || move_to_outer_frame(counted(handle))) return handle;
  return out_of_memory(function), nullptr;
}

// Takes over a handle that the program hands in: from here on its count is the library's.
template <class T> T* take_over(T* handle) noexcept {
  if (handle && noting()) [[unlikely]]
    forget_handle(counted(handle));
  return handle;
}

// Runs a drop function of the program, if there is one, as any code of the program (host_call.h).
void call_drop(void (*drop)(void*), void* user) noexcept;

// What the program hands in with a way to drop it. Whoever takes it over claims it; what nobody
// claimed, because an operand was NULL or memory ran out on the way, is dropped here. So it is
// dropped exactly once, whatever fails.
class Handed {
 public:
  Handed(void (*drop)(void*), void* user) : drop_(drop), user_(user), outer_(innermost_) {
    innermost_ = this;
  }
  template <class Table> explicit Handed(const Table* t) : Handed(nullptr, nullptr) {
    if (!t || t->struct_size < offsetof(Table, drop) + sizeof t->drop) return;
    drop_ = t->drop;
    user_ = t->user;
  }
  Handed(const Handed&) = delete;
  ~Handed() {
    innermost_ = outer_;
    call_drop(drop_, user_);
  }
  // Called by the object that drops `user` from now on.
  static void claim(void* user) noexcept {
    if (innermost_ && innermost_->user_ == user) innermost_->drop_ = nullptr;
  }

 private:
  static inline FLAM_THREAD_LOCAL Handed* innermost_ = nullptr;
  void (*drop_)(void*);
  void* user_;
  Handed* outer_;
};

// ---- arguments --------------------------------------------------------------------------------

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
// Whether a list cannot lie in memory: its count was a negative number, or was never set.
template <class T> bool is_beyond_memory(const T*, size_t n) {
  return n > size_t(PTRDIFF_MAX) / sizeof(T);
}
// Whether a list or one of its entries is NULL. An empty list may be.
template <class T> bool has_null(T* const* list, size_t n) {
  if (!list) return n != 0;
  if (is_beyond_memory(list, n)) return false;
  for (size_t i = 0; i < n; ++i) {
    if (!list[i]) return true;
  }
  return false;
}
// Numbers that this library does not know end here, not in a table. (gen/enums.h has the others.)
[[noreturn]] void unknown_dtype(flam_dtype number);
[[noreturn]] void unknown_device(flam_device code);
[[noreturn]] void unknown_enumerator(const char* type, int32_t number, const char* known);
inline Dtype as_dtype(flam_dtype number) {
  if (uint32_t(number) >= uint32_t(kDtypeCount)) [[unlikely]]
    unknown_dtype(number);
  return static_cast<Dtype>(number);
}
inline Device as_device(flam_device code) {
  const Device d = Device::from_code(code);
  if ((!is_known(d.type) && code != 0) || d.index < -1) [[unlikely]]
    unknown_device(code);
  return d;
}
inline std::string_view as_text(const char* s) {
  return s ? std::string_view(s) : std::string_view();
}
template <class T> std::optional<T> as_optional(const T* p) {
  return p ? std::optional<T>(*p) : std::nullopt;
}

// ---- results ----------------------------------------------------------------------------------

inline flam_dtype to_c(Dtype d) { return static_cast<flam_dtype>(d); }
inline flam_device to_c(Device d) { return d.code(); }
inline flam_bool to_c(bool b) { return b; }
template <class T>
  requires std::is_arithmetic_v<T> || std::is_pointer_v<T>
T to_c(T v) {
  return v;
}

// A result on its way out: held until all of them exist, then written without a chance to fail.
template <class T> class HeldHandle {
 public:
  explicit HeldHandle(T* handle) : handle_(handle) {}
  HeldHandle(HeldHandle&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  ~HeldHandle() { release_handle(handle_); }
  void write(T** out) noexcept {  // null: nobody wants it
    if (out) *out = std::exchange(handle_, nullptr);
  }

 private:
  T* handle_;
};

template <class T> struct HeldValue {
  T value;
  void write(T* out) const noexcept {
    if (out) *out = value;
  }
};

struct HeldPointer {
  OwnedPointer value;
  void write(void** out) noexcept {
    if (out) *out = value.release();
  }
};

template <class R> auto hold(R& result, const char* function) {
  if constexpr (requires { give(std::move(result), function); }) {
    return HeldHandle(give(std::move(result), function));
  } else if constexpr (std::is_same_v<R, OwnedPointer>) {
    return HeldPointer{std::move(result)};
  } else {
    return HeldValue{to_c(result)};
  }
}

// Memory is asked for by this call, whatever ran before it. The ops that it is made of say their
// own names.
inline void label_call(const char* function) {
  t_label.op = function + 5;  // after "flam_"
  t_label.rows = 0;
}

// `given` by value: until something fails, its parts need no memory.
template <class G> flam_status record_failure(const char* function, G given) noexcept {
  return record_exception(function, arguments_of(given));
}

template <class F, class G>
[[gnu::always_inline]] inline auto guard_unlabelled(const char* function, F&& f,
                                                    const G& given) noexcept
    -> decltype(give(f(), function)) {
  try {
    return give(f(), function);
  } catch (...) {
    record_failure(function, given);
    return nullptr;
  }
}

template <class F, class G = Arguments>
auto guard_handle(const char* function, F&& f, const G& given = {}) noexcept {
  label_call(function);
  return guard_unlabelled(function, std::forward<F>(f), given);
}

// An in-place form gives its operand back as it came, without another count.
template <class T, class F, class G = Arguments>
T* guard_in(const char* function, T* operand, F&& f, const G& given = {}) noexcept {
  label_call(function);
  try {
    f();
    return operand;
  } catch (...) {
    record_failure(function, given);
    return nullptr;
  }
}

// Results are written only after the target returned all of them.
template <class F, class G, class... Out>
flam_status guard_call(const char* function, F&& f, const G& given, Out*... out) noexcept {
  label_call(function);
  try {
    if constexpr (sizeof...(Out) == 0) {
      f();
    } else if constexpr (sizeof...(Out) == 1) {
      auto result = f();
      (hold(result, function).write(out), ...);
    } else {
      auto results = f();
      auto held = std::apply([&](auto&... r) { return std::tuple{hold(r, function)...}; }, results);
      std::apply([&](auto&... h) { (h.write(out), ...); }, held);
    }
    return FLAM_OK;
  } catch (...) {
    return record_failure(function, given);
  }
}

template <class F, class... Out>
flam_status guard_status(const char* function, F&& f, Out*... out) noexcept {
  return guard_call(function, std::forward<F>(f), Arguments{}, out...);
}

// A scope's token, or 0 and an error.
template <class F> uint64_t guard_scope(const char* function, F&& f) noexcept {
  uint64_t token = 0;
  guard_status(function, std::forward<F>(f), &token);
  return token;
}

// An op's shims: a profiler sees them even where the op is made of others and has no name of its
// own.
template <class F, class G>
auto guard_op(const char* function, F&& f, const G& given) noexcept {
  const probe::Span span(probe::Kind::op, function + 5);
  return guard_handle(function, std::forward<F>(f), given);
}

// A bare number is an operand of another call: bindings make it where the program named none.
template <class F, class G>
auto guard_number(const char* function, F&& f, const G& given) noexcept {
  const probe::Span span(probe::Kind::op, function + 5);
  return guard_unlabelled(function, std::forward<F>(f), given);
}

template <class T, class F, class G>
T* guard_op_in(const char* function, T* operand, F&& f, const G& given) noexcept {
  const probe::Span span(probe::Kind::op, function + 5);
  return guard_in(function, operand, std::forward<F>(f), given);
}

template <class F, class G, class... Out>
flam_status guard_op_status(const char* function, F&& f, const G& given, Out*... out) noexcept {
  const probe::Span span(probe::Kind::op, function + 5);
  return guard_call(function, std::forward<F>(f), given, out...);
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
