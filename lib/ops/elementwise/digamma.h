// The first two derivatives of the gamma function's logarithm at positive floats, branch-free, in
// double: the float nearest to them with few exceptions. From 10 on by Stirling's
// series, below it ten steps up, whose ten terms are one quotient: 1 / (x + k) and 1 / (x + 9 - k)
// are together (2 x + 9) / (q + k (9 - k)) of q = x (x + 9), and the sum of the latter the
// logarithmic derivative of their product.
// Source: Abramowitz and Stegun, 1964, 6.3.6, 6.3.18, 6.4.6 and 6.4.12.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

// The product's first two derivatives by q over itself.
struct TenSteps {
  double first, second;
};
FLAM_FN TenSteps ten_steps(double x) {
  using basic::polynomial;
  const double q = x * (x + 9);
  const double inverse = 1 / (q * polynomial(q, 40320, 12176, 1308, 60, 1));
  return {inverse * polynomial(q, 40320, 24352, 3924, 240, 5),
          inverse * polynomial(q, 24352, 7848, 720, 20)};
}

FLAM_FN double usual_digamma(double x) {
  const bool far = x >= 10;
  const double y = far ? x : x + 10, inverse = 1 / y, z = inverse * inverse;
  const double tail = z * basic::polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240,
                                            1.0 / 132, -691.0 / 32760, 1.0 / 12);
  const double there = log(y) - 0.5 * inverse - tail;
  return far ? there : there - (2 * x + 9) * ten_steps(x).first;
}

FLAM_FN double usual_trigamma(double x) {
  const bool far = x >= 10;
  const double y = far ? x : x + 10, inverse = 1 / y, z = inverse * inverse;
  const double tail = z * basic::polynomial(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66,
                                            -691.0 / 2730, 7.0 / 6);
  const double there = inverse * (1 + 0.5 * inverse + tail);
  const TenSteps s = ten_steps(x);
  const double slope = 2 * x + 9, bend = s.first * s.first - s.second;
  return far ? there : there + (slope * slope * bend - 2 * s.first);
}

}  // namespace flambeau::FLAM_TARGET
