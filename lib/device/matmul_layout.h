// Which operands of a product vendors' libraries take as they lie: both who hands them over and who
// plans the call ask here, so that nothing is refused after it was laid out.
#pragma once
#include "device/matmul.h"

namespace flambeau::hal {

inline Matmul::Operand transposed(Matmul::Operand o) { return {o.data, o.col, o.row, o.batch}; }

// Whether its rows are pieces of memory that do not overlap; a stride along a dimension of size 1
// means nothing.
inline bool lies_in_rows(const Matmul::Operand& o, int64_t rows, int64_t cols) {
  return (cols == 1 || o.col == 1) && (rows == 1 || o.row >= cols);
}
inline bool lies_in_columns(const Matmul::Operand& o, int64_t rows, int64_t cols) {
  return lies_in_rows(transposed(o), cols, rows);
}

// Whether c, of [m, n], is a bias row that a library's epilogue adds; out itself is none, since it
// is written.
inline bool is_bias(const Matmul& p) {
  const bool one_row = p.m == 1 || p.c.row == 0, contiguous = p.n == 1 || p.c.col == 1;
  return one_row && contiguous && p.beta == 1 && (p.batches == 1 || p.c.batch == 0) &&
         p.c.data != p.out.data;
}

}  // namespace flambeau::hal
