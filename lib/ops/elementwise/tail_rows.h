// The normal distribution's tail Phi(-a) up to 10.5 by pieces, for GELU and for the complement of
// the error function, which is 2 Phi(-sqrt(2) x). The last piece is 0, for numbers far beyond all.
#pragma once
#include "kernels/map/piece_rows.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

inline constexpr int kNormalTailRows = 21 * kPiecesOfOne / 2 + 1;
using NormalTailRows = PieceRows<kNormalTailRows>;

inline double normal_tail(double a) { return 0.5 * std::erfc(a * 0x1.6a09e667f3bcdp-1); }
inline const NormalTailRows& normal_tail_rows() {
  static const NormalTailRows rows = [] {
    NormalTailRows r = rows_of<kNormalTailRows>(normal_tail);
    r.row[kNormalTailRows - 1] = {};
    return r;
  }();
  return rows;
}

#endif

}  // namespace flambeau::FLAM_TARGET
