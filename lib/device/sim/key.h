// A memory protection key (Intel's and AMD's PKU): pages marked with it are open or shut for each
// thread by a register, without a system call. Every thread starts shut out, those made later too,
// so only a thread inside a KeyOpen reaches the memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace flambeau::sim {

// A fresh key, or -1 where the processor or the system has none left.
int take_key() noexcept;
// The pages get the key; `open` gives them read and write access for who holds it, else none.
bool mark_pages(void* begin, size_t bytes, int key, bool open) noexcept;

// This thread reaches the key's pages while it lives; nothing happens where the key is -1.
class KeyOpen {
 public:
  explicit KeyOpen(int key) noexcept;
  ~KeyOpen();
  KeyOpen(const KeyOpen&) = delete;
  KeyOpen& operator=(const KeyOpen&) = delete;

 private:
  int key_;
  uint32_t before_ = 0;  // the whole register: a fault handler leaves with all keys shut
};

}  // namespace flambeau::sim
