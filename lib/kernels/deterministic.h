// Whether results must not depend on the order in which a device's threads run. Kernels that would
// meet at one place in any order ask this before they are launched; most need not, since they never
// do. For the whole process, as in PyTorch.
#pragma once
#include <atomic>

namespace flambeau {

inline std::atomic<bool> deterministic_algorithms{false}, deterministic_warn_only{false};
inline std::atomic<bool> deterministic_fill{true};  // of elements that nobody sets

}  // namespace flambeau
