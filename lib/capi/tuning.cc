// Targets of tuning.h. Files are read and written here, since measuring lies below them.
#include "flambeau/tuning.h"

#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "device/tuning.h"
#include "io/file.h"

namespace flambeau::capi {
namespace {

void set_limit(std::atomic<int64_t>& limit, const char* name, int64_t value) {
  check(value >= 0, Code::invalid_argument, name, " must not be negative, and is ", value);
  limit = value;
}

}  // namespace

void set_tuning_enabled(bool enabled) { tuning::enabled = enabled; }
bool tuning_enabled() { return tuning::enabled; }
void set_tuning_measures_enabled(bool enabled) { tuning::measures = enabled; }
bool tuning_measures_enabled() { return tuning::measures; }

void set_tuning_duration(int64_t milliseconds) {
  set_limit(tuning::milliseconds, "milliseconds", milliseconds);
}
int64_t tuning_duration() { return tuning::milliseconds; }
void set_tuning_iterations(int64_t iterations) {
  set_limit(tuning::iterations, "iterations", iterations);
}
int64_t tuning_iterations() { return tuning::iterations; }

const char* tuning_results() {
  return borrowed_text([] { return tuning::lines_of(tuning::results()); });
}

const char* tuning_validators() {
  return text_of_thread([] {
    std::string text;
    for (const auto& [name, value] : tuning::validators()) text += cat_text(name, ',', value, '\n');
    return text;
  });
}

void tuning_write_file(std::string_view path) {
  const std::string text = tuning::file_text();
  io::AtomicFile file(path);
  file.write(text);
  file.commit();
}

void tuning_read_file(std::string_view path) {
  for (tuning::Result& r : tuning::parse(io::read_file(path), path)) tuning::keep(std::move(r));
}

}  // namespace flambeau::capi
