// What linear algebra shares: checks with torch's words, matrices brought to the host column by
// column and back, and the errors of those that have no factor.
#pragma once
#include <limits>

#include "base/error.h"
#include "kernels/factor/factor.h"
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

// A copy of matrices on the host, column by column: [..., n, m] of [..., m, n].
Tensor columns(const Tensor& x);
// Memory for matrices [..., m, n] that the host is to fill, column by column.
Tensor empty_columns(DimsView batch, int64_t m, int64_t n, Dtype dtype);
// What the host has made column by column, as [..., m, n] on a device.
Tensor as_matrices(const Tensor& made, Device device);
// What the host has made, on a device.
Tensor as_result(const Tensor& made, Device device);

// Throws where a matrix of the batch has info, with text(info) and which one.
void check_info(const char* op, const Tensor& info, std::string (*text)(int32_t info));

struct Lu {
  Tensor lu, pivots, info;  // on the host, column by column
};
Lu lu_of(const Tensor& x);
// A solution of A X = B from the factors, in place of B on the host, column by column.
void solve_by(const Lu& by, const Tensor& b);

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
