// The stand-in for CUB's radix sort: what it asks of its callers, and a stable sort.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <cub/device/device_radix_sort.cuh>
#include "grid.h"

namespace cub {

namespace {

uint64_t word_at(const void* p, int64_t i, int bytes) {
  uint64_t word = 0;
  std::memcpy(&word, static_cast<const char*>(p) + i * bytes, size_t(bytes));
  return word;
}

void permute(void* to, void* from, int bytes, const std::vector<int64_t>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    std::memcpy(static_cast<char*>(to) + i * size_t(bytes),
                static_cast<const char*>(from) + size_t(order[i]) * size_t(bytes), size_t(bytes));
  std::memset(from, 0xa5, order.size() * size_t(bytes));
}

void run(void*, const void* call) {
  const RadixSort& s = *static_cast<const RadixSort*>(call);
  std::memset(s.temporary, 0xa5, s.temporary_bytes);
  const int bits = s.end_bit - s.begin_bit;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const auto key = [&](int64_t i) {
    return word_at(s.keys[0], i, s.key_bytes) >> s.begin_bit & mask;
  };
  std::vector<int64_t> order(size_t(s.n), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
  permute(s.keys[1], s.keys[0], s.key_bytes, order);
  permute(s.values[1], s.values[0], s.value_bytes, order);
}

[[noreturn]] void refuse(const std::string& why) {
  throw cuda_on_cpu::KernelError("DeviceRadixSort: " + why);
}

}  // namespace

// An odd size, and more for more pairs and for wider keys.
size_t RadixSort::wanted() const { return size_t(1283 + n / 64 * 4 + key_bytes); }

void RadixSort::check(size_t given) const {
  if (given != wanted())
    refuse(std::to_string(given) + " bytes of temporary storage, where " +
           std::to_string(wanted()) + " were asked for");
  if (n < 0 || n > int64_t{0xffffffff}) refuse(std::to_string(n) + " pairs");
  if (begin_bit < 0 || begin_bit >= end_bit || end_bit > 8 * key_bytes)
    refuse("bits " + std::to_string(begin_bit) + " to " + std::to_string(end_bit) + " of a key");
  struct Range {
    uintptr_t begin, end;
  };
  std::vector<Range> all;
  const auto add = [&](const void* p, size_t bytes, size_t align) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(p);
    if (!p || at % align) refuse("a buffer that is null or not aligned");
    for (const Range& r : all) {
      if (at < r.end && r.begin < at + bytes) refuse("buffers that overlap");
    }
    all.push_back({at, at + bytes});
  };
  if (n == 0) return;
  for (int i = 0; i < 2; ++i) {
    add(keys[i], size_t(n * key_bytes), size_t(key_bytes));
    add(values[i], size_t(n * value_bytes), size_t(value_bytes));
  }
  add(temporary, temporary_bytes, 1);
}

void RadixSort::enqueue(void* stream) const {
  if (cuda_on_cpu::enqueue) {
    cuda_on_cpu::enqueue(stream, "DeviceRadixSort", &run, this, sizeof *this);
  } else {
    run(stream, this);
  }
}

}  // namespace cub
