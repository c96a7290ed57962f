// An axis: round numbers that cover a range, and where a value lies between its ends.
#pragma once
#include <string>
#include <vector>

namespace flambeau::observe {

class Axis {
 public:
  Axis() = default;
  // Covers low to high with about `wanted` round steps; a range around them where they are one.
  static Axis linear(double low, double high, int wanted = 5);
  // Covers low to high, both positive, with powers of 10, or with steps of 1, 2, 5 where those are
  // few.
  static Axis logarithmic(double low, double high);
  // Exactly low to high, with round marks inside.
  static Axis tight(double low, double high, int wanted = 5);

  double place(double value) const;  // 0 at its low end, 1 at its high one
  double low() const { return low_; }
  const std::vector<double>& marks() const { return marks_; }

 private:
  double low_ = 0, high_ = 1;
  bool log_ = false;
  std::vector<double> marks_;
};

std::string mark_text(double value);  // "0.25", "1e-05"

}  // namespace flambeau::observe
