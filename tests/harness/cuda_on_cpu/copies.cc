// The copies under way of each thread of the block, oldest first.
#include "copies.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "banks.h"
#include "grid.h"
#include "word_copies.h"

namespace cuda_on_cpu {

namespace {

struct Copy {
  void* to;
  const void* from;
  int bytes, size;  // those copied, and with the zeros behind them
};

struct Queue {
  std::vector<Copy> copies;
  std::vector<size_t> groups;  // how many copies each has
  size_t committed = 0;        // copies that are in a group
};

std::vector<Queue>& queues = *new std::vector<Queue>;  // as the block's threads

Queue& mine() { return queues[current->warp * 32 + current->lane]; }

}  // namespace

void forget_copies(int threads) {
  if (queues.size() < size_t(threads)) queues.resize(size_t(threads));
  for (Queue& q : queues) q.copies.clear(), q.groups.clear(), q.committed = 0;
}

void copy_async(void* to, const void* from, int bytes) {
  const uintptr_t both = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (both % 16 != 0) stop("an asynchronous copy whose ends are not aligned to 16 bytes");
  if (bytes < 0 || bytes > 16) stop("an asynchronous copy of other than 0 to 16 bytes");
  touch_shared(to, 16);
  std::memset(to, 0xff, 16);
  mine().copies.push_back({to, from, bytes, 16});
}

void copy_word_async(void* to, const void* from, bool copies) {
  const uintptr_t both = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (both % 4 != 0) stop("an asynchronous copy of a word whose ends are not aligned to 4 bytes");
  touch_shared(to, 4);
  std::memset(to, 0xff, 4);
  mine().copies.push_back({to, from, copies ? 4 : 0, 4});
}

void commit_copies() {
  Queue& q = mine();
  q.groups.push_back(q.copies.size() - q.committed);
  q.committed = q.copies.size();
}

void wait_copies(int groups) {
  Queue& q = mine();
  while (q.groups.size() > size_t(groups)) {
    const size_t n = q.groups.front();
    for (size_t i = 0; i < n; ++i) {
      const Copy& c = q.copies[i];
      if (c.bytes) std::memcpy(c.to, c.from, size_t(c.bytes));
      std::memset(static_cast<char*>(c.to) + c.bytes, 0, size_t(c.size - c.bytes));
    }
    q.copies.erase(q.copies.begin(), q.copies.begin() + ptrdiff_t(n));
    q.groups.erase(q.groups.begin());
    q.committed -= n;
  }
}

}  // namespace cuda_on_cpu
