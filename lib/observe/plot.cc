// The drawing of charts; see plot.h. Colours are told apart by people who see few of them, and
// every series has its name beside it.
#include "observe/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "observe/plot_axis.h"
#include "observe/svg.h"

namespace flambeau::observe {
namespace {

constexpr double kWidth = 460, kHeight = 300, kLeft = 64, kRight = 92, kTop = 72, kBottom = 44;
constexpr double kAcross = kWidth - kLeft - kRight, kDown = kHeight - kTop - kBottom;
constexpr const char* kColors[] = {"#0369a1", "#c2410c", "#4d7c0f", "#7e22ce",
                                   "#be123c", "#0f766e", "#a16207", "#475569"};
constexpr const char* kStyle =
    "text { font: 12px system-ui, \"Segoe UI\", Helvetica, Arial, sans-serif; fill: #57534e }\n"
    ".title { font-size: 16px; font-weight: 600; fill: #1c1917 }\n"
    ".heading { font-size: 13px; fill: #1c1917 }\n"
    ".grid { stroke: #e7e5e4 } .axis { stroke: #a8a29e }\n"
    ".curve { fill: none; stroke-width: 2; stroke-linejoin: round }\n"
    ".label { font-weight: 600 }\n";

using Colors = std::map<std::string, const char*>;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void cover(double v) {
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  bool empty() const { return low > high; }
};

class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, const Colors& colors) : panel_(panel), colors_(colors) {
    Range x, y;
    double half = 0;  // of a bar, so that the outermost fit
    for (const Series& s : panel.series) {
      for (const double v : s.x) x.cover(v);
      for (const double v : s.y) y.cover(v);
      if (s.mark != Mark::bars) continue;
      y.cover(0);
      half = std::max(half, bar_step(s) / 2);
    }
    if (x.empty()) x = {0, 1};
    if (y.empty()) y = {panel.log_y ? 0.1 : 0.0, 1};
    x_ = Axis::tight(x.low - half, x.high + half);
    y_ = panel.log_y ? Axis::logarithmic(y.low, y.high) : Axis::linear(y.low, y.high);
  }

  std::string svg() const {
    std::string out = svg::text(kLeft, kTop - 14, panel_.heading, "heading") + axes();
    for (const Series& s : panel_.series) out += series(s);
    return out + labels();
  }

 private:
  double x(double v) const { return kLeft + kAcross * x_.place(v); }
  double y(double v) const { return kTop + kDown * (1 - y_.place(v)); }
  const char* color(const Series& s) const { return colors_.at(s.name); }

  static double bar_step(const Series& s) {
    std::vector<double> at = s.x;
    std::ranges::sort(at);
    double step = std::numeric_limits<double>::infinity();
    for (size_t i = 1; i < at.size(); ++i)
      if (at[i] > at[i - 1]) step = std::min(step, at[i] - at[i - 1]);
    return std::isfinite(step) ? step : 1;
  }

  std::string axes() const {
    std::string out;
    for (const double mark : y_.marks()) {
      out += svg::line(kLeft, y(mark), kLeft + kAcross, y(mark), "grid");
      out += svg::text(kLeft - 8, y(mark) + 4, mark_text(mark) + panel_.unit, "", "end");
    }
    out += svg::line(kLeft, kTop + kDown, kLeft + kAcross, kTop + kDown, "axis");
    for (const double mark : x_.marks())
      out += svg::text(x(mark), kTop + kDown + 18, mark_text(mark), "", "middle");
    if (!panel_.x_label.empty())
      out += svg::text(kLeft + kAcross / 2, kTop + kDown + 36, panel_.x_label, "", "middle");
    return out;
  }

  std::string curve(const Series& s) const {
    std::string out, points;
    const auto flush = [&] {
      if (!points.empty())
        out += cat_text("<polyline points=\"", points, "\" class=\"curve\" stroke=\"", color(s),
                        "\"/>\n");
      points.clear();
    };
    for (size_t i = 0; i < s.y.size(); ++i) {
      if (!std::isfinite(s.y[i]) || !std::isfinite(s.x[i])) {
        flush();
        continue;
      }
      points +=
          cat_text(points.empty() ? "" : " ", svg::pixels(x(s.x[i])), ",", svg::pixels(y(s.y[i])));
    }
    flush();
    return out;
  }

