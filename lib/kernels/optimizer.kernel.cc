// The update rules, one element at a time, and the loop over a list's chunks. A rule reads its
// options once per chunk; scalars are formed in double, as Python does, and used in the compute
// type, as torch's tensors do. update() says whether it met a value that is not finite.
#include "kernels/optimizer.h"

#include "kernels/math.h"
#include "kernels/report_device.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class T> struct Values {  // of one parameter
  T *param, *grad, *first, *second, *greatest;
};

template <class T> FLAM_FN Values<T> values_at(const ListEntry& e, int64_t i) {
  const auto at = [&](char* p) { return p ? reinterpret_cast<T*>(p) + i : nullptr; };
  return {at(e.param), at(e.grad), at(e.first), at(e.second), at(e.greatest)};
}

template <class T> struct Sgd {
  using V = Compute<T>;
  V lr, momentum, keep, decay, sign, unscale;
  bool nesterov, fresh;

  FLAM_FN Sgd(const ListArgs& a, const ListEntry& e)
      : lr(V(a.lr ? double(*a.lr) : a.options[0])),
        momentum(V(a.options[1])),
        keep(V(1 - a.options[2])),
        decay(V(a.options[3])),
        sign(a.options[5] != 0 ? V(-1) : V(1)),
        unscale(a.grad_scale ? V(*a.grad_scale) : V(1)),
        nesterov(a.options[4] != 0),
        fresh(e.fresh != 0) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i);
    V g = load(at.grad + i) / unscale * sign;
    g = decay != 0 ? g + decay * p : g;
    if (momentum != 0) {
      const V m = fresh ? g : load(at.first + i) * momentum + keep * g;
      at.first[i] = narrow<T>(m);
      g = nesterov ? g + momentum * m : m;
    }
    at.param[i] = narrow<T>(p - lr * g);
    return 0;
  }
};

template <class T> struct Adam {
  using V = Compute<T>;
  V toward, beta2, rest2, eps, decay, shrink, sign, unscale, step_size, root_correction;

  FLAM_FN Adam(const ListArgs& a, const ListEntry& e) {
    const double rate = a.lr ? double(*a.lr) : a.options[0], steps = double(*e.step);
    const bool decoupled = a.options[5] != 0;
    toward = V(1 - a.options[1]);
    beta2 = V(a.options[2]);
    rest2 = V(1 - a.options[2]);
    eps = V(a.options[3]);
    decay = V(decoupled ? 0 : a.options[4]);
    shrink = V(decoupled ? 1 - rate * a.options[4] : 1);
    sign = a.options[6] != 0 ? V(-1) : V(1);
    unscale = a.grad_scale ? V(*a.grad_scale) : V(1);
    step_size = V(rate / (1 - ::pow(a.options[1], steps)));
    root_correction = V(::sqrt(1 - ::pow(a.options[2], steps)));
  }

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const V p = load(at.param + i) * shrink;
    V g = load(at.grad + i) / unscale * sign;
    g = decay != 0 ? g + decay * p : g;
    V m = load(at.first + i);  // lerp, from the nearer end
    m = toward < V(0.5) ? m + toward * (g - m) : g - (g - m) * (1 - toward);
    V v = load(at.second + i) * beta2 + rest2 * g * g;
    at.first[i] = narrow<T>(m);
    at.second[i] = narrow<T>(v);
    if (at.greatest) {
      const V before = load(at.greatest + i);
      v = v > before || v != v ? v : before;
      at.greatest[i] = narrow<T>(v);
    }
    at.param[i] = narrow<T>(p - step_size * m / (sqrt(v) / root_correction + eps));
    return 0;
  }
};

template <class T> struct UnscaleList {
  Compute<T> factor;

  FLAM_FN UnscaleList(const ListArgs& a, const ListEntry&)
      : factor(Compute<T>(1 / double(*a.grad_scale))) {}

  FLAM_FN int update(const Values<T>& at, int64_t i) const {
    const Compute<T> x = load(at.param + i);
    at.param[i] = narrow<T>(x * factor);
    return x - x != 0;
  }
};

FLAM_FN int entry_of_chunk(const ListArgs& a, int32_t chunk) {
  int low = 0, high = a.tensors - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (a.entry[middle].first_chunk <= chunk) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

#if defined(FLAM_DEVICE_SOURCE)

template <template <class> class Rule, class T> __global__ void list_kernel(ListArgs a) {
  if (a.found_inf && *a.found_inf != 0) return;
  const ListEntry& e = a.entry[entry_of_chunk(a, int32_t(blockIdx.x))];
  const int64_t first = (int64_t(blockIdx.x) - e.first_chunk) * kListChunk;
  const Rule<T> rule(a, e);
  const Values<T> at = values_at<T>(e, first);
  const int64_t n = e.numel - first < kListChunk ? e.numel - first : kListChunk;
  int bad = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) bad |= rule.update(at, i);
  if (bad) {  // all that write, write the same
    *static_cast<volatile float*>(a.mark_inf) = 1;
    *static_cast<volatile float*>(e.step) = 1;
  }
}

template <template <class> class Rule, class T> void list_entry(void* stream, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  FLAM_LAUNCH((list_kernel<Rule, T>), dim3(unsigned(a.chunks)), dim3(256), 0, stream, a);
}

__global__ void advance_kernel(ListArgs a) {
  if (a.found_inf && *a.found_inf != 0) return;
  if (int(threadIdx.x) < a.tensors) *a.entry[threadIdx.x].step += 1;
}

inline void advance_entry(void* stream, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  FLAM_LAUNCH((advance_kernel), dim3(1), dim3(64), 0, stream, a);
}

#else

template <template <class> class Rule, class T> void list_entry(void*, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  if (a.found_inf && *a.found_inf != 0) return;
  parallel_for(a.chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const ListEntry& e = a.entry[entry_of_chunk(a, int32_t(c))];
      const int64_t first = (c - e.first_chunk) * kListChunk;
      const Rule<T> rule(a, e);
      const Values<T> at = values_at<T>(e, first);
      const int64_t n = e.numel - first < kListChunk ? e.numel - first : kListChunk;
      int bad = 0;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) bad |= rule.update(at, i);
      for (float* mark : {a.mark_inf, e.step}) {
        if (!bad) break;
        const float one = 1;
        __atomic_store_n(reinterpret_cast<uint32_t*>(mark), bits_as<uint32_t>(one),
                         __ATOMIC_RELAXED);
      }
    }
  });
}

inline void advance_entry(void*, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  if (a.found_inf && *a.found_inf != 0) return;
  for (int i = 0; i < a.tensors; ++i) *a.entry[i].step += 1;
}

#endif

template <template <class> class Rule, class... T> bool register_list(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &list_entry<Rule, T>), ...);
  return true;
}

template <class... T> bool register_advance(TypeList<T...>) {
  (kAdvance.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &advance_entry), ...);
  return true;
}

[[maybe_unused]] static const bool registered_optimizers =
    register_list<Sgd>(kSgd, FloatTypes{}) && register_list<Adam>(kAdam, FloatTypes{}) &&
    register_list<UnscaleList>(kUnscaleList, FloatTypes{}) && register_advance(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
