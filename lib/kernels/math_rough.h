// Functions of float for results of a half type, on every instruction set: to 2^-15, which their
// one rounding to 8 or 11 bits hides. Branch-free; NaN passes through every comparison.
#pragma once
#include <cmath>

#include "kernels/math_basic.h"

namespace flambeau::FLAM_TARGET::rough {

using namespace basic;

FLAM_FN float erf(float x) {  // from 3 on it is 1
  const float z = clamp(x, -3, 3), u = multiply_add(z, z, -4.5f);
  return z * polynomial(u, 0x1.e16ac4p-2f, -0x1.a08232p-5f, 0x1.fd5f2ep-8f, -0x1.3cc6d0p-10f,
                        0x1.776548p-13f, -0x1.8f82aep-16f, 0x1.5ef656p-19f, -0x1.4c3cf0p-22f,
                        0x1.a35c06p-25f, -0x1.1a7b0cp-28f);
}

// sin(x - turns pi) of a whole number and a half at most, and its sign from the number's parity;
// up to 1e5 where products are fused into sums.
FLAM_FN float wave(float x, float turns, float shifted) {
  const float r = multiply_add(turns, 0x1.777a5cp-24f, multiply_add(turns, -0x1.921fb6p+1f, x));
  const float s = r * r, tail = polynomial(s, -0x1.555112p-3f, 0x1.10712cp-7f, -0x1.84db72p-13f);
  const float y = r * multiply_add(s, tail, 1);
  return bits_as<float>(bits_as<uint32_t>(y) ^ (bits_as<uint32_t>(shifted) << 31));
}
FLAM_FN float sin(float x) {
  const float shifted = multiply_add(x, 0x1.45f306p-2f, kRound<float>);
  return wave(x, shifted - kRound<float>, shifted);
}
FLAM_FN float cos(float x) {  // sin(x + pi / 2)
  const float shifted = multiply_add(x, 0x1.45f306p-2f, 0.5f) + kRound<float>;
  return wave(x, (shifted - kRound<float>)-0.5f, shifted);
}

// max(x, 0) - z tail(z) of z = |x| up to 7, the normal distribution's tail being exp(-z^2 / 2)
// times what falls about as 1 / (z + 2.5).
FLAM_FN float gelu(float x) {
  const float z = ::fabsf(x), square = -0.5f * z * z;
  const float shifted = multiply_add(square, 0x1.715476p+0f, kRound<float>);
  const float r = multiply_add(shifted - kRound<float>, -0x1.62e430p-1f, square);
  const float p = polynomial(r, 0x1.0006b4p-1f, 0x1.571ddap-3f, 0x1.522c46p-5f);
  const float inverse = 1 / (z + 2.5f), t = multiply_add(inverse, -5, 1);
  const float v = polynomial(t, 0x1.69cf0ap-1f, -0x1.bc25d4p-2f, 0x1.0e3d84p-3f, 0x1.435434p-7f,
                             -0x1.02e2a0p-6f, -0x1.b1ea6ep-9f);
  const float size = bits_as<float>(bits_as<uint32_t>(z) + (bits_as<uint32_t>(shifted) << 23));
  const float n = multiply_add(multiply_add(r * r, p, r), v, v);
  return multiply_add(-n, size * inverse, x < 0 ? 0 : x);
}

}  // namespace flambeau::FLAM_TARGET::rough
