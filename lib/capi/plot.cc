// Targets of plot.h: a chart owns a copy of what it is given, so that the program may free it.
#include "observe/plot.h"

#include <cmath>
#include <numeric>
#include <span>

#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "io/file.h"

namespace flambeau::capi {
namespace {

using observe::Mark;

void add_series(flam_plot* plot, std::string_view name, std::span<const double> y,
                std::span<const double> x, Mark mark) {
  check(!y.empty(), Code::invalid_argument, "plot: \"", name, "\" has no values");
  check(x.empty() || x.size() == y.size(), Code::invalid_argument, "plot: \"", name, "\" has ",
        y.size(), " values of y and ", x.size(), " of x");
  const bool log_y = !plot->panels.empty() && plot->panels.back().log_y;
  for (size_t i = 0; log_y && i < y.size(); ++i)
    check(!(std::isfinite(y[i]) && y[i] <= 0), Code::invalid_argument, "plot: value ", i, " of \"",
          name, "\" is ", y[i], "; a logarithmic axis shows positive values only");
  observe::Series series{std::string(name), {x.begin(), x.end()}, {y.begin(), y.end()}, mark};
  if (x.empty()) {
    series.x.resize(y.size());
    std::iota(series.x.begin(), series.x.end(), 1.0);
  }
  if (plot->panels.empty()) plot->panels.emplace_back();
  plot->panels.back().series.push_back(std::move(series));
}

}  // namespace

Ref<flam_plot> plot_new(std::string_view title) { return make_ref<flam_plot>(title); }

void plot_panel(flam_plot* plot, std::string_view heading, std::string_view x_label,
                std::string_view unit, bool log_y) {
  plot->panels.push_back(
      {std::string(heading), std::string(x_label), std::string(unit), log_y, {}});
}

void plot_line(flam_plot* plot, std::string_view name, std::span<const double> y,
               std::span<const double> x) {
  add_series(plot, name, y, x, Mark::line);
}

void plot_points(flam_plot* plot, std::string_view name, std::span<const double> y,
                 std::span<const double> x) {
  add_series(plot, name, y, x, Mark::points);
}

void plot_bars(flam_plot* plot, std::string_view name, std::span<const double> y,
               std::span<const double> x) {
  add_series(plot, name, y, x, Mark::bars);
}

const char* plot_svg(const flam_plot* plot) {
  return borrowed_text([&] { return plot->svg(); });
}

void plot_write(const flam_plot* plot, std::string_view path) {
  io::AtomicFile file(path);
  file.write(plot->svg());
  file.commit();
}

}  // namespace flambeau::capi
