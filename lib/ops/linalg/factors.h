// What linear algebra shares: checks with torch's words, matrices brought column by column to where
// they are factored and back, and the errors of those that have no factor.
#pragma once
#include <limits>

#include "base/error.h"
#include "kernels/factor/factor.h"
#include "kernels/factor/library.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

inline constexpr Code kNoFactor{FLAM_ERROR_LINALG};

inline Tensor mt(const Tensor& x) { return transpose(x, -2, -1); }
inline Dims batch_sizes(const Tensor& x) { return Dims(x.sizes().first(x.sizes().size() - 2)); }
Dims joined(Dims sizes, std::initializer_list<int64_t> more);

void check_matrix(const char* op, const char* name, const Tensor& x);
void check_square(const char* op, const char* name, const Tensor& x);
void check_floating_matrix(const char* op, const Tensor& x);  // matrices of f32 or f64
void check_same_kind(const char* op, const Tensor& a, const Tensor& b);

inline double epsilon_of(Dtype dtype) {
  return dtype == Dtype::f64 ? std::numeric_limits<double>::epsilon()
                             : double(std::numeric_limits<float>::epsilon());
}

// Where matrices as x's are factored by a call for each: where they are, if there is a library, but
// many small ones, for which the host does not wait so often.
Device place_of(Device d, int64_t batches, int64_t greatest_size);
Device place_of(const Tensor& x);
// Whether one call factors the batch where it is: of small square matrices.
bool takes_list(const Tensor& x);
// Where each matrix of a dense batch begins, for such a call.
Tensor addresses_of(const Tensor& matrices);

// A copy of matrices on `place`, where they are to be factored, column by column: [..., n, m] of
// [..., m, n].
Tensor columns(const Tensor& x, Device place);
// Memory for matrices [..., m, n] that are to be made column by column.
Tensor empty_columns(DimsView batch, int64_t m, int64_t n, Dtype dtype, Device place);
// Unit matrices [..., n, n].
Tensor unit_columns(DimsView batch, int64_t n, Dtype dtype, Device place);
// What was made column by column, as [..., m, n] on a device.
Tensor as_matrices(const Tensor& made, Device device);
// What was made elsewhere, on a device.
Tensor as_result(const Tensor& made, Device device);

// Throws where a matrix of the batch has info, with text(info) and which one.
void check_info(const char* op, const Tensor& info, std::string (*text)(int32_t info));

struct Lu {
  Tensor lu, pivots, info;  // where they were made, column by column
  Device place() const { return lu.device(); }
};
Lu lu_of(const Tensor& x);
// Rows of matrices that lie column by column change places as pivots name them.
void swap_rows(const Tensor& a, const Tensor& pivots);
// The solution of A X = B from the factors, in place of B, column by column.
void solve_by(const Lu& lu, const Tensor& b);

// A solver of a device is given finite matrices alone: others may never let it end. They become 0,
// and `finite` [..., 1, 1] says which were.
struct Finite {
  Tensor matrices, finite;
};
Finite finite_of(const Tensor& x);
// info as the host's solvers give it: 1 where a matrix was not finite, `least` or more where there
// was no result.
Tensor info_of(const Tensor& info, const Tensor& finite, int64_t least);

// While it lives, autocast rests: gradients mix products, which it would make lower, with
// solutions, which take one dtype.
struct FullPrecision {
  const bool before = modes.autocast;
  FullPrecision() { modes.autocast = false; }
  ~FullPrecision() { modes.autocast = before; }
  FullPrecision(const FullPrecision&) = delete;
};

Tensor halved_diagonal(const Tensor& x);  // the lower triangle, its diagonal halved
inline Tensor column_scaled(const Tensor& x, const Tensor& s) { return mul(x, unsqueeze(s, -2)); }

}  // namespace flambeau::ops
