// Axes; see plot_axis.h.
#include "observe/plot_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace flambeau::observe {
namespace {

double round_step(double span, int wanted) {
  const double power = std::pow(10, std::floor(std::log10(span / wanted)));
  for (const double m : {1.0, 2.0, 5.0})
    if (power * m * wanted >= span * (1 - 1e-9)) return power * m;
  return power * 10;
}

void widen(double& low, double& high) {
  if (high - low >= 1e-9 * std::max(std::abs(low), 1.0)) return;
  low -= 0.5;
  high += 0.5;
}

}  // namespace

Axis Axis::linear(double low, double high, int wanted) {
  widen(low, high);
  const double step = round_step(high - low, wanted);
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  Axis a;
  for (double i = first; i <= last; ++i) a.marks_.push_back(i * step);
  a.low_ = a.marks_.front();
  a.high_ = a.marks_.back();
  return a;
}

Axis Axis::tight(double low, double high, int wanted) {
  widen(low, high);
  const double step = round_step(high - low, wanted);
  Axis a;
  a.low_ = low;
  a.high_ = high;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
    a.marks_.push_back(i * step);
  return a;
}

Axis Axis::logarithmic(double low, double high) {
  Axis a;
  a.log_ = true;
  const int first = int(std::floor(std::log10(low) + 1e-9));
  const int last = std::max(int(std::ceil(std::log10(high) - 1e-9)), first + 1);
  const int every = std::max(1, (last - first) / 6);
  for (int i = first; i <= last; ++i) {
    if ((i - first) % every == 0 || i == last) a.marks_.push_back(std::pow(10, i));
    for (const double m : {2.0, 5.0})
      if (last - first <= 2 && i < last) a.marks_.push_back(m * std::pow(10, i));
  }
  a.low_ = std::pow(10, first);
  a.high_ = std::pow(10, last);
  return a;
}

double Axis::place(double value) const {
  if (log_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

std::string mark_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::abs(value) < 1e-300 ? 0.0 : value);
  return text;
}

}  // namespace flambeau::observe
