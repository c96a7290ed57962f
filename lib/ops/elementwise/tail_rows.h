// The normal distribution's tail Phi(-a) up to 9 by pieces, for GELU and for the complement of the
// error function, which is 2 Phi(-sqrt(2) x).
#pragma once
#include "kernels/map/piece_rows.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

using NormalTailRows = PieceRows<9 * kPiecesOfOne + 1>;

inline double normal_tail(double a) { return 0.5 * std::erfc(a * 0x1.6a09e667f3bcdp-1); }
inline const NormalTailRows& normal_tail_rows() {
  static const NormalTailRows rows = rows_of<9 * kPiecesOfOne + 1>(normal_tail);
  return rows;
}

#endif

}  // namespace flambeau::FLAM_TARGET
