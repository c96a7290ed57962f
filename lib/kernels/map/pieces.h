// Functions by pieces, for processors with AVX-512: a polynomial in the distance from the middle of
// one of 16 pieces, whose terms are picked out of a register by one permutation each; out of two
// registers that would compete with the products on AMD's processors. There is no exponential, no
// division, and fewer terms than any formula for the whole has. Middles are chosen so that the
// function's value there is a float to 2^-31; the other terms are minimax, rounded from the highest
// down with the lower ones fitted anew.
#pragma once
#include "kernels/map/several.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

template <int kTerms> struct Pieces {
  float bend, slope;  // piece number bend a^2 + slope a, to the nearest
  float end;          // of the last piece
  float middle[16];
  float term[kTerms][16];
};

// The value there is first + step * (second + step * rest).
template <int N> struct Piece {
  Several<float, N> step, first, second, rest;
};

template <int N> FLAM_FN auto picked(const float* table, const Several<float, N>& number) {
  // The masked form: gcc 12 warns of what the plain one leaves undefined.
  return each(
      [&](auto x) __attribute__((always_inline)) {
        return _mm512_maskz_permutexvar_ps(0xffff, (__m512i)x, _mm512_loadu_ps(table));
      },
      number);
}

// Of `pieces`' function at a, from 0 to its end, by its first kTerms terms.
template <int kTerms, int kAll, int N>
FLAM_FN Piece<N> piece(const Pieces<kAll>& pieces, const Several<float, N>& a) {
  const auto slope = fused(a, pieces.bend, pieces.slope);
  const auto number = fused(slope, a, 0x1.8p23f);  // in its low bits
  const auto step = a - picked(pieces.middle, number);
  auto rest = picked(pieces.term[kTerms - 1], number);
#pragma GCC unroll 16
  for (int k = kTerms - 2; k > 1; --k) rest = fused(step, rest, picked(pieces.term[k], number));
  return {step, picked(pieces.term[0], number), picked(pieces.term[1], number), rest};
}
template <int N> FLAM_FN auto value_of(const Piece<N>& p) {
  return fused(p.step, fused(p.step, p.rest, p.second), p.first);
}

// The lesser of two sizes, without a sign: one operation, and for |x| no constant.
FLAM_FN Vector<float> lesser_size(Vector<float> x, Vector<float> y) {
  return _mm512_range_ps(x, y, 0b1010);
}
template <int N> FLAM_FN auto size_upto(const Several<float, N>& x, float end) {
  return each([](auto a, auto b) __attribute__((always_inline)) { return lesser_size(a, b); }, x,
              end);
}
template <int N> FLAM_FN auto size_of(const Several<float, N>& x) {
  return each([](auto a) __attribute__((always_inline)) { return lesser_size(a, a); }, x);
}

#endif

}  // namespace flambeau::FLAM_TARGET
