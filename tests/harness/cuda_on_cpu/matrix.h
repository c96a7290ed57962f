// What a warp's matrix instructions do, by the PTX manual: ldmatrix, and mma.sync of 16 rows and 8
// columns. A lane is the `group`-th of eight, `place`-th of four: register 2 h + u of A holds rows
// group + 8 u, register h of B column `group`, both at the depths (4 h + place) n + e for element e
// of n in a register; the results are rows group + 8 u, columns 2 place + e.
#pragma once
#include <cstdint>
#include <cstring>

#include "banks.h"
#include "grid.h"
#include "together.h"

namespace cuda_on_cpu {

// d += a b. decode(register, e) is the e-th of a register's `kEach` elements, as S.
template <int kEach, class S, class R, size_t kA, class Decode>
void multiply(S (&d)[4], const R (&a)[kA], const R (&b)[kA / 2], Decode decode) {
  constexpr int kParts = int(kA) / 2, kDepth = kParts * 4 * kEach;
  struct Lane {
    S* d;
    const R *a, *b;
  } mine{d, a, b};
  together("mma.sync", mine, [&](Lane* const(&lanes)[32]) {
    S left[16][kDepth], right[8][kDepth];
    for (int lane = 0; lane < 32; ++lane) {
      for (int h = 0; h < kParts; ++h) {
        for (int e = 0; e < kEach; ++e) {
          const int k = (4 * h + lane % 4) * kEach + e;
          left[lane / 4][k] = decode(lanes[lane]->a[2 * h], e);
          left[lane / 4 + 8][k] = decode(lanes[lane]->a[2 * h + 1], e);
          right[lane / 4][k] = decode(lanes[lane]->b[h], e);
        }
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const S *x = left[lane / 4 + i / 2 * 8], *y = right[lane % 4 * 2 + i % 2];
        S sum = 0;
        for (int k = 0; k < kDepth; ++k) sum += x[k] * y[k];
        lanes[lane]->d[i] += sum;
      }
    }
  });
}

// Four matrices of 8 x 8 elements of two bytes; lane 8 i + j says where row j of matrix i lies.
// Register i of a lane: row `group`, elements 2 place and 2 place + 1; turned: of column `group`.
inline void load_matrices(uint32_t (&r)[4], const void* row, bool turned) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
    stop("ldmatrix of a row that is not aligned to 16 bytes");
  struct Lane {
    uint32_t* r;
    const void* row;
  } mine{r, row};
  together(turned ? "ldmatrix.trans" : "ldmatrix", mine, [&](Lane* const(&lanes)[32]) {
    const void* rows[32];
    for (int i = 0; i < 32; ++i) rows[i] = lanes[i]->row;
    if (counting_banks) count_access(rows, 16);
    const auto element = [&](int matrix, int at, int column) {
      uint16_t bits;
      std::memcpy(&bits, static_cast<const char*>(rows[8 * matrix + at]) + 2 * column, 2);
      return uint32_t(bits);
    };
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4, place = lane % 4 * 2;
      for (int i = 0; i < 4; ++i) {
        lanes[lane]->r[i] = turned ? element(i, place, group) | element(i, place + 1, group) << 16
                                   : element(i, group, place) | element(i, group, place + 1) << 16;
      }
    }
  });
}

}  // namespace cuda_on_cpu
