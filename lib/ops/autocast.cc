// What autocast converts, and the cache of casts, which belongs to the thread, as autocast does.
#include "ops/autocast.h"

#include <unordered_map>
#include <utility>

#include "base/of_thread.h"
#include "base/thread_local.h"
#include "graph/autograd_data.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau {

namespace {

struct Key {
  const TensorImpl* source;
  Dtype dtype;
  bool grad, inference;
  bool operator==(const Key&) const = default;
};

struct Hash {
  size_t operator()(const Key& k) const {
    const size_t modes = size_t(k.dtype) * 4 + size_t(k.grad) * 2 + size_t(k.inference);
    return std::hash<const void*>()(k.source) * 64 + modes;
  }
};

struct Cast {
  Tensor source;         // keeps the address from being used again
  Ref<Storage> storage;  // the source's at the time: `.data = x` gives it another
  uint32_t version;
  Tensor result;
};

using Cache = std::unordered_map<Key, Cast, Hash>;

FLAM_THREAD_LOCAL OfThread<Cache> t_casts;

bool is_kept(const Tensor& t, Dtype dtype) {
  const AutogradData* d = t.impl()->autograd.get();
  return modes.autocast_cache && modes.autocast_depth > 0 && t.dtype() == Dtype::f32 &&
         dtype != Dtype::f32 && d && d->requires_grad && !t.base();
}

}  // namespace

bool is_cast(const Tensor& t, bool cpu) {
  return t.defined() && is_floating(t.dtype()) && t.dtype() != Dtype::f64 &&
         t.device().is_cpu() == cpu && !t.is_wrapped_number();
}

Tensor cast_operand(const Tensor& t, Dtype dtype) {
  if (!is_kept(t, dtype)) return ops::to_dtype(t, dtype);
  const Key key{t.impl(), dtype, modes.grad, modes.inference};
  Cache& casts = t_casts.get();
  const auto found = casts.find(key);
  const uint32_t version = t.version();
  if (found != casts.end() && found->second.version == version &&
      found->second.storage.get() == t.storage().get()) {
    return found->second.result;
  }
  Tensor result = ops::to_dtype(t, dtype);
  casts.insert_or_assign(key, Cast{t, t.storage(), version, result});
  return result;
}

void clear_cast_cache() {
  if (!t_casts.found()) return;
  const Cache dropped = std::exchange(*t_casts.found(), {});  // releasing may run anything
}

}  // namespace flambeau
