// A table for people: columns as wide as their widest cell, rules around the headers and below.
// Long cells keep their beginning.
#pragma once
#include <string>
#include <vector>

namespace flambeau {

struct TextColumn {
  std::string header;
  bool left = false;  // words; numbers stand at the right
};

// Every row has a cell for each column.
std::string text_table(const std::vector<TextColumn>& columns,
                       std::vector<std::vector<std::string>> rows);

}  // namespace flambeau
