// Factorizations by a vendor's library (cuSOLVER, and cuBLAS for triangles and lists), where a
// device has one: matrices are factored where they lie, in the order of the current stream. They
// lie column by column as those of factor.h do, sizes of 0 are the caller's to leave out.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// Where matrices of the device are factored: there, where it has a library for it, else on the
// host.
Device factor_device(Device d);

namespace library {

// A = P L U in place; pivots [..., min(m, n)] int32 count rows from 1; info [...] int32: the first
// pivot that is 0, from 1.
void lu(const Tensor& a, const Tensor& pivots, const Tensor& info);
// The solution of A X = B from those, in place of B.
void solve_lu(const Tensor& a, const Tensor& pivots, const Tensor& b);
// Rows of A change places as pivots name them, one after the other.
void swap_rows(const Tensor& a, const Tensor& pivots);
// A = L L^T in place of the lower triangle, the other one is left; info: the first minor that is
// not positive, from 1.
void cholesky(const Tensor& a, const Tensor& info);
// The solution of A X = B in place of B; A is any tensor of which one of lies_in_rows and
// lies_in_columns holds, as it lies turned: [..., n, n] with A's columns second to last.
void solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit);
bool lies_in_columns(const Tensor& a);
bool lies_in_rows(const Tensor& a);
// A = Q R in place: R above, below the reflections; tau [..., min(m, n)]: their factors.
void reflections(const Tensor& a, const Tensor& tau);
// Q of those, in place of its first columns, which are the reflections.
void orthogonal(const Tensor& q, const Tensor& tau);
// Rising eigenvalues of the lower triangle of what is finite and, where wanted, their vectors in
// place of A, which is lost; info: not 0 where the iteration did not end.
void symmetric(const Tensor& a, const Tensor& values, bool vectors, const Tensor& info);
// A = U diag(s) V^T with falling s, of what is finite and no wider than tall; A is lost; u and vt
// both defined, thin or full, or neither; info as that of `symmetric`.
void singular(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vt,
              const Tensor& info);

// Of many small square matrices, of which `addresses` [batches] int64 says where each begins.
void lu_listed(const Tensor& a, const Tensor& addresses, const Tensor& pivots, const Tensor& info);
void solve_lu_listed(const Tensor& a, const Tensor& addresses, const Tensor& pivots,
                     const Tensor& b, const Tensor& addresses_of_b);
void cholesky_listed(const Tensor& a, const Tensor& addresses, const Tensor& info);
void solve_triangle_listed(const Tensor& a, const Tensor& addresses, const Tensor& b,
                           const Tensor& addresses_of_b, bool upper, bool unit);

}  // namespace library
}  // namespace flambeau
