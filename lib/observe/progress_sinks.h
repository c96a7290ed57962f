// Where progress is shown: on a terminal as one line that is drawn in place, as plain lines
// elsewhere, or as JSON, one object per line. They write to a file descriptor that the program
// named; nothing is written that was not asked for.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "observe/progress.h"

namespace flambeau::observe {

enum class Style : int8_t { automatic = 0, bar = 1, plain = 2 };

// "█████─────  45 %  1,234 images/s  loss 0.1234  memory 1.2 MiB  0:12 left" in `columns` columns.
struct LineLook {
  int columns = 80;
  bool color = false, unicode = false;
};
std::string progress_line(const ProgressState& state, const LineLook& look);
std::string progress_json(const ProgressState& state, const char* event);

// automatic: a bar on a terminal, plain lines elsewhere.
std::unique_ptr<ProgressSink> text_sink(int descriptor, Style style, double interval);
std::unique_ptr<ProgressSink> json_sink(std::string_view path, double interval);

}  // namespace flambeau::observe
