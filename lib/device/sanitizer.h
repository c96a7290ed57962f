// Under AddressSanitizer, freed cpu memory in the cache is poisoned, so that a kernel that reads
// past a tensor's end or after its death is reported as if every tensor came from malloc. Otherwise
// nothing.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace flambeau::sanitizer {

#if defined(__SANITIZE_ADDRESS__)
inline void hand_out(void* data, size_t bytes) { __asan_unpoison_memory_region(data, bytes); }
inline void take_back(void* data, size_t size) { __asan_poison_memory_region(data, size); }
#else
inline void hand_out(void*, size_t) {}
inline void take_back(void*, size_t) {}
#endif

}  // namespace flambeau::sanitizer
