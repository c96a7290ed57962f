// A factorization of matrices as vendors' libraries take it, and the library of a provider that
// has one, which enters itself beside the provider's table. Matrices lie column by column and
// dense, those of a batch one behind the other, but for a triangle, which is only read and may
// have gaps.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "device/hal.h"

namespace flambeau::hal {

enum class FactorKind : int8_t {
  cholesky,     // a [n, n] = L L^T, in place of the lower triangle; the other one is left alone
  lu,           // a [m, n] = P L U, in place; pivots [min(m, n)] count rows from 1
  lu_solve,     // a [n, n] and its pivots from lu: of a X = b, in place of b [n, k]
  swap_rows,    // those of a [m, n] that pivots [k] name, in their order; counted from 1
  reflections,  // a [m, n] = Q R, in place: R above, below the reflections; b: their factors
  orthogonal,   // a [m, n], of whose columns k are reflections with the factors b, becomes Q
  symmetric,  // eigenvalues of a's lower triangle to b; a [n, n] becomes their vectors, or is lost
  singular,   // a [m, n], m >= n, is lost; values to b; u [m, m or n] and vt [n, n], or neither
  triangle    // of op(a) X = b, in place of b [n, k]; batches are 1 where not `listed`
};

struct Factor {
  FactorKind kind{};
  Dtype dtype = Dtype::none;  // f32 or f64
  int64_t m = 0, n = 0, k = 0, batches = 1;
  void *a = nullptr, *b = nullptr, *u = nullptr, *vt = nullptr;
  void* pivots = nullptr;   // int64 of lu and lu_solve, int32 of swap_rows
  int32_t* info = nullptr;  // [batches], where the kind has one
  // Of cholesky, lu, lu_solve and triangle: a and b are lists on the device of where the matrices
  // of the batch lie, pivots are int32, and a is square. Many small ones are one launch so.
  bool listed = false;
  bool vectors = false;                                  // of symmetric
  bool full = false;                                     // of singular: u is [m, m]
  int64_t step = 0;                                      // of triangle: from column to column of a
  bool upper = false, unit = false, transposed = false;  // of triangle, as a lies
};

// What a provider has for them. Whether the library is there is asked first: without it, matrices
// go to the host. `run` is in the order of the stream, refuses what a capture cannot hold, and
// throws what the allocator throws for the library's workspace.
struct FactorLibrary {
  bool (*is_there)();
  Status (*run)(int device, Stream stream, const Factor& problem);
};
inline const FactorLibrary* cuda_factors = nullptr;  // null: this build has none

}  // namespace flambeau::hal
