// What sorting compares: every dtype as an unsigned number in the same order, NaN last and equal to
// NaN, -0 equal to 0. Descending order inverts the bits, so that equal elements keep their order.
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class T>
using SortKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class K> struct SortItem {
  K key;
  uint32_t at;
};

template <class T> FLAM_FN bool is_nan_value(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return x != x;
  }
}

template <class T> FLAM_FN SortKey<T> sort_key(const T* p) {
  using K = SortKey<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return K(*p != 0);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      using S = std::make_signed_t<K>;
      return K(S(*p)) ^ (K(1) << (8 * sizeof(K) - 1));
    } else {
      return K(*p);
    }
  } else {
    const auto x = load(p);
    const K bits = bits_as<K>(x + decltype(x)(0));  // -0 + 0 is 0
    const K top = K(1) << (8 * sizeof(K) - 1);
    const K key = bits & top ? K(~bits) : K(bits | top);
    return x != x ? K(~K(0)) : key;
  }
}

template <class T> FLAM_FN SortKey<T> sort_key(const T* p, bool descending) {
  const SortKey<T> key = sort_key(p);
  return descending ? SortKey<T>(~key) : key;
}

}  // namespace flambeau::FLAM_TARGET
