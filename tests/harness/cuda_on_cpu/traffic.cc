// Counting sectors: those of a launch and those of a warp's access are sets.
#include "traffic.h"

#include <algorithm>
#include <unordered_set>

#include "grid.h"

namespace cuda_on_cpu {

bool counting_traffic = false;
Traffic traffic;

namespace {

constexpr int kMostThreads = 1024;

struct Sectors {
  std::unordered_set<uint64_t> of_launch[2], of_block;
  uint3 block{};
  uint32_t done[kMostThreads] = {};  // accesses of each thread of the block
};

Sectors& sectors() {
  static auto& all = *new Sectors;
  return all;
}

// No two accesses of a block's warps share a key: 27 bits of the sector are more than a test's
// tensors have.
uint64_t key_of(uint64_t sector, uint64_t warp, uint64_t access) {
  return sector << 37 | warp << 32 | access;
}

}  // namespace

void forget_sectors() {
  if (!counting_traffic) return;
  Sectors& s = sectors();
  for (auto& seen : s.of_launch) seen.clear();
  s.of_block.clear();
  std::fill_n(s.done, kMostThreads, 0);
  ++traffic.launches;
}

void count_global(const void* p, int bytes, bool writes) {
  Sectors& s = sectors();
  const uint3 block = current->grid->block;
  if (block.x != s.block.x || block.y != s.block.y || block.z != s.block.z) {
    s.block = block;
    s.of_block.clear();
    std::fill_n(s.done, kMostThreads, 0);
  }
  const uint64_t first = reinterpret_cast<uintptr_t>(p) / Traffic::kSector,
                 last = (reinterpret_cast<uintptr_t>(p) + uint64_t(bytes) - 1) / Traffic::kSector;
  const uint32_t access = s.done[current->warp * 32 + current->lane]++;
  ++traffic.accesses;
  for (uint64_t sector = first; sector <= last; ++sector) {
    if (s.of_block.insert(key_of(sector, current->warp, access)).second)
      traffic.asked += Traffic::kSector;
    if (s.of_launch[writes].insert(sector).second)
      (writes ? traffic.written : traffic.read) += Traffic::kSector;
  }
}

}  // namespace cuda_on_cpu
