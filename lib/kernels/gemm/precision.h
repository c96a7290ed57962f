// What products of f32 matrices may lose for speed, where a device has units for it; for the whole
// process, as in PyTorch. A product asks when it is launched, so that a change counts at once.
#pragma once
#include <atomic>
#include <cstdint>

namespace flambeau {

enum class MatmulPrecision : int8_t { highest = 1, high, medium };

inline std::atomic<MatmulPrecision> matmul_precision{MatmulPrecision::highest};

}  // namespace flambeau
