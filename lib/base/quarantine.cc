// The library's own operator new and delete (no other code of the process sees them): those of the
// standard library, and the question whether memory is withheld.
#include "base/quarantine.h"

#include <cstdlib>
#include <new>

namespace flambeau {

bool (*withhold)(void* memory) noexcept = nullptr;

}  // namespace flambeau

void* operator new(size_t n) {
  for (;;) {
    if (void* p = std::malloc(n ? n : 1)) return p;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* p) noexcept {
  if (flambeau::withhold && flambeau::withhold(p)) [[unlikely]]
    return;
  std::free(p);
}

void operator delete(void* p, size_t) noexcept { ::operator delete(p); }
