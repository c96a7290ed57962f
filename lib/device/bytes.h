// Sizes as people write and read them: "256MiB" in the environment, "1.50 GiB" in reports.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flambeau {

// A number with an optional unit: B, KiB, MiB, GiB, TiB, or K, M, G, T and KB..TB (all of 1024).
std::optional<size_t> parse_bytes(std::string_view text);
std::string format_bytes(int64_t bytes);  // "512 B", "1.50 MiB"

}  // namespace flambeau
