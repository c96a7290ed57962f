// The double mapping; see arena.h. Segments are cut in granules of 2 MiB, as a GPU's driver does.
// Twice the capacity in addresses keeps holes between segments from failing an allocation that
// fits.
#include "device/sim/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/sim/config.h"

namespace flambeau::sim {
namespace {

constexpr size_t kGranule = size_t(2) << 20;
constexpr int kPoison = 0xff;  // NaN in every floating type, an absurd index in every integer type

size_t granules(size_t bytes) { return (bytes + kGranule - 1) / kGranule; }

}  // namespace

Arena& Arena::instance() {
  static Arena& arena = *new Arena;
  return arena;
}

Arena::Arena() : devices_(size_t(config().devices)) {
  const size_t per_device = 2 * granules(config().memory) + 16;
  stride_ = per_device * kGranule;
  size_ = stride_ * devices_.size();
  live_ = std::vector<std::atomic<bool>>(per_device * devices_.size());
  for (Device& d : devices_) {
    d.capacity = config().memory;
    d.taken.resize(per_device);
  }
  file_ = memfd_create("flambeau-sim", MFD_CLOEXEC);
  if (file_ >= 0 && ftruncate(file_, off_t(size_)) == 0) {
    void* handed_out = mmap(nullptr, size_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    void* inside = mmap(nullptr, size_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (handed_out != MAP_FAILED && inside != MAP_FAILED) {
      base_ = reinterpret_cast<uintptr_t>(handed_out);
      distance_ = reinterpret_cast<uintptr_t>(inside) - base_;
      return;
    }
    if (handed_out != MAP_FAILED) munmap(handed_out, size_);
    if (inside != MAP_FAILED) munmap(inside, size_);
  }
  if (file_ >= 0) close(file_);
  throw Error(Code::out_of_host_memory, "the memory of the simulated devices cannot be reserved",
              std::strerror(errno), "give FLAMBEAU_SIM a smaller memory= or fewer devices");
}

void* Arena::allocate(int device, size_t bytes) {
  std::lock_guard lock(mutex_);
  Device& d = devices_[size_t(device)];
  const size_t n = granules(bytes);
  if (d.used + n * kGranule > d.capacity) return nullptr;
  size_t first = 0;
  for (size_t run = 0, i = 0; i < d.taken.size(); ++i) {
    run = d.taken[i] ? 0 : run + 1;
    if (run < n) continue;
    first = i + 1 - n;
    const size_t offset = size_t(device) * stride_ + first * kGranule;
    void* inside = reinterpret_cast<void*>(base_ + distance_ + offset);
    if (mprotect(inside, n * kGranule, PROT_READ | PROT_WRITE) != 0) return nullptr;
    std::memset(inside, kPoison, n * kGranule);
    for (size_t k = 0; k < n; ++k) d.taken[first + k] = true, live_[offset / kGranule + k] = true;
    d.used += n * kGranule;
    return reinterpret_cast<void*>(base_ + offset);
  }
  return nullptr;
}

void Arena::deallocate(int device, void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  Device& d = devices_[size_t(device)];
  const size_t offset = reinterpret_cast<uintptr_t>(data) - base_, n = granules(bytes);
  mprotect(translate(static_cast<char*>(data)), n * kGranule, PROT_NONE);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(offset), off_t(n * kGranule));
  const size_t first = (offset - size_t(device) * stride_) / kGranule;
  for (size_t k = 0; k < n; ++k) d.taken[first + k] = false, live_[offset / kGranule + k] = false;
  d.used -= n * kGranule;
}

size_t Arena::used(int device) const {
  std::lock_guard lock(mutex_);
  return devices_[size_t(device)].used;
}

size_t Arena::capacity(int device) const {
  std::lock_guard lock(mutex_);
  return devices_[size_t(device)].capacity;
}

void Arena::set_capacity(int device, size_t bytes) {
  std::lock_guard lock(mutex_);
  devices_[size_t(device)].capacity = std::min(bytes, config().memory);
}

// Arguments are structs: their pointers lie at multiples of 8. A number that happens to look like
// one of the arena's addresses would be translated too; with 47-bit addresses that is as unlikely
// as guessing one.
void Arena::translate_words(void* args, size_t bytes) const {
  for (size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    char* word = static_cast<char*>(args) + i;
    void* p;
    std::memcpy(&p, word, sizeof p);
    if (!contains(p)) continue;
    p = translate(static_cast<char*>(p));
    std::memcpy(word, &p, sizeof p);
  }
}

void* Arena::granule_of(const void* p) const {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - base_;
  return reinterpret_cast<void*>(base_ + offset / kGranule * kGranule);
}

bool Arena::open_granule(const void* p) {
  if (!contains(p) || !live_[(reinterpret_cast<uintptr_t>(p) - base_) / kGranule]) return false;
  return mprotect(granule_of(p), kGranule, PROT_READ | PROT_WRITE) == 0;
}

void Arena::close_granule(const void* p) { mprotect(granule_of(p), kGranule, PROT_NONE); }

}  // namespace flambeau::sim
