// The arena's pages; see arena.h. Segments are cut in granules of 2 MiB, as a GPU's driver does.
// Several times the capacity in addresses keep holes between segments from failing an allocation
// that fits, and leave room for ranges that are reserved.
#include "device/sim/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/sim/guard.h"
#include "device/sim/key.h"
#include "device/sim_config.h"

namespace flambeau::sim {
namespace {

constexpr size_t kGranule = size_t(2) << 20;
constexpr size_t kPeriod = size_t(1) << 32, kLowest = size_t(1) << 30;
constexpr int kPoison = 0xff;  // NaN in every floating type, an absurd index in every integer type

size_t granules(size_t bytes) { return (bytes + kGranule - 1) / kGranule; }

}  // namespace

Arena& Arena::instance() {
  static Arena& arena = []() -> Arena& {
    Arena& made = *new Arena;
    watch_faults(made);
    return made;
  }();
  return arena;
}

Arena::Arena() : devices_(size_t(config().devices)) {
  const size_t all = devices_.size() * config().memory;
  const size_t times =
      std::clamp((kPeriod - kLowest) / std::max(all, kGranule), size_t(2), size_t(16));
  const size_t per_device = times * granules(config().memory) + 16;
  stride_ = per_device * kGranule;
  size_ = stride_ * devices_.size();
  live_ = std::vector<std::atomic<bool>>(per_device * devices_.size());
  for (Device& d : devices_) {
    d.capacity = config().memory;
    d.taken.resize(per_device);
  }
  settle_protection();
  file_ = memfd_create("flambeau-sim", MFD_CLOEXEC);
  if (file_ >= 0 && ftruncate(file_, off_t(size_)) == 0 && map_views()) return;
  const int problem = errno;
  if (file_ >= 0) close(file_);
  throw Error(Code::out_of_host_memory, "the memory of the simulated devices cannot be reserved",
              std::strerror(problem), "give FLAMBEAU_SIM a smaller memory= or fewer devices");
}

void Arena::settle_protection() {
  if (config().protection != Protection::mapping) key_ = take_key();
  check(key_ >= 0 || config().protection != Protection::key, Code::unsupported,
        "FLAMBEAU_SIM asks for protection=key, but this processor or system gives no memory "
        "protection key; leave it out, or write protection=mapping");
}

namespace {

// A view at an address whose low half is kLowest, so that the halves of its addresses are never
// small until it has gone on for 3 GiB: see translate_words.
void* map_view(int file, size_t bytes) {
  const size_t room = bytes + kPeriod + kLowest;
  void* all = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return MAP_FAILED;
  auto* const begin = static_cast<char*>(all);
  const auto start = reinterpret_cast<uintptr_t>(all);
  char* const at = begin + ((kLowest - start) & (kPeriod - 1));
  if (at > begin) munmap(begin, size_t(at - begin));
  munmap(at + bytes, size_t(begin + room - (at + bytes)));
  void* view = mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0);
  if (view == MAP_FAILED) munmap(at, bytes);
  return view;
}

}  // namespace

bool Arena::map_views() {
  const auto view = [this] { return map_view(file_, size_); };
  void* handed_out = view();
  if (handed_out == MAP_FAILED) return false;
  base_ = address(handed_out);
  if (key_ >= 0) return true;
  void* inside = view();
  if (inside == MAP_FAILED) return munmap(handed_out, size_), false;
  distance_ = address(inside) - base_;
  return true;
}

// Of the view that executors use: with a key it is the only one.
bool Arena::set_access(size_t offset, size_t bytes, bool open) {
  void* begin = reinterpret_cast<void*>(base_ + distance_ + offset);
  if (key_ >= 0) return mark_pages(begin, bytes, key_, open);
  return mprotect(begin, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

void* Arena::allocate(int device, size_t bytes) {
  void* const data = reserve(device, bytes);
  if (!data || map(device, data, bytes)) return data;
  release(device, data, bytes);
  return nullptr;
}

void Arena::deallocate(int device, void* data, size_t bytes) {
  unmap(device, data, bytes);
  release(device, data, bytes);
}

void* Arena::reserve(int device, size_t bytes) {
  std::lock_guard lock(mutex_);
  std::vector<bool>& taken = devices_[size_t(device)].taken;
  const size_t n = granules(bytes);
  for (size_t run = 0, i = 0; i < taken.size(); ++i) {
    run = taken[i] ? 0 : run + 1;
    if (run < n) continue;
    std::fill_n(taken.begin() + ptrdiff_t(i + 1 - n), n, true);
    return reinterpret_cast<void*>(base_ + size_t(device) * stride_ + (i + 1 - n) * kGranule);
  }
  return nullptr;
}

void Arena::release(int device, void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  const size_t first = (address(data) - base_ - size_t(device) * stride_) / kGranule;
  std::fill_n(devices_[size_t(device)].taken.begin() + ptrdiff_t(first), granules(bytes), false);
}

bool Arena::map(int device, void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  Device& d = devices_[size_t(device)];
  const size_t offset = address(data) - base_, n = granules(bytes);
  if (d.used + n * kGranule > d.capacity || !set_access(offset, n * kGranule, true)) return false;
  const KeyOpen open(key_);
  std::memset(reinterpret_cast<void*>(base_ + distance_ + offset), kPoison, n * kGranule);
  for (size_t k = 0; k < n; ++k) live_[offset / kGranule + k] = true;
  d.used += n * kGranule;
  return true;
}

void Arena::unmap(int device, void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  const size_t offset = address(data) - base_, n = granules(bytes);
  set_access(offset, n * kGranule, false);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(offset), off_t(n * kGranule));
  for (size_t k = 0; k < n; ++k) live_[offset / kGranule + k] = false;
  devices_[size_t(device)].used -= n * kGranule;
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

// Arguments are structs: their pointers lie at multiples of 8. A word that only looks like one of
// the arena's addresses would be translated, too. A number of 64 bits does as seldom as one guesses
// an address, but one of 32 does beside padding in which the upper half of an address was left,
// wherever it is the lower half of one: hence those are never small, and only live memory counts.
void Arena::translate_words(void* args, size_t bytes) const {
  if (distance_ == 0) return;
  for (size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    char* word = static_cast<char*>(args) + i;
    void* p;
    std::memcpy(&p, word, sizeof p);
    if (!contains(p) || !(is_live(p) || ends_live(p))) continue;
    p = translate(static_cast<char*>(p));
    std::memcpy(word, &p, sizeof p);
  }
}

void* Arena::granule_of(const void* p) const {
  const uintptr_t offset = address(p) - base_;
  return reinterpret_cast<void*>(base_ + offset / kGranule * kGranule);
}

bool Arena::ends_live(const void* p) const {
  return address(p) > base_ && is_live(static_cast<const char*>(p) - 1);
}

bool Arena::is_live(const void* p) const { return live_[(address(p) - base_) / kGranule]; }

bool Arena::open_granule(const void* p) {
  if (key_ >= 0 || !contains(p) || !is_live(p)) return false;
  return mprotect(granule_of(p), kGranule, PROT_READ | PROT_WRITE) == 0;
}

void Arena::close_granule(const void* p) { mprotect(granule_of(p), kGranule, PROT_NONE); }

}  // namespace flambeau::sim
