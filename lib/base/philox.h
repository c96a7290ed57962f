// Philox4x32-10, the counter-based generator behind all random numbers: a key (the seed) and a
// counter give four 32-bit words, so that any element can be drawn by any thread, on any device,
// with the same result. Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", 2011.
#pragma once
#include <cstdint>

#include "base/half.h"  // FLAM_HD

namespace flambeau {

struct PhiloxWords {
  uint32_t v[4];
};

FLAM_HD inline PhiloxWords philox(uint64_t key, uint64_t counter, uint64_t stream) {
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32);
  uint32_t c2 = uint32_t(stream), c3 = uint32_t(stream >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53u) * c0, p1 = uint64_t(0xCD9E8D57u) * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace flambeau
