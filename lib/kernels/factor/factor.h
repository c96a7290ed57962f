// Factorizations of matrices on the host, where Eigen does the work; other devices copy there and
// back. Matrices lie column by column: a dense tensor [..., n, m] holds m x n matrices. Every
// matrix of a batch is one thread's, so results do not depend on how many there are.
//
// Sizes of 0 are the caller's to leave out. `info` [...] int32 is 0 where all went well.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// A = P L U in place; pivots [..., min(m, n)] int32 count rows from 1; info: the first pivot that
// is 0, from 1.
void factor_lu(const Tensor& a, const Tensor& pivots, const Tensor& info);

// A = L L^T in place of the lower triangle, 0 above it; info: the first minor not positive, from 1.
void factor_cholesky(const Tensor& a, const Tensor& info);

// The solution of A X = B in place of B; of A only the triangle is read.
void solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit);

// A = Q R by Householder's reflections, A is lost; q: m columns, or as many as r has rows, or
// undefined.
void factor_qr(const Tensor& a, const Tensor& q, const Tensor& r);

// The same in place: R above, below the reflections; tau [..., min(m, n)]: their factors.
void factor_reflections(const Tensor& a, const Tensor& tau);

// Rising eigenvalues of the lower triangle and, where defined, their vectors; info: 1 where there
// were none to find.
void factor_symmetric(const Tensor& a, const Tensor& values, const Tensor& vectors,
                      const Tensor& info);

// A = U diag(s) V^T with falling s; u and vt both defined, thin or full, or neither; info: 1 where
// A is not finite, 2 where the iteration did not end.
void factor_singular(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vt,
                     const Tensor& info);

// The shortest X with the least |A X - B|; rank [...] int64 counts pivots above rcond times the
// greatest.
void solve_least_squares(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& rank,
                         double rcond);

}  // namespace flambeau
