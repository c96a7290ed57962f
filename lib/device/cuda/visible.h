// CUDA_VISIBLE_DEVICES as the driver reads it, for counting devices without initialising CUDA.
#pragma once
#include <optional>
#include <span>
#include <string>

namespace flambeau::cuda {

// How many devices it leaves of GPUs with these UUIDs ("GPU-..."); null: the variable is not set.
// Nothing where only the driver can tell, as of parts of GPUs.
std::optional<size_t> visible_devices(const char* variable, std::span<const std::string> uuids);

}  // namespace flambeau::cuda
