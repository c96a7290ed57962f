// See tuning.h.
#include "device/tuning.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"
#include "device/devices.h"
#include "device/hal.h"
#include "flambeau/common.h"

namespace flambeau::tuning {
namespace {

int64_t environment(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  if (!text) return otherwise;
  int64_t value = 0;
  const std::string_view all(text);
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  return error == std::errc() && end == all.data() + all.size() && value >= 0 ? value : otherwise;
}

struct Kept {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Result> results;
};
Kept& kept() {
  static Kept& made = *new Kept;  // threads may multiply until the process is gone
  return made;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t end; (end = text.find(at)) != text.npos; text.remove_prefix(end + 1))
    parts.emplace_back(text.substr(0, end));
  parts.emplace_back(text);
  return parts;
}

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw Error(Code::invalid_argument, cat_text("the file of measurements ", name, ": ", why), {},
              "measure anew on this machine, and write another file");
}

}  // namespace

std::atomic<bool> enabled = environment("PYTORCH_TUNABLEOP_ENABLED", 0) != 0,
                  measures = environment("PYTORCH_TUNABLEOP_TUNING", 1) != 0;
std::atomic<int64_t> milliseconds = environment("PYTORCH_TUNABLEOP_MAX_TUNING_DURATION_MS", 30),
                     iterations = environment("PYTORCH_TUNABLEOP_MAX_TUNING_ITERATIONS", 100);

std::optional<Result> find(const std::string& operation, const std::string& parameters) {
  const std::lock_guard lock(kept().mutex);
  const auto found = kept().results.find({operation, parameters});
  if (found == kept().results.end()) return std::nullopt;
  return found->second;
}

void keep(Result result) {
  const std::lock_guard lock(kept().mutex);
  kept().results.insert_or_assign({result.operation, result.parameters}, std::move(result));
}

std::vector<Result> results() {
  const std::lock_guard lock(kept().mutex);
  std::vector<Result> all;
  for (const auto& [key, result] : kept().results) all.push_back(result);
  return all;
}

Validators validators() {
  const int count = device_count(DeviceType::cuda);
  const hal::Table* const table = hal::provider(DeviceType::cuda);
  if (count == 0 || !table) resolve({DeviceType::cuda, 0});  // throws, with the reason
  if (!table->matmul_version) fail(Code::unsupported, "this device has no library of products");
  std::string names;
  for (int i = 0; i < count; ++i)
    names += (i ? " + " : "") + device_properties({DeviceType::cuda, int16_t(i)}).name;
  for (char& c : names)
    if (c == ',' || c == '\n') c = ' ';
  const int runtime = table->runtime_version ? table->runtime_version() : 0;
  return {{"FLAMBEAU_VERSION",
           cat_text(FLAM_VERSION_MAJOR, '.', FLAM_VERSION_MINOR, '.', FLAM_VERSION_PATCH)},
          {"CUBLASLT_VERSION", std::to_string(table->matmul_version())},
          {"CUDA_RUNTIME_VERSION", std::to_string(runtime)},
          {"GPUS", names}};
}

std::string lines_of(const std::vector<Result>& results) {
  std::string text;
  for (const Result& r : results)
    text += cat_text(r.operation, ',', r.parameters, ',', r.way, ',', r.milliseconds, '\n');
  return text;
}

std::string file_text() {
  std::string text;
  for (const auto& [name, value] : validators())
    text += cat_text("Validator,", name, ',', value, '\n');
  return text + lines_of(results());
}

std::vector<Result> parse(std::string_view text, std::string_view name) {
  std::map<std::string, std::string> found;
  std::vector<Result> taken;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::vector<std::string> parts = split(line, ',');
    if (parts[0] == "Validator" && parts.size() == 3) {
      found[parts[1]] = parts[2];
      continue;
    }
    char* end = nullptr;
    const double time = parts.size() == 4 ? std::strtod(parts[3].c_str(), &end) : -1;
    if (!(time >= 0) || end == parts[3].c_str() || *end)
      refuse(name, cat_text("line ", number, " is not \"operation,parameters,algorithm,time\""));
    taken.push_back({parts[0], parts[1], parts[2], time});
  }
  for (const auto& [what, here] : validators()) {
    const auto there = found.find(what);
    if (there == found.end()) refuse(name, cat_text("it does not say its ", what));
    if (there->second != here)
      refuse(name,
             cat_text("it was measured with ", what, " ", there->second, ", here it is ", here));
  }
  return taken;
}

}  // namespace flambeau::tuning