  std::string circle(const Series& s, size_t i) const {
    if (!std::isfinite(s.y[i]) || !std::isfinite(s.x[i])) return {};
    return cat_text("<circle cx=\"", svg::pixels(x(s.x[i])), "\" cy=\"", svg::pixels(y(s.y[i])),
                    "\" r=\"3\" fill=\"", color(s), "\"/>\n");
  }

  std::string bar(const Series& s, size_t i, double width) const {
    if (!std::isfinite(s.y[i]) || !std::isfinite(s.x[i])) return {};
    const double zero = y(panel_.log_y ? y_.low() : 0), top = y(s.y[i]);
    return cat_text("<rect x=\"", svg::pixels(x(s.x[i]) - width / 2), "\" y=\"",
                    svg::pixels(std::min(top, zero)), "\" width=\"", svg::pixels(width),
                    "\" height=\"", svg::pixels(std::abs(zero - top)), "\" fill=\"", color(s),
                    "\" fill-opacity=\"0.75\"/>\n");
  }

  std::string series(const Series& s) const {
    if (s.mark == Mark::line) return curve(s) + circle(s, last(s));
    const double step = bar_step(s), width = 0.85 * (x(s.x[0] + step) - x(s.x[0]));
    std::string out;
    for (size_t i = 0; i < s.y.size(); ++i)
      out += s.mark == Mark::bars ? bar(s, i, width) : circle(s, i);
    return out;
  }

  // The last value that is drawn.
  static size_t last(const Series& s) {
    size_t i = s.y.size() - 1;
    while (i > 0 && !std::isfinite(s.y[i])) --i;
    return i;
  }

  // Names where the series end, moved apart so that no two overlap and none is below the axis.
  std::string labels() const {
    std::vector<std::pair<double, const Series*>> at;
    for (const Series& s : panel_.series) {
      const double v = s.y[last(s)];
      at.emplace_back(std::isfinite(v) ? y(v) : kTop + kDown, &s);
    }
    std::ranges::stable_sort(at, {}, [](const auto& a) { return a.first; });
    for (size_t i = 1; i < at.size(); ++i)
      at[i].first = std::max(at[i].first, at[i - 1].first + 15);
    const double over = at.empty() ? 0 : std::max(0.0, at.back().first - (kTop + kDown - 6));
    std::string out;
    for (const auto& [height, s] : at) {
      const double end = s->mark == Mark::line ? x(s->x[last(*s)]) : kLeft + kAcross;
      out += svg::text(end + 8, height - over + 4, s->name, "label", "start",
                       cat_text(" style=\"fill: ", color(*s), "\""));
    }
    return out;
  }

  const Panel& panel_;
  const Colors& colors_;
  Axis x_, y_;
};

Colors colors_of(const std::vector<Panel>& panels) {
  Colors colors;
  for (const Panel& p : panels)
    for (const Series& s : p.series)
      colors.try_emplace(s.name, kColors[colors.size() % std::size(kColors)]);
  return colors;
}

}  // namespace
}  // namespace flambeau::observe

std::string flam_plot::svg() const {
  using namespace flambeau::observe;
  const double width = kWidth * double(std::max<size_t>(panels.size(), 1));
  const std::string size =
      flambeau::cat_text(svg::pixels(width), "\" height=\"", svg::pixels(kHeight));
  std::string out = flambeau::cat_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", svg::pixels(width), " ",
      svg::pixels(kHeight), "\" width=\"", size, "\">\n<title>", svg::escaped(title),
      "</title>\n<style>", kStyle, "</style>\n<rect width=\"", size, "\" fill=\"#ffffff\"/>\n",
      svg::text(kLeft, 30, title, "title"));
  const Colors colors = colors_of(panels);
  for (size_t i = 0; i < panels.size(); ++i)
    out += flambeau::cat_text("<g transform=\"translate(", svg::pixels(kWidth * double(i)),
                              " 0)\">\n", PanelDrawing(panels[i], colors).svg(), "</g>\n");
  return out + "</svg>\n";
}
