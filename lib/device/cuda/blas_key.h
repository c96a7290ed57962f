// All that a product's descriptors and the choice of its algorithm depend on, and nothing else, so
// that what was answered once holds for every product of the same key. Made of the problem as it
// comes: a repeated product is neither planned nor described again.
#pragma once
#include <array>
#include <cstdint>

#include "device/matmul_slope.h"

namespace flambeau::cuda {

using BlasKey = std::array<int64_t, 19>;

struct BlasKeyHash {
  size_t operator()(const BlasKey& key) const noexcept {
    uint64_t sum = 0, odd = 0x9e3779b97f4a7c15;  // one multiplication a number, none waits
    for (const int64_t v : key) sum += uint64_t(v) * (odd += 0x632be59bd9b4e01a);
    return size_t(sum ^ sum >> 32);
  }
};

// The power of two that the address is aligned to, at most 256; null is as much. An algorithm reads
// by words as wide as its operands' alignments allow.
uint32_t alignment_of(const void* address);

BlasKey key_of(const hal::SlopedMatmul& problem, int device);

}  // namespace flambeau::cuda
