// Keys through the C library's calls and the register's two instructions. Those must not run where
// there is no key, hence the test of -1 in front of each.
#include "device/sim/key.h"

#include <sys/mman.h>

#if defined(__x86_64__) && defined(PKEY_DISABLE_ACCESS)
#define FLAM_HAVE_KEYS 1
#include <immintrin.h>
#endif

namespace flambeau::sim {

#if defined(FLAM_HAVE_KEYS)
namespace {

[[gnu::target("pku")]] uint32_t read_rights() noexcept { return _rdpkru_u32(); }
[[gnu::target("pku")]] void write_rights(uint32_t rights) noexcept { _wrpkru(rights); }

}  // namespace

int take_key() noexcept { return pkey_alloc(0, PKEY_DISABLE_ACCESS); }

bool mark_pages(void* begin, size_t bytes, int key, bool open) noexcept {
  return pkey_mprotect(begin, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE, key) == 0;
}

KeyOpen::KeyOpen(int key) noexcept : key_(key) {
  if (key_ < 0) return;
  before_ = read_rights();
  write_rights(before_ & ~(uint32_t(3) << 2 * key_));
}

KeyOpen::~KeyOpen() {
  if (key_ >= 0) write_rights(before_);
}

#else

int take_key() noexcept { return -1; }

bool mark_pages(void* begin, size_t bytes, int, bool open) noexcept {
  return mprotect(begin, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

KeyOpen::KeyOpen(int key) noexcept : key_(key) {}
KeyOpen::~KeyOpen() = default;

#endif

}  // namespace flambeau::sim
