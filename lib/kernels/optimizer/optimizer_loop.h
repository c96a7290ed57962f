// The loop over a list's chunks, for rules that update one element at a time, and the one over its
// cells. A rule is made once per chunk from the options: scalars are formed in double, as Python
// does, and used in the compute type, as torch's tensors do. update() says whether it met a value
// that is not finite, which is marked in the list's and the tensor's cell.
#pragma once
#include "kernels/math.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/report/report_device.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class T> struct Values {  // of one parameter
  T *param, *grad, *first, *second, *third;
};

template <class T> FLAM_FN Values<T> values_at(const ListEntry& e, int64_t i) {
  const auto at = [&](char* p) { return p ? reinterpret_cast<T*>(p) + i : nullptr; };
  return {at(e.param), at(e.grad), at(e.first), at(e.second), at(e.third)};
}

FLAM_FN double rate_of(const ListArgs& a) { return a.lr ? double(*a.lr) : a.options[kOptLr]; }

// Whether a rule knows the third state, which few programs ask for.
template <class R> inline constexpr bool kHasThird = requires { R::has_third; };

// What most rules do to a gradient before they use it.
template <class V> struct Gradient {
  V decay, sign, unscale;

  FLAM_FN explicit Gradient(const ListArgs& a, bool decoupled = false)
      : decay(V(decoupled ? 0 : a.options[kOptWeightDecay])),
        sign(a.options[kOptMaximize] != 0 ? V(-1) : V(1)),
        unscale(a.grad_scale ? V(*a.grad_scale) : V(1)) {}

  FLAM_FN V operator()(V g, V p) const {
    g = (unscale != 1 ? g / unscale : g) * sign;
    return decay != 0 ? g + decay * p : g;
  }
};

template <class V> FLAM_FN V lerp(V from, V to, V share) {  // from the nearer end
  return share < V(0.5) ? from + share * (to - from) : to - (to - from) * (1 - share);
}

template <class V> FLAM_FN V greater(V x, V y) { return x > y || x != x ? x : y; }  // NaN stays

struct CountSteps {
  FLAM_FN static void advance(const ListArgs&, const ListEntry& e) { *e.step += 1; }
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

template <class Count> __global__ void count_kernel(ListArgs a) {
  if (a.found_inf && *a.found_inf != 0) return;
  if (int(threadIdx.x) < a.tensors) Count::advance(a, a.entry[threadIdx.x]);
}

template <class Count> void count_entry(void* stream, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  FLAM_LAUNCH((count_kernel<Count>), dim3(1), dim3(64), 0, stream, a);
}

#else

template <class Rule, class T>
FLAM_FN int update_all(const Rule& rule, const Values<T>& at, int64_t n) {
  int bad = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) bad |= rule.update(at, i);
  return bad;
}

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
      // A loop that stores what may be absent is no vector loop.
      const int bad =
          kHasThird<Rule<T>> && at.third
              ? update_all(rule, at, n)
              : update_all(rule, Values<T>{at.param, at.grad, at.first, at.second, nullptr}, n);
      for (float* mark : {a.mark_inf, e.step}) {
        if (!bad) break;
        const float one = 1;
        __atomic_store_n(reinterpret_cast<uint32_t*>(mark), bits_as<uint32_t>(one),
                         __ATOMIC_RELAXED);
      }
    }
  });
}

template <class Count> void count_entry(void*, const void* p) {
  const ListArgs& a = *static_cast<const ListArgs*>(p);
  if (a.found_inf && *a.found_inf != 0) return;
  for (int i = 0; i < a.tensors; ++i) Count::advance(a, a.entry[i]);
}

#endif

template <template <class> class Rule, class... T> bool register_list(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &list_entry<Rule, T>), ...);
  return true;
}

template <class Count, class... T> bool register_count(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &count_entry<Count>), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET
