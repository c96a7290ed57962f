// What the library is told of matrices, by kind; see library.h.
#include "kernels/factor/library.h"

#include <algorithm>

#include "device/call.h"
#include "device/factor.h"
#include "device/fault.h"
#include "device/fork.h"
#include "device/probe_launch.h"
#include "kernels/map/map.h"

namespace flambeau {

namespace {

// Of the provider that answers for the device; null where it has none.
const hal::FactorLibrary* library_of(Device d) {
  const bool by_cuda = hal::cuda_table && &hal::table_of(d) == &hal::cuda_table();
  return by_cuda ? hal::cuda_factors : nullptr;
}

hal::Status attempt(Device d, const hal::Factor& problem) {
  if (fault::g_armed.load(std::memory_order_relaxed) && fault::hal_call_fails())
    return hal::Status::internal;
  if (!fork::may_use()) return hal::Status::forked;
  return library_of(d)->run(d.index, current_stream(d), problem);
}

}  // namespace

Device factor_device(Device d) {
  if (d.is_cpu()) return d;
  const hal::FactorLibrary* const there = library_of(d);
  return there && there->is_there() ? d : kCpu;
}

namespace library {
namespace {

using hal::Factor;
using hal::FactorKind;

int64_t batch_of(const Tensor& a) { return numel_of(a.sizes().first(a.sizes().size() - 2)); }

bool lies_along(const Tensor& a, int64_t dense, int64_t other) {
  const int64_t n = a.size(-1);
  return n == 1 || (a.stride(dense) == 1 && a.stride(other) >= n);
}

// The matrices [n, m] of `a`, in columns.
Factor factor_of(FactorKind kind, const Tensor& a) {
  return {.kind = kind,
          .dtype = a.dtype(),
          .m = a.size(-1),
          .n = a.size(-2),
          .batches = batch_of(a),
          .a = a.data()};
}

void run(Device d, const Factor& problem) {
  const probe::Launch mark(d, nullptr);
  const hal::Status status = attempt(d, problem);
  if (status != hal::Status::ok) hal::raise(d, "a factorization of matrices", status);
  wait_where_launches_block(current_stream(d));
}

Factor listed(FactorKind kind, const Tensor& a, const Tensor& addresses) {
  Factor p = factor_of(kind, a);
  p.listed = true;
  p.a = addresses.data();
  return p;
}

Factor triangle_of(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  Factor p = factor_of(FactorKind::triangle, a);
  p.k = b.size(-2);
  p.unit = unit;
  p.transposed = !lies_in_columns(a);
  p.upper = upper != p.transposed;
  p.step = p.n == 1 ? 1 : a.stride(p.transposed ? -1 : -2);
  return p;
}

// As the library counts rows.
Tensor wide(const Tensor& pivots) {
  const Tensor made = empty(pivots.sizes(), Dtype::i64, pivots.device());
  run_cast(made, pivots);
  return made;
}

// Where matrix i of t's batch begins.
void* matrix_at(const Tensor& t, int64_t i) {
  int64_t offset = 0;
  for (size_t d = t.sizes().size() - 2; d-- > 0; i /= t.sizes()[d])
    offset += i % t.sizes()[d] * t.strides()[d];
  return static_cast<char*>(t.data()) + offset * int64_t(t.element_size());
}

}  // namespace

bool lies_in_columns(const Tensor& a) { return lies_along(a, -1, -2); }
bool lies_in_rows(const Tensor& a) { return lies_along(a, -2, -1); }

void lu(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  const Tensor rows = empty(pivots.sizes(), Dtype::i64, pivots.device());
  Factor p = factor_of(FactorKind::lu, a);
  p.pivots = rows.data();
  p.info = info.data_as<int32_t>();
  run(a.device(), p);
  run_cast(pivots, rows);
}

void solve_lu(const Tensor& a, const Tensor& pivots, const Tensor& b) {
  const Tensor rows = wide(pivots);
  Factor p = factor_of(FactorKind::lu_solve, a);
  p.k = b.size(-2);
  p.b = b.data();
  p.pivots = rows.data();
  run(a.device(), p);
}

void swap_rows(const Tensor& a, const Tensor& pivots) {
  Factor p = factor_of(FactorKind::swap_rows, a);
  p.k = pivots.size(-1);
  p.pivots = pivots.data();
  run(a.device(), p);
}

void cholesky(const Tensor& a, const Tensor& info) {
  Factor p = factor_of(FactorKind::cholesky, a);
  p.info = info.data_as<int32_t>();
  run(a.device(), p);
}

void solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  Factor p = triangle_of(a, b, upper, unit);
  p.batches = 1;
  for (int64_t i = 0; i < batch_of(b); ++i) {
    p.a = matrix_at(a, i);
    p.b = matrix_at(b, i);
    run(a.device(), p);
  }
}

void reflections(const Tensor& a, const Tensor& tau) {
  Factor p = factor_of(FactorKind::reflections, a);
  p.b = tau.data();
  run(a.device(), p);
}

void orthogonal(const Tensor& q, const Tensor& tau) {
  Factor p = factor_of(FactorKind::orthogonal, q);
  p.k = tau.size(-1);
  p.b = tau.data();
  run(q.device(), p);
}

void symmetric(const Tensor& a, const Tensor& values, bool vectors, const Tensor& info) {
  Factor p = factor_of(FactorKind::symmetric, a);
  p.b = values.data();
  p.vectors = vectors;
  p.info = info.data_as<int32_t>();
  run(a.device(), p);
}

void singular(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vt,
              const Tensor& info) {
  Factor p = factor_of(FactorKind::singular, a);
  p.b = s.data();
  p.info = info.data_as<int32_t>();
  if (u) {
    p.u = u.data();
    p.vt = vt.data();
    p.full = u.size(-2) == p.m;
  }
  run(a.device(), p);
}

void lu_listed(const Tensor& a, const Tensor& addresses, const Tensor& pivots, const Tensor& info) {
  Factor p = listed(FactorKind::lu, a, addresses);
  p.pivots = pivots.data();
  p.info = info.data_as<int32_t>();
  run(a.device(), p);
}

void solve_lu_listed(const Tensor& a, const Tensor& addresses, const Tensor& pivots,
                     const Tensor& b, const Tensor& addresses_of_b) {
  Factor p = listed(FactorKind::lu_solve, a, addresses);
  p.k = b.size(-2);
  p.b = addresses_of_b.data();
  p.pivots = pivots.data();
  run(a.device(), p);
}

void cholesky_listed(const Tensor& a, const Tensor& addresses, const Tensor& info) {
  Factor p = listed(FactorKind::cholesky, a, addresses);
  p.info = info.data_as<int32_t>();
  run(a.device(), p);
}

void solve_triangle_listed(const Tensor& a, const Tensor& addresses, const Tensor& b,
                           const Tensor& addresses_of_b, bool upper, bool unit) {
  Factor p = triangle_of(a, b, upper, unit);
  p.listed = true;
  p.a = addresses.data();
  p.b = addresses_of_b.data();
  run(a.device(), p);
}

}  // namespace library
}  // namespace flambeau
