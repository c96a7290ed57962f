// See text_table.h.
#include "base/text_table.h"

#include <algorithm>

namespace flambeau {

std::string text_table(const std::vector<TextColumn>& columns,
                       std::vector<std::vector<std::string>> rows) {
  constexpr size_t most = 60;
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t width = columns[c].header.size();
    for (auto& row : rows) {
      if (row[c].size() > most) {
        row[c].resize(most - 3);
        row[c] += "...";
      }
      width = std::max(width, row[c].size());
    }
    widths.push_back(width);
  }
  std::string rule, head;
  const auto padded = [&](size_t c, const std::string& text) {
    const std::string space(widths[c] - text.size(), ' ');
    return (columns[c].left ? text + space : space + text) + "  ";
  };
  for (size_t c = 0; c < columns.size(); ++c) {
    rule += std::string(widths[c], '-') + "  ";
    head += padded(c, columns[c].header);
  }
  std::string out = rule + "\n" + head + "\n" + rule + "\n";
  for (const auto& row : rows) {
    for (size_t c = 0; c < columns.size(); ++c) out += padded(c, row[c]);
    out += "\n";
  }
  return out + rule + "\n";
}

}  // namespace flambeau
