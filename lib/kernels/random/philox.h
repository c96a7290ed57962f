// Philox4x32-10, a counter-based generator: 128 bits of counter and 64 of key make four words.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once
#include <cstdint>

#if defined(__CUDACC__) || defined(FLAM_EMU)
#define FLAM_PHILOX_FN __host__ __device__ inline
#else
#define FLAM_PHILOX_FN inline __attribute__((always_inline))  // each instruction set has its own
#endif

namespace flambeau {

struct Words {
  uint32_t word[4];
};

FLAM_PHILOX_FN Words philox(uint64_t seed, uint64_t offset, uint64_t position) {
  uint32_t key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
  uint32_t c0 = uint32_t(position), c1 = uint32_t(position >> 32);
  uint32_t c2 = uint32_t(offset), c3 = uint32_t(offset >> 32);
#if !defined(__CUDACC__)
#pragma GCC unroll 10  // so that a loop over counters can be a vector loop
#endif
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xd2511f53u) * c0, b = uint64_t(0xcd9e8d57u) * c2;
    c0 = uint32_t(b >> 32) ^ c1 ^ key0;
    c2 = uint32_t(a >> 32) ^ c3 ^ key1;
    c1 = uint32_t(b);
    c3 = uint32_t(a);
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace flambeau
