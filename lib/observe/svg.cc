// Elements as text; see svg.h.
#include "observe/svg.h"

#include <cstdio>

#include "base/error.h"

namespace flambeau::observe::svg {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

std::string pixels(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string text(double x, double y, std::string_view content, std::string_view kind,
                 const char* anchor, std::string_view more) {
  return cat_text("<text x=\"", pixels(x), "\" y=\"", pixels(y), "\" class=\"", kind,
                  "\" text-anchor=\"", anchor, "\"", more, ">", escaped(content), "</text>\n");
}

std::string line(double x1, double y1, double x2, double y2, std::string_view kind) {
  return cat_text("<line x1=\"", pixels(x1), "\" y1=\"", pixels(y1), "\" x2=\"", pixels(x2),
                  "\" y2=\"", pixels(y2), "\" class=\"", kind, "\"/>\n");
}

}  // namespace flambeau::observe::svg
