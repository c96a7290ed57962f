// Texts of the engine's own JSON: quoted strings and numbers.
#pragma once
#include <string>
#include <string_view>

namespace flambeau::json {

std::string quoted(std::string_view text);  // UTF-8 stays as it is
// The shortest text that is this number again; null where it is not finite, as JSON has no word
// for it.
std::string number(double value);

}  // namespace flambeau::json
