// See table.h.
#include "dist/table.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace flambeau::dist {

namespace {

// Keys are shown whole where they are short, so that a text stays one that people read.
std::string shown(const std::string& key) {
  constexpr size_t most = 120;
  return cat_text('"', std::string_view(key).substr(0, most), key.size() > most ? "...\"" : "\"");
}

int64_t number_in(const std::string& key, const std::string& text) {
  int64_t n = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, n);
  check(error == std::errc() && last == end, Code::invalid_argument, "store: add to the key ",
        shown(key), ", whose value is no number");
  return n;
}

}  // namespace

const std::string* Table::find(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? nullptr : &at->second;
}

void Table::append(const std::string& key, const std::string& value) {
  const std::string* held = find(key);
  check(!held || held->size() + value.size() <= kMaxValue, Code::invalid_argument,
        "store: append of ", value.size(), " bytes to the key ", shown(key), ", which holds ",
        held ? held->size() : 0, "; a value has at most ", kMaxValue);
  values_[key] += value;
}

int64_t Table::add(const std::string& key, int64_t by) {
  const std::string* held = find(key);
  int64_t sum = 0;
  check(!__builtin_add_overflow(held ? number_in(key, *held) : 0, by, &sum), Code::invalid_argument,
        "store: add of ", by, " to the key ", shown(key), " leaves 64 bits");
  values_[key] = std::to_string(sum);
  return sum;
}

std::string Table::compare_set(const std::string& key, const std::string& expected,
                               const std::string& desired) {
  const std::string* held = find(key);
  if (held ? *held != expected : !expected.empty()) return held ? *held : expected;
  values_[key] = desired;
  return desired;
}

Keys Table::keys() const {
  Keys all;
  all.reserve(values_.size());
  for (const auto& [key, value] : values_) all.push_back(key);
  std::sort(all.begin(), all.end());
  return all;
}

size_t Table::key_list_bytes() const {
  size_t sum = 0;
  for (const auto& [key, value] : values_) sum += sizeof(uint32_t) + key.size();
  return sum;
}

size_t Table::missing(const Keys& keys, size_t from) const {
  size_t i = from;
  while (i < keys.size() && find(keys[i])) ++i;
  return i;
}

void check_keys(const Keys& keys) {
  check(keys.size() <= kMaxKeys, Code::invalid_argument, "store: a call with ", keys.size(),
        " keys; it takes at most ", kMaxKeys);
  for (const std::string& key : keys)
    check(key.size() <= kMaxKey, Code::invalid_argument, "store: the key ", shown(key), " has ",
          key.size(), " bytes; a key has at most ", kMaxKey);
}

void check_entry(const std::string& key, const std::string& value) {
  check_keys({key});
  check(value.size() <= kMaxValue, Code::invalid_argument, "store: the value for the key ",
        shown(key), " has ", value.size(), " bytes; a value has at most ", kMaxValue,
        "; send larger ones by a collective");
}

Clock::time_point deadline_after(Millis timeout) {
  constexpr Millis most = std::chrono::hours(24 * 365 * 10);
  return Clock::now() + std::clamp(timeout, Millis(0), most);
}

void fail_timeout(const std::string& store, const Keys& missing, Millis timeout) {
  constexpr size_t most = 8;
  std::string names;
  for (size_t i = 0; i < std::min(missing.size(), most); ++i)
    names += (i ? ", " : "") + shown(missing[i]);
  if (missing.size() > most) names += cat_text(" and ", missing.size() - most, " more");
  throw Error(Code::collective_timeout,
              cat_text(store, ": wait timeout after ", timeout.count(), "ms, keys: ", names),
              "no process of the job has set them",
              "look at the processes that should have, or give the store a longer timeout");
}

}  // namespace flambeau::dist
