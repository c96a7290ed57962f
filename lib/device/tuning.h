// What was measured of the ways in which a library can compute the same, for the whole process: the
// fastest by a text that says all it depends on. The text form is torch's, with what else the times
// depend on in front, so that those of another machine are refused.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flambeau::tuning {

extern std::atomic<bool> enabled, measures;            // at first what the environment says
extern std::atomic<int64_t> milliseconds, iterations;  // at most, for each candidate

// Whether results must be the same in every run, so that nothing may be chosen by time; set by the
// layer that knows.
inline bool (*must_repeat)() = nullptr;

struct Result {
  std::string operation, parameters, way;
  double milliseconds = 0;
};

std::optional<Result> find(const std::string& operation, const std::string& parameters);
void keep(Result result);
std::vector<Result> results();  // in the order of their names

using Validators = std::vector<std::pair<std::string, std::string>>;
// Throws where there is no GPU or no library.
Validators validators();

std::string lines_of(const std::vector<Result>& results);
std::string file_text();
// All results of such a text; throws where it is none, or one of other validators. `name` is its
// file's.
std::vector<Result> parse(std::string_view text, std::string_view name);

}  // namespace flambeau::tuning
