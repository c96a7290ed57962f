// Whether this process may use GPUs: CUDA does not survive a fork, so that a child of a process
// that has used one may not, and is told so. Asking whether there is a GPU is no use of it.
#pragma once
#include <atomic>
#include <cstdint>

namespace flambeau::fork {

enum class Use : int8_t { none, begun, lost };
inline std::atomic<Use> g_use{Use::none};

bool begin_use();  // false in such a child

// At every call of a driver but those that look for devices.
inline bool may_use() { return g_use.load(std::memory_order_relaxed) == Use::begun || begin_use(); }

}  // namespace flambeau::fork
