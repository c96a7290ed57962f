// The table, and its values from the environment.
#include "base/setting.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace flambeau {
namespace {

constexpr const char* kThreads = "FLAMBEAU_NUM_THREADS";
constexpr int kMostThreads = 4096;  // as the table says

struct Setting {
  const char *name, *words;
  size_t most = 1;  // words
  bool is_number = false;
};
constexpr Setting kSettings[] = {{"CUDA_LAUNCH_BLOCKING", "0,1"},
                                 {"FLAMBEAU_CHECK", "handles,stop", 2},
                                 {"FLAMBEAU_ISA", "sse2,avx2,avx512,avx512_bf16,amx"},
                                 {"FLAMBEAU_LAUNCH_BLOCKING", "0,1"},
                                 {kThreads, "whole numbers from 1 to 4096", 1, true},
                                 {"FLAMBEAU_TRACK_HANDLES", "0,1"}};

std::vector<std::string_view> split(const char* value) {
  std::vector<std::string_view> words;
  std::string_view text = value ? value : "";
  while (!text.empty()) {
    words.push_back(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(words.back().size() + 1, text.size()));
  }
  return words;
}

bool has(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// 0 where the text is no such number.
int threads_of(const char* text) {
  const std::string_view all = text ? text : "";
  int n = 0;
  const auto [end, problem] = std::from_chars(all.data(), all.data() + all.size(), n);
  const bool whole = problem == std::errc() && end == all.data() + all.size();
  return whole && n >= 1 && n <= kMostThreads ? n : 0;
}

bool understood(const Setting& s, const char* value) {
  const auto accepted = split(s.words), given = split(value);
  if (s.is_number) return given.empty() || threads_of(value);
  return given.size() <= s.most &&
         std::ranges::all_of(given, [&](auto word) { return has(accepted, word); });
}

}  // namespace

int setting_threads() { return threads_of(std::getenv(kThreads)); }

bool setting_has(std::string_view name, std::string_view word) {
  return has(split(std::getenv(std::string(name).c_str())), word) && setting_problems(name).empty();
}

std::vector<std::string> setting_problems(std::string_view name) {
  std::vector<std::string> problems;
  for (const Setting& s : kSettings) {
    if (!name.empty() && name != s.name) continue;
    if (understood(s, std::getenv(s.name))) continue;
    problems.push_back(cat_text(s.name, " has \"", std::getenv(s.name), "\"; accepted are ",
                                s.most > 1 ? "words separated by commas of " : "", s.words));
  }
  return problems;
}

}  // namespace flambeau
