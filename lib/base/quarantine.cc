// The library's own operator new and delete: those of the standard library, and the question
// whether memory is withheld. The shared library keeps them to itself; a program that links the
// static archive takes them over. A sanitizer brings its own, and nothing is withheld from it.
#include "base/quarantine.h"

#include <cstdlib>
#include <new>

namespace flambeau {

bool (*withhold)(void* memory) noexcept = nullptr;

}  // namespace flambeau

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

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

#endif
