// What a write does to the place it finds: replace, add, multiply, keep the greater or the smaller.
// On devices several threads may meet at one place, so there an update is a compare-and-swap of the
// word around it.
#pragma once
#include <cstring>

#include "kernels/report/report_device.h"

namespace flambeau::FLAM_TARGET {

struct SetPlace {
  template <class V> FLAM_FN V operator()(V, V x) const { return x; }
};
struct AddPlace {
  template <class V> FLAM_FN V operator()(V old, V x) const {
    if constexpr (std::is_same_v<V, bool>) {
      return old || x;
    } else {
      return V(old + x);
    }
  }
};
struct MulPlace {
  template <class V> FLAM_FN V operator()(V old, V x) const {
    if constexpr (std::is_same_v<V, bool>) {
      return old && x;
    } else {
      return V(old * x);
    }
  }
};
struct MaxPlace {  // NaN wins
  template <class V> FLAM_FN V operator()(V old, V x) const { return x > old || x != x ? x : old; }
};
struct MinPlace {
  template <class V> FLAM_FN V operator()(V old, V x) const { return x < old || x != x ? x : old; }
};

// By the only thread that writes there.
template <class F, class T> FLAM_FN void update_alone(const F& f, T* place, T value) {
  if constexpr (std::is_same_v<F, SetPlace>) {
    *place = value;
  } else {
    *place = narrow<T>(f(load(place), load(&value)));
  }
}

#if defined(FLAM_DEVICE_SOURCE)

template <class F, class T> __device__ inline void update_place(const F& f, T* place, T value) {
  if constexpr (std::is_same_v<F, SetPlace>) {
    *place = value;
  } else if constexpr (std::is_same_v<F, AddPlace> && std::is_same_v<T, float>) {
    atomicAdd(place, value);
  } else {
    using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    const uint64_t address = reinterpret_cast<uint64_t>(place), inside = address % sizeof(Word);
    Word* word = reinterpret_cast<Word*>(address - inside);
    Word seen = *word, wanted = seen;
    do {
      wanted = seen;
      T old;
      memcpy(&old, reinterpret_cast<const char*>(&wanted) + inside, sizeof old);
      const T fresh = narrow<T>(f(load(&old), load(&value)));
      memcpy(reinterpret_cast<char*>(&wanted) + inside, &fresh, sizeof fresh);
      const Word before = seen;
      seen = atomicCAS(word, before, wanted);
      if (seen == before) return;
    } while (true);
  }
}

#else

template <class F, class T> FLAM_FN void update_place(const F& f, T* place, T value) {
  update_alone(f, place, value);
}

#endif

}  // namespace flambeau::FLAM_TARGET
