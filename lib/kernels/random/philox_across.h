// Philox of consecutive positions on the host, the words of philox.h: in registers of as many
// lanes as there are, where a product of two words is made of even lanes and of odd ones. Left to
// the compiler a loop over positions widens and narrows every product by shuffles.
#pragma once
#include <cstring>

#include "kernels/random/philox.h"
#if FLAM_ISA_RANK > 0
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

template <int kCount> struct WordsAcross {
  uint32_t word[4][kCount];
};

#if FLAM_ISA_RANK > 0
namespace across {

#if FLAM_ISA_RANK == 2
inline constexpr int kLanes = 16;
using Register = __m512i;
// Unmasked, gcc 12 takes the register that it does not read for an uninitialised one.
inline Register times_even(Register a, Register b) {
  return _mm512_maskz_mul_epu32(__mmask8(~0), a, b);
}
#else
inline constexpr int kLanes = 8;
using Register = __m256i;
inline Register times_even(Register a, Register b) { return _mm256_mul_epu32(a, b); }
#endif
typedef uint32_t Lanes __attribute__((vector_size(4 * kLanes)));
typedef uint64_t Pairs __attribute__((vector_size(4 * kLanes)));

inline Lanes lanes_from(uint32_t x) { return x - Lanes{}; }

struct Product {
  Lanes high, low;
};

inline Product times(Lanes x, uint32_t factor) {
  const Pairs pairs = Pairs(x);
  const Register f = Register(lanes_from(factor));
  const Pairs even = Pairs(times_even(Register(x), f));
  const Pairs odd = Pairs(times_even(Register(pairs >> 32), f));
  const Pairs upper = ~uint32_t(0) * (uint64_t(1) << 32) - Pairs{};
  const auto blend = [&](Pairs lower, Pairs higher) {
    return Lanes((lower & ~upper) | (higher & upper));
  };
  return {blend(even >> 32, odd), blend(even, odd << 32)};
}

}  // namespace across
#endif

// `position`, a multiple of `kCount`, and those that follow it.
template <int kCount>
WordsAcross<kCount> philox_across(uint64_t seed, uint64_t offset, uint64_t position) {
  static_assert(kCount % 16 == 0);  // of the widest registers
  WordsAcross<kCount> made;
#if FLAM_ISA_RANK > 0
  using namespace across;
  Lanes count;
  for (int i = 0; i < kLanes; ++i) count[i] = uint32_t(i);
  for (int k = 0; k < kCount; k += kLanes) {
    uint32_t key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
    Lanes c0 = uint32_t(position) + uint32_t(k) + count, c1 = lanes_from(uint32_t(position >> 32));
    Lanes c2 = lanes_from(uint32_t(offset)), c3 = lanes_from(uint32_t(offset >> 32));
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const Product a = times(c0, 0xd2511f53u), b = times(c2, 0xcd9e8d57u);
      c0 = b.high ^ c1 ^ key0;
      c2 = a.high ^ c3 ^ key1;
      c1 = b.low;
      c3 = a.low;
      key0 += 0x9e3779b9u;
      key1 += 0xbb67ae85u;
    }
    const Lanes words[4] = {c0, c1, c2, c3};
    for (int j = 0; j < 4; ++j) memcpy(&made.word[j][k], &words[j], sizeof words[j]);
  }
#else
  for (int k = 0; k < kCount; ++k) {
    const Words w = philox(seed, offset, position + uint64_t(k));
    for (int j = 0; j < 4; ++j) made.word[j][k] = w.word[j];
  }
#endif
  return made;
}

}  // namespace flambeau::FLAM_TARGET
