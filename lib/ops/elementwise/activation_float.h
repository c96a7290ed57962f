// SiLU and GELU in float arithmetic, for processors with fused multiply-add: 2 and 1 ULP
// (tests/ops/test_precision.py), by pairs of numbers where roundings would show.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET::single {

FLAM_FN float usual_silu(float x) { return x * usual_sigmoid(x); }
FLAM_FN float silu(float x) {
  const Fading s = fading_sigmoid(x > 87 ? 87 : x);
  return x < -120 ? x * 0 : x * s.value * s.scale;
}

// The normal distribution's tail beyond z: unit * (quotient + rest * inverse).
struct Normal {
  float unit, quotient, rest, inverse;
};
FLAM_FN Normal normal(float z) {  // from 0 to 6
  const float minus_half = -0.5f * z, square = minus_half * z;
  const float lost = multiply_add(minus_half, z, -square);
  const Nearest k = nearest(square, kLog2E);
  const Pair r = sum(multiply_add(k.value, -kLn2, square), multiply_add(k.value, -kLn2Low, lost));
  const float second = r.high * r.high, tail = exp_tail(r.high);
  const float p = multiply_add(second, tail, r.high);
  const float p_lost = multiply_add(second, tail, r.high - p) + r.low;
  // (z + a) exp(z^2 / 2) times the tail, which varies little: v, of (z - a) / (z + a).
  constexpr float a = 1.5f;
  const float d = z + a, d_lost = z - (d - a), inverse = 1 / d;
  const float t = multiply_add(inverse, -2 * a, 1);
  // What t lost, times about v's slope: the rounded inverse alone would cost half a unit.
  const float off = multiply_add(-inverse, d_lost, multiply_add(-inverse, d, 1));
  const float t_lost = multiply_add(inverse, -2 * a, 1 - t) - 2 * a * inverse * off;
  const float v_lost = t_lost * multiply_add(t, -0.1f, -0.18f);
  const float rest =
      polynomial(t, 0x1.873704p-28f, -0x1.8f9056p-3f, -0x1.d700b4p-5f, 0x1.253d8ap-6f,
                 0x1.210022p-6f, 0x1.045f7ep-8f, -0x1.3e118ap-9f, -0x1.5a76f8p-9f, -0x1.12a84cp-10f,
                 0x1.e4765ap-14f, 0x1.c260b2p-12f, 0x1.09a87ep-12f, 0x1.d6ce10p-15f);
  Pair v = sum(0x1.3c1440p-1f, rest);
  v.low += v_lost;
  const float n = multiply_add(p, v.high, v.high);
  const float n_lost = multiply_add(p, v.high, v.high - n) +
                       multiply_add(p_lost, v.high, multiply_add(p, v.low, v.low));
  const float q = n * inverse;
  const float left = multiply_add(-q, d, n) + multiply_add(-q, d_lost, n_lost);
  return {raised(1, k), q, left, inverse};
}

FLAM_FN float usual_gelu(float x) {  // of at most 6
  const float z = __builtin_fabsf(x);
  const Normal n = normal(z);
  const float size = z * n.unit, base = x > 0 ? x : 0;
  const float high = multiply_add(-size, n.quotient, base);
  const float lost = multiply_add(-size, n.quotient, base - high) - size * n.inverse * n.rest;
  return __builtin_copysignf(high + lost, x);
}

// Of any number: Phi(-z) - z density(z) at z = |x|, or 1 less that. A sum of terms of both signs,
// to which what a quotient lost is nothing. Where the tail is 0 another number is computed, because
// processors take long over a product that is too small.
FLAM_FN float gelu_slope(float x) {
  const float size = __builtin_fabsf(x);
  const bool outside = size > (x < 0 ? 14.6f : 8.0f);
  const float z = outside ? 7 : size, half = -0.5f * z, square = half * z;
  const Nearest k = nearest(square, kLog2E);
  const float r = multiply_add(k.value, -kLn2, square) +
                  multiply_add(k.value, -kLn2Low, multiply_add(half, z, -square));
  const float e = 1 + multiply_add(r * r, exp_tail(r), r), inverse = 1 / (z + 4);
  // (z + 4) exp(z^2 / 2) times the tail, which varies little.
  const float v = polynomial(multiply_add(inverse, -8, 1), 0x1.82b4bcp-1f, -0x1.373e38p-1f,
                             0x1.8c6d9p-2f, -0x1.7e0032p-3f, 0x1.eed68p-5f, -0x1.ed0b3ap-8f,
                             -0x1.cca544p-9f, 0x1.9a8e96p-10f, 0x1.7793aap-13f, -0x1.12d5b6p-13f);
  const float s = e * multiply_add(v, inverse, -0.39894228040143267794f * z);
  const float tail = outside ? 0 : scaled(s, k.number);
  return (x < 0 ? tail : 1 - tail) + x * 0;  // NaN at infinity
}

}  // namespace flambeau::FLAM_TARGET::single
