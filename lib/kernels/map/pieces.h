// Functions by pieces, for processors with AVX-512: a polynomial in the distance from the middle of
// one of 16 pieces, whose terms are picked out of a register by one permutation each; out of two
// registers that would compete with the products on AMD's processors. There is no exponential, no
// division, and fewer terms than any formula for the whole has. Middles are chosen so that the
// function's value there is a float to 2^-31; the other terms are minimax, rounded from the highest
// down with the lower ones fitted anew.
#pragma once
#include "kernels/types.h"
#if FLAM_ISA_RANK == 2
#include "kernels/gemm/gemm_vector.h"
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

using Lanes = Vector<float>;

template <int kTerms> struct Pieces {
  float bend, slope;  // piece number bend a^2 + slope a, to the nearest
  float end;          // of the last piece
  float middle[16];
  float term[kTerms][16];
};

// The value there is first + step * (second + step * rest).
struct Piece {
  Lanes step, first, second, rest;
};

FLAM_FN Lanes picked(const float* table, __m512i number) {
  // The masked forms: gcc 12 warns of what the plain ones leave undefined.
  return _mm512_maskz_permutexvar_ps(0xffff, number, _mm512_loadu_ps(table));
}

// Of `pieces`' function at a, from 0 to its end, by its first kTerms terms.
template <int kTerms, int kAll> FLAM_FN Piece piece(const Pieces<kAll>& pieces, Lanes a) {
  const Lanes slope = multiply_add<float>(splat(pieces.bend), a, splat(pieces.slope));
  const auto number = (__m512i)multiply_add<float>(slope, a, splat(0x1.8p23f));  // its low bits
  const Lanes step = a - picked(pieces.middle, number);
  Lanes rest = picked(pieces.term[kTerms - 1], number);
#pragma GCC unroll 16
  for (int k = kTerms - 2; k > 1; --k)
    rest = multiply_add<float>(step, rest, picked(pieces.term[k], number));
  return {step, picked(pieces.term[0], number), picked(pieces.term[1], number), rest};
}
FLAM_FN Lanes value_of(Piece p) {
  return multiply_add<float>(p.step, multiply_add<float>(p.step, p.rest, p.second), p.first);
}

// The lesser of two sizes, without a sign: one operation, and for |x| no constant.
FLAM_FN Lanes lesser_size(Lanes x, Lanes y) { return _mm512_range_ps(x, y, 0b1010); }
FLAM_FN Lanes size_upto(Lanes x, float end) { return lesser_size(x, splat(end)); }
FLAM_FN Lanes size_of(Lanes x) { return lesser_size(x, x); }

#endif

}  // namespace flambeau::FLAM_TARGET
