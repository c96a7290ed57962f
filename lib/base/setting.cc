// The table, and its values from the environment.
#include "base/setting.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace flambeau {
namespace {

struct Setting {
  const char *name, *words;
  size_t most = 1;  // words
};
constexpr Setting kSettings[] = {{"CUDA_LAUNCH_BLOCKING", "0,1"},
                                 {"FLAMBEAU_CHECK", "handles,stop", 2},
                                 {"FLAMBEAU_ISA", "sse2,avx2,avx512,avx512_bf16,amx"},
                                 {"FLAMBEAU_LAUNCH_BLOCKING", "0,1"},
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

}  // namespace

bool setting_has(std::string_view name, std::string_view word) {
  return has(split(std::getenv(std::string(name).c_str())), word) && setting_problems(name).empty();
}

std::vector<std::string> setting_problems(std::string_view name) {
  std::vector<std::string> problems;
  for (const Setting& s : kSettings) {
    if (!name.empty() && name != s.name) continue;
    const auto accepted = split(s.words), given = split(std::getenv(s.name));
    const bool well = std::ranges::all_of(given, [&](auto word) { return has(accepted, word); });
    if (well && given.size() <= s.most) continue;
    problems.push_back(cat_text(s.name, " has \"", std::getenv(s.name), "\"; accepted are ",
                                s.most > 1 ? "words separated by commas of " : "", s.words));
  }
  return problems;
}

}  // namespace flambeau
