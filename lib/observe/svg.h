// The little of SVG and HTML that reports need: escaped text, numbers, elements.
#pragma once
#include <string>
#include <string_view>

namespace flambeau::observe::svg {

std::string escaped(std::string_view text);  // for text and attributes
std::string pixels(double value);            // with one decimal
// `more`: further attributes, with a space before.
std::string text(double x, double y, std::string_view content, std::string_view kind = {},
                 const char* anchor = "start", std::string_view more = {});
std::string line(double x1, double y1, double x2, double y2, std::string_view kind);

}  // namespace flambeau::observe::svg
