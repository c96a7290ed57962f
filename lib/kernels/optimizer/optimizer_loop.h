// The loop over a list's chunks, after which its cells count the step; the host's here, that of
// GPUs in optimizer_device.h. A value that is not finite is marked in the list's and the tensor's
// cell.
#pragma once
#include "kernels/optimizer/optimizer_rule.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/optimizer/optimizer_device.h"
#else
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

#if !defined(FLAM_DEVICE_SOURCE)

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
  if constexpr (kCounts<Rule<T>>)
    for (int i = 0; i < a.tensors; ++i) Rule<T>::Count::advance(a, a.entry[i]);
}

#endif

template <template <class> class Rule, class... T> bool register_list(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &list_entry<Rule, T>), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET
