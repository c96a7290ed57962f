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

// max(x, 0) - z tail(z) of z = |x|, the normal distribution's tail being exp(-z^2 / 2) times what
// falls about as 1 / (z + 3); from 14.5 on it is 0. The power of two is 64 above it, so that it is
// a normal number everywhere.
FLAM_FN float gelu(float x) {
  constexpr float round = kRound<float> + 64;
  const float size = ::fabsf(x), z = size > 14.5f ? 14.5f : size, square = -0.5f * z * z;
  const float shifted = multiply_add(square, 0x1.715476p+0f, round);
  const float r = multiply_add(shifted - round, -0x1.62e430p-1f, square);
  const float p = polynomial(r, 0x1.0006b4p-1f, 0x1.571ddap-3f, 0x1.522c46p-5f);
  const float inverse = 1 / (z + 3), t = multiply_add(inverse, -6, 1);
  const float v = polynomial(t, 0x1.754b8ap-1f, -0x1.04d20ap-1f, 0x1.d6b432p-3f, -0x1.7c39b8p-5f,
                             -0x1.3f02ep-7f, 0x1.4afc26p-8f);
  const float unit = bits_as<float>(bits_as<uint32_t>(1.0f) + (bits_as<uint32_t>(shifted) << 23));
  const float n = multiply_add(multiply_add(r * r, p, r), v, v);
  const float base = x < -15 ? x * 0 : x < 0 ? 0 : x;  // NaN at infinity
  return multiply_add(-n, z * unit * inverse * 0x1p-64f, base);
}

}  // namespace flambeau::FLAM_TARGET::rough
