// How the parts of an error become the text that users read.
#include "base/error.h"

namespace flambeau {

static void append_indented(std::string& text, const std::string& part) {
  if (part.empty()) return;
  text += "\n  ";
  for (char c : part) {
    text += c;
    if (c == '\n') text += "  ";
  }
}

Error::Error(Code c, std::string p, std::string f, std::string x)
    : code(c), problem(std::move(p)), facts(std::move(f)), fix(std::move(x)), text_(problem) {
  append_indented(text_, facts);
  append_indented(text_, fix);
}

}  // namespace flambeau
