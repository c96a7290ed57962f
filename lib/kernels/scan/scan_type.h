// The type that running joins of a dtype are computed in.
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class T> using ScanType =
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double>, double,
                       std::conditional_t<std::is_same_v<Compute<T>, float>, float, int64_t>>;

}  // namespace flambeau::FLAM_TARGET
