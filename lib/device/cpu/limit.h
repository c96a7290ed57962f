// How much memory the cpu device may hold: FLAMBEAU_CPU_MEMORY ("512MiB"), otherwise the machine's
// memory.
#pragma once
#include <cstddef>

#include "device/bytes.h"

namespace flambeau::hal {

size_t cpu_capacity();

}  // namespace flambeau::hal
