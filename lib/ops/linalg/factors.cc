// Matrices on their way to their factorizations and back.
#include "ops/linalg/factors.h"

#include <algorithm>

namespace flambeau::ops {

Dims joined(Dims sizes, std::initializer_list<int64_t> more) {
  for (const int64_t n : more) sizes.push_back(n);
  return sizes;
}

void check_matrix(const char* op, const char* name, const Tensor& x) {
  check(x.dim() >= 2, Code::shape, op, ": The input tensor ", name,
        " must have at least 2 dimensions. Got ", x);
}

void check_square(const char* op, const char* name, const Tensor& x) {
  check_matrix(op, name, x);
  check(x.size(-1) == x.size(-2), Code::shape, op, ": ", name,
        " must be batches of square matrices, but they are ", x.size(-2), " by ", x.size(-1),
        " matrices");
}

void check_floating_matrix(const char* op, const Tensor& x) {
  if (is_complex(x.dtype())) fail_type(x.dtype(), op);
  check(is_floating(x.dtype()), Code::dtype, op,
        ": Expected a floating point or complex tensor as input. Got ", name_of(x.dtype()));
  check(x.dtype() == Dtype::f32 || x.dtype() == Dtype::f64, Code::dtype, op,
        ": Low precision dtypes not supported, not implemented for '", name_of(x.dtype()),
        "'; convert it: x.to(float32)");
}

void check_same_kind(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), Code::dtype, op,
        ": Expected A and B to have the same dtype, but found A of type ", name_of(a.dtype()),
        " and B of type ", name_of(b.dtype()), " instead");
}

Device place_of(Device d, int64_t batches, int64_t greatest_size) {
  constexpr int64_t kFew = 16, kSmall = 64;
  return batches > kFew && greatest_size <= kSmall ? kCpu : factor_device(d);
}
Device place_of(const Tensor& x) {
  return place_of(x.device(), numel_of(batch_sizes(x)), std::max(x.size(-1), x.size(-2)));
}

bool takes_list(const Tensor& x) {
  constexpr int64_t kSmall = 512;
  return x.size(-1) == x.size(-2) && x.size(-1) <= kSmall && numel_of(batch_sizes(x)) > 1 &&
         !factor_device(x.device()).is_cpu();
}

Tensor addresses_of(const Tensor& matrices) {
  const int64_t step = matrices.size(-1) * matrices.size(-2) * int64_t(matrices.element_size());
  const auto first = int64_t(reinterpret_cast<intptr_t>(matrices.data()));
  const int64_t last = first + step * numel_of(batch_sizes(matrices));
  return arange(num(first), num(last), num(step), Dtype::i64, matrices.device());
}

Tensor empty_columns(DimsView batch, int64_t m, int64_t n, Dtype dtype, Device place) {
  return flambeau::empty(joined(Dims(batch), {n, m}), dtype, place);
}

Tensor unit_columns(DimsView batch, int64_t n, Dtype dtype, Device place) {
  const Tensor made = empty_columns(batch, n, n, dtype, place);
  run_cast(made, eye(n, n, dtype, place));
  return made;
}

Tensor columns(const Tensor& x, Device place) {
  const Tensor there = x.device() == place ? x : to_device(alias(x), place, false);
  if (place.is_cpu()) wait_for_host_access(there.storage()->block());
  const Tensor copy = empty_columns(batch_sizes(x), x.size(-2), x.size(-1), x.dtype(), place);
  Dims sizes(there.sizes()), strides(there.strides());
  const size_t n = sizes.size();
  std::swap(sizes[n - 1], sizes[n - 2]);
  std::swap(strides[n - 1], strides[n - 2]);
  run_cast(copy, alias(there, sizes, strides, there.offset()));
  return copy;
}

Tensor as_result(const Tensor& made, Device device) {
  return made.device() == device ? made : to_device(made, device, false);
}

Tensor as_matrices(const Tensor& made, Device device) {
  const Tensor there = as_result(made, device);
  Dims sizes(there.sizes()), strides(there.strides());
  const size_t n = sizes.size();
  std::swap(sizes[n - 1], sizes[n - 2]);
  std::swap(strides[n - 1], strides[n - 2]);
  return alias(there, sizes, strides, there.offset());
}

void check_info(const char* op, const Tensor& info, std::string (*text)(int32_t info)) {
  const Tensor host = as_result(info, kCpu);
  const int32_t* values = host.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (values[i] == 0) continue;
    const std::string which = info.dim() ? cat_text("(Batch element ", i, "): ") : "";
    fail(kNoFactor, op, ": ", which, text(values[i]));
  }
}

Lu lu_of(const Tensor& x) {
  const Device place = takes_list(x) ? x.device() : place_of(x);
  const Dims batch = batch_sizes(x);
  const int64_t k = std::min(x.size(-1), x.size(-2));
  Lu made{columns(x, place), flambeau::empty(joined(batch, {k}), Dtype::i32, place),
          zeros(batch, Dtype::i32, place)};
  if (x.numel() == 0) return made;
  if (place.is_cpu()) {
    factor_lu(made.lu, made.pivots, made.info);
  } else if (takes_list(made.lu)) {
    library::lu_listed(made.lu, addresses_of(made.lu), made.pivots, made.info);
  } else {
    library::lu(made.lu, made.pivots, made.info);
  }
  return made;
}

void swap_rows(const Tensor& a, const Tensor& pivots) {
  if (!a.device().is_cpu()) return library::swap_rows(a, pivots);
  const int64_t m = a.size(-1), n = a.size(-2), k = pivots.size(-1);
  with_dtype(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t column = 0; column < numel_of(batch_sizes(a)) * n; ++column) {
      T* values = a.data_as<T>() + column * m;
      const int32_t* with = pivots.data_as<int32_t>() + column / n * k;
      for (int64_t row = 0; row < k; ++row) std::swap(values[row], values[with[row] - 1]);
    }
  });
}

void solve_by(const Lu& lu, const Tensor& b) {
  if (b.numel() == 0) return;
  if (lu.place().is_cpu()) {
    swap_rows(b, lu.pivots);
    solve_triangle(lu.lu, b, false, true);
    solve_triangle(lu.lu, b, true, false);
  } else if (takes_list(lu.lu)) {
    library::solve_lu_listed(lu.lu, addresses_of(lu.lu), lu.pivots, b, addresses_of(b));
  } else {
    library::solve_lu(lu.lu, lu.pivots, b);
  }
}

Finite finite_of(const Tensor& x) {
  const GradMode off(false);
  const Tensor in = detach(x), finite = all(isfinite(in), Dims{-2, -1}, true);
  return {keep_where(finite, in), finite};
}

Tensor info_of(const Tensor& info, const Tensor& finite, int64_t least) {
  const Tensor found = where(ne(info, num(int64_t{0})), clamp_min(info, num(least)), info);
  return where(squeeze(squeeze(finite, Dims{-1}), Dims{-1}), found, num(int64_t{1}));
}

Tensor halved_diagonal(const Tensor& x) {
  return sub(tril(x), mul(diag_embed(diagonal(x, 0, -2, -1)), num(0.5)));
}

}  // namespace flambeau::ops
