// f16 and bf16 as storage types: two bytes that convert to and from float with
// round-to-nearest-even. Arithmetic never happens in them; kernels widen to float and round once.
// Usable in host, CUDA and emulated code, and plain integers inside, so that the compiler can
// vectorise the conversions.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define FLAM_HD __host__ __device__
#else
#define FLAM_HD
#endif

namespace flambeau {

template <class To, class From> FLAM_HD inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

FLAM_HD inline float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, rest = h & 0x7fffu;
  const float tiny =
      bits_as<float>((113u << 23) | ((rest & 0x3ffu) << 13)) - bits_as<float>(113u << 23);
  const uint32_t normal = (rest << 13) + (112u << 23);
  const uint32_t special = (rest << 13) | 0x7f800000u;  // inf, NaN
  uint32_t bits = rest >= 0x7c00u ? special : normal;
  bits = rest < 0x400u ? bits_as<uint32_t>(tiny) : bits;
  return bits_as<float>(bits | sign);
}

FLAM_HD inline uint16_t float_to_half(float f) {
  const uint32_t bits = bits_as<uint32_t>(f), sign = (bits >> 16) & 0x8000u, a = bits & 0x7fffffffu;
  // Adding this power of two leaves a subnormal half's bits in the low mantissa, rounded to even.
  const float magic = bits_as<float>((127u - 15u + (23u - 10u) + 1u) << 23);
  const uint32_t tiny = bits_as<uint32_t>(bits_as<float>(a) + magic) - bits_as<uint32_t>(magic);
  const uint32_t normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
  uint32_t h = a < (113u << 23) ? tiny : normal;
  h = a >= 0x47800000u ? 0x7c00u : h;  // overflow and infinity
  h = a > 0x7f800000u ? 0x7e00u : h;   // NaN
  return uint16_t(h | sign);
}

FLAM_HD inline float bfloat16_to_float(uint16_t b) { return bits_as<float>(uint32_t(b) << 16); }

FLAM_HD inline uint16_t float_to_bfloat16(float f) {
  const uint32_t bits = bits_as<uint32_t>(f);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (bits & 0x7fffffffu) > 0x7f800000u ? uint16_t(0x7fc0u) : uint16_t(rounded);
}

struct Half {
  uint16_t bits;
  Half() = default;
  FLAM_HD explicit Half(float f) : bits(float_to_half(f)) {}
  FLAM_HD operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  FLAM_HD explicit BFloat16(float f) : bits(float_to_bfloat16(f)) {}
  FLAM_HD operator float() const { return bfloat16_to_float(bits); }
};

}  // namespace flambeau
