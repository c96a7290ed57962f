// What a write does to the place it finds: replace, add, multiply, keep the greater or the smaller.
// On devices several threads may meet at one place, so there an update is a compare-and-swap of the
// word around it.
#pragma once
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

// What a GPU's memory adds up without a loop: the type to add it as, or void.
template <class T>
using AddedAs =
    std::conditional_t<std::is_same_v<T, int64_t>, unsigned long long,
                       std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                              std::is_same_v<T, int32_t>,
                                          T, void>>;

// Halves likewise, rounded at each sum as the loop does; false where this GPU does not.
template <class T> __device__ inline bool added_half([[maybe_unused]] T* place,
                                                     [[maybe_unused]] T value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Half>) {
    asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(place), "h"(value.bits) : "memory");
    return true;
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (std::is_same_v<T, BFloat16>) {
    asm volatile("red.add.noftz.bf16 [%0], %1;" ::"l"(place), "h"(value.bits) : "memory");
    return true;
  }
#endif
#endif
  return false;
}

template <class F, class T> __device__ inline void update_place(const F& f, T* place, T value) {
  if constexpr (std::is_same_v<F, SetPlace>) {
    *place = value;
  } else if constexpr (std::is_same_v<F, AddPlace> && !std::is_void_v<AddedAs<T>>) {
    atomicAdd(reinterpret_cast<AddedAs<T>*>(place), AddedAs<T>(value));
  } else {
    if constexpr (std::is_same_v<F, AddPlace>) {
      if (added_half(place, value)) return;
    }
    using Around = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    using Bits = std::conditional_t<sizeof(T) == 1, uint8_t,
                                    std::conditional_t<sizeof(T) == 2, uint16_t, Around>>;
    const uint64_t address = reinterpret_cast<uint64_t>(place), inside = address % sizeof(Around);
    Around* const word = reinterpret_cast<Around*>(address - inside);
    const unsigned shift = unsigned(inside) * 8;
    Around seen = *word;
    do {
      const T old = bits_as<T>(Bits(seen >> shift));
      const Bits fresh = bits_as<Bits>(narrow<T>(f(load(&old), load(&value))));
      const Around before = seen;
      seen = atomicCAS(word, before,
                       (before & ~(Around(Bits(~Bits(0))) << shift)) | Around(fresh) << shift);
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
