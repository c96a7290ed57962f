// How the caching allocators of GPUs behave, in the words of PyTorch's environment variable:
// "expandable_segments:True,max_split_size_mb:512". What cannot be honoured is refused, never
// ignored.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flambeau {

class CachingAllocator;

struct AllocatorSettings {
  bool expandable_segments = false;
  size_t max_split_size = SIZE_MAX;         // bytes; blocks from there on are not cut
  double garbage_collection_threshold = 0;  // share of what the process may take; 0: none
  // By a request's power of two from 1 MiB on: in how many steps the way to the next one is cut.
  std::array<uint16_t, 16> roundup_power2_divisions{};

  size_t rounding_step(size_t bytes, size_t alignment) const;  // a power of two; 0: as always
};

AllocatorSettings parse_settings(std::string_view text);  // throws Error(invalid argument)
std::string settings_json(const AllocatorSettings& s);

// Those of the environment until others are set, for every allocator of a GPU from then on.
AllocatorSettings allocator_settings();  // throws where the environment's are malformed
void set_allocator_settings(const AllocatorSettings& settings);
// Where one thread sets and another makes an allocator, what was set last holds.
void configure_as_set(CachingAllocator& allocator);

}  // namespace flambeau
