// Counting conflicts of banks: distinct words of one bank within one phase.
#include "banks.h"

#include <algorithm>

namespace cuda_on_cpu {

bool counting_banks = false;
BankCounts bank_counts;

void count_phase(const void* const* addresses, int lanes, int bytes) {
  constexpr int kBanks = 32, kMost = 32;
  uintptr_t words[kBanks][kMost];
  int count[kBanks] = {};
  for (int i = 0; i < lanes; ++i) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(addresses[i]) / 4;
    for (uintptr_t word = first; word < first + uintptr_t(bytes / 4); ++word) {
      auto& bank = words[word % kBanks];
      int& n = count[word % kBanks];
      if (std::find(bank, bank + n, word) == bank + n) bank[n++] = word;
    }
  }
  ++bank_counts.phases;
  bank_counts.conflicts += uint64_t(std::max(1, *std::max_element(count, count + kBanks)) - 1);
}

void count_access(const void* const (&addresses)[32], int bytes) {
  const int lanes = std::min(32, 128 / bytes);
  for (int i = 0; i < 32; i += lanes) count_phase(addresses + i, lanes, bytes);
}

}  // namespace cuda_on_cpu
