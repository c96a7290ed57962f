// A few neighbouring elements of one operand in a GPU thread's registers: they come and go by one
// access of up to 16 bytes, and half types are converted two by two. The words are never indexed by
// a variable: that would put them into local memory.
#pragma once
#include <cstring>

#include "kernels/tile/global_access.h"
#include "kernels/tile/narrow_pair.h"

namespace flambeau::FLAM_TARGET {

template <int kBytes> struct WideAccess {
  using type = uint4;
};
template <> struct WideAccess<8> {
  using type = uint2;
};
template <> struct WideAccess<4> {
  using type = uint32_t;
};
template <> struct WideAccess<2> {
  using type = uint16_t;
};

template <int kBytes>
using WordOf = std::conditional_t<
    kBytes == 8, uint64_t,
    std::conditional_t<kBytes == 4, uint32_t, std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

template <class T, int kCount> struct Chunk {
  static constexpr int kBytes = kCount * int(sizeof(T)), kWords = (kBytes + 3) / 4,
                       kBits = 8 * int(sizeof(T));
  static constexpr bool kHalves = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
  using Wide = typename WideAccess<kBytes>::type;
  static_assert(kBytes == int(sizeof(Wide)));
  struct Values {
    Compute<T> v[kCount];
  };
  uint32_t word[kWords];

  static __device__ __forceinline__ Chunk of(const T& v) {  // in every place
    Chunk c{};
#pragma unroll
    for (int i = 0; i < kCount; ++i) c.put(i, v);
    return c;
  }

  static __device__ __forceinline__ Chunk from(const void* p) {
    Chunk c;
    const Wide wide = load_global(static_cast<const Wide*>(p));
    if constexpr (kBytes < 4) {
      c.word[0] = wide;
    } else {
      memcpy(c.word, &wide, kBytes);
    }
    return c;
  }
  __device__ __forceinline__ void to(void* p) const {
    Wide wide;
    if constexpr (kBytes < 4) {
      wide = Wide(word[0]);
    } else {
      memcpy(&wide, word, kBytes);
    }
    store_global(static_cast<Wide*>(p), wide);
  }

  __device__ __forceinline__ T element(int i) const {
    if constexpr (sizeof(T) == 8) {
      return bits_as<T>(uint64_t(word[2 * i + 1]) << 32 | word[2 * i]);
    } else {
      const auto bits = WordOf<sizeof(T)>(word[i * kBits / 32] >> i * kBits % 32);
      if constexpr (std::is_same_v<T, bool>) {
        return bits != 0;
      } else {
        return bits_as<T>(bits);
      }
    }
  }

  // Bit for bit what half.h makes of halves: instructions know one NaN only, so a chunk that holds
  // any goes the long way, which a warp without steps over.
  __device__ __forceinline__ Values values() const {
    Values x;
    if constexpr (kHalves) {
      bool odd = false;
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        widen_pair<T>(word[i / 2], x.v[i], x.v[i + 1]);
        odd |= kPairsLoseNan<T> && either_nan(x.v[i], x.v[i + 1]);
      }
      if (!odd) return x;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) x.v[i] = static_cast<Compute<T>>(element(i));
    return x;
  }

  template <class R> static __device__ __forceinline__ Chunk rounded(const R (&v)[kCount]) {
    Chunk c{};
    if constexpr (kHalves) {
      bool odd = false;
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        const float low = float(v[i]), high = float(v[i + 1]);
        c.word[i / 2] = narrow_pair<T>(low, high);
        odd |= either_nan(low, high);
      }
      if (!odd) return c;
      c = {};
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) c.put(i, narrow<T>(v[i]));
    return c;
  }

  __device__ __forceinline__ void put(int i, const T& v) {  // where all bits are 0
    const auto bits = bits_as<WordOf<sizeof(T)>>(v);
    if constexpr (sizeof(T) == 8) {
      word[2 * i] = uint32_t(bits);
      word[2 * i + 1] = uint32_t(bits >> 32);
    } else {
      word[i * kBits / 32] |= uint32_t(bits) << i * kBits % 32;
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
