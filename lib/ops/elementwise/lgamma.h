// The logarithm of the gamma function of positive floats, branch-free, in double: to 2^-35
// of it, also near its zeros at 1 and 2. From 4.5 on by Stirling's series, below on [1.5, 2.5] by a
// minimax polynomial that has those zeros as factors, and gamma(x + 1) = x gamma(x).
// Source: Abramowitz and Stegun, 1964, 6.1.15 and 6.1.41.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN bool is_usual_gamma(float x) { return (x > 0) & (x <= 0x1.fffffep127f); }

FLAM_FN double usual_lgamma(double x) {
  using basic::multiply_add, basic::polynomial;
  const bool far = x >= 4.5;
  const double steps = (x + 0x1.8p52) - 0x1.8p52 - 2, up = steps > 0 ? 1 : -1;
  const double y = x - steps, u = y - 2;
  const double first = steps > 0 ? y : x, both = first * (first + 1);
  const double product = steps * steps > 1 ? both : steps == 0 ? 1 : first;
  const core::Logarithm l = core::logarithm(far ? x : product);
  const double log = multiply_add(l.exponent, 0x1.62e42fefa39efp-1, l.rest);
  const double p = polynomial(u, 0x1.b0ee60720424cp-2, -0x1.9ae650ada6974p-4, 0x1.0e0c9e206be77p-5,
                              -0x1.95cdfced148f6p-7, 0x1.479705b46c0c3p-8, -0x1.145e0f61b7998p-9,
                              0x1.e00f0f88daf73p-11, -0x1.a5c80593d6e5fp-12, 0x1.7aa83c8b23f96p-13,
                              -0x1.94cde7fc1b7afp-14, 0x1.79ba3145efac4p-15);
  const double near = multiply_add(multiply_add(u, u, u), p, up * log);
  const double z = 1 / x;
  const double series = z * polynomial(z * z, 0x1.5555554c0bbabp-4, -0x1.6c1580d9f7124p-9,
                                       0x1.9ea19df7ce521p-11, -0x1.0e20c2c33e2bfp-11);
  const double half_log_of_turn = 0x1.d67f1c864beb5p-1;  // log(2 pi) / 2
  return far ? multiply_add(x - 0.5, log, half_log_of_turn - x) + series : near;
}

}  // namespace flambeau::FLAM_TARGET
