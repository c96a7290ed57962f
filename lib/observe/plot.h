// Charts as one SVG file without dependencies: panels side by side, each with its own axes. Every
// curve is labelled where it ends, so that no legend has to be matched by colour.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "flambeau/plot.h"

namespace flambeau::observe {

enum class Mark : int8_t { line, points, bars };

struct Series {
  std::string name;
  std::vector<double> x, y;
  Mark mark = Mark::line;
};

struct Panel {
  std::string heading, x_label, unit;
  bool log_y = false;
  std::vector<Series> series;
};

}  // namespace flambeau::observe

struct flam_plot : flambeau::RefCounted {
  explicit flam_plot(std::string_view name) : title(name) {}
  std::string svg() const;

  std::string title;
  std::vector<flambeau::observe::Panel> panels;
};
