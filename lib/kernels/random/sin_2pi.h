// sin_2pi(x), cos_2pi(x): sin and cos of 2 pi x. An angle in whole turns is reduced exactly by
// one rounding, so that these cost half of what sin and cos do.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

#if defined(__CUDA_ARCH__)
FLAM_FN float sin_2pi(float x) { return sinpif(2 * x); }
FLAM_FN float cos_2pi(float x) { return cospif(2 * x); }
#else
FLAM_FN core::Quadrant quadrant_of_2pi(double x) {
  const double quarters = 4 * x, z = quarters + core::kRound<double>;
  return {quarters - (z - core::kRound<double>), bits_as<uint64_t>(z)};
}
FLAM_FN float sin_2pi(float x) {
  return static_cast<float>(core::sine_of(quadrant_of_2pi(double(x))));
}
FLAM_FN float cos_2pi(float x) {
  core::Quadrant q = quadrant_of_2pi(double(x));
  ++q.number;
  return static_cast<float>(core::sine_of(q));
}
#endif
FLAM_FN double sin_2pi(double x) { return ::sin(6.283185307179586 * x); }
FLAM_FN double cos_2pi(double x) { return ::cos(6.283185307179586 * x); }

}  // namespace flambeau::FLAM_TARGET
