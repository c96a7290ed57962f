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

// The same order in as few bits as the dtype has: what a radix sort goes through.
template <class T>
inline constexpr int kPackedBits = std::is_same_v<T, bool> ? 1 : int(8 * sizeof(T));
template <class T>
inline constexpr SortKey<T> kPackedMask = SortKey<T>(~SortKey<T>(0)) >>
                                          (8 * sizeof(SortKey<T>) - size_t(kPackedBits<T>));

template <class T> FLAM_FN SortKey<T> packed_key(const T* p, bool descending) {
  using K = SortKey<T>;
  constexpr K top = K(1) << (kPackedBits<T> - 1);
  K key;
  if constexpr (std::is_unsigned_v<T>) {
    key = K(*p);
  } else if constexpr (std::is_integral_v<T>) {
    key = K(std::make_unsigned_t<T>(*p)) ^ top;
  } else if constexpr (sizeof(T) == 2) {  // halves by their own bits
    const auto x = load(p);
    const K bits = x == decltype(x)(0) ? K(0) : K(p->bits);
    key = x != x ? kPackedMask<T> : bits & top ? K(~bits) : K(bits | top);
  } else {
    key = sort_key(p);
  }
  return (descending ? K(~key) : key) & kPackedMask<T>;
}

// The value of a packed key; false where several have it (zeros, NaN), which only the input tells.
template <class T> FLAM_FN bool unpacked(SortKey<T> key, bool descending, T* value) {
  using K = SortKey<T>;
  constexpr K top = K(1) << (kPackedBits<T> - 1);
  if (descending) key = K(~key) & kPackedMask<T>;
  if constexpr (std::is_unsigned_v<T>) {
    *value = T(key);
  } else if constexpr (std::is_integral_v<T>) {
    *value = T(std::make_unsigned_t<T>(key ^ top));
  } else {
    using U = std::conditional_t<sizeof(T) == 2, uint16_t, K>;
    if (key == top || key == kPackedMask<T>) return false;
    *value = bits_as<T>(U(key & top ? key ^ top : K(~key)));
  }
  return true;
}

}  // namespace flambeau::FLAM_TARGET
