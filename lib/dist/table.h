// The keys and values of a store, and what its calls do to them, for whoever holds the one table of
// a job: a process, a server, or the readers of a file. Not locked: its holder does that. A call
// that fails changes nothing.
#pragma once
#include <chrono>
#include <string>
#include <unordered_map>

#include "dist/store.h"

namespace flambeau::dist {

inline constexpr size_t kMaxKey = 4096;                // bytes of a key
inline constexpr size_t kMaxValue = size_t{64} << 20;  // bytes of a value
inline constexpr size_t kMaxKeys = 4096;               // keys of a call

class Table {
 public:
  const std::string* find(const std::string& key) const;
  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  void append(const std::string& key, const std::string& value);
  int64_t add(const std::string& key, int64_t by);
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired);
  bool remove(const std::string& key) { return values_.erase(key) > 0; }
  int64_t size() const { return int64_t(values_.size()); }
  Keys keys() const;              // in order
  size_t key_list_bytes() const;  // of key_list(keys())
  // The index of the first key from `from` on that is not there; as many as there are keys if none.
  size_t missing(const Keys& keys, size_t from = 0) const;

 private:
  std::unordered_map<std::string, std::string> values_;
};

// Refuses what a store does not take.
void check_keys(const Keys& keys);
void check_entry(const std::string& key, const std::string& value);

using Clock = std::chrono::steady_clock;
// `timeout` from now; one that the clock does not hold is ten years.
Clock::time_point deadline_after(Millis timeout);

// Says which keys did not come.
[[noreturn]] void fail_timeout(const std::string& store, const Keys& missing, Millis timeout);

}  // namespace flambeau::dist
