// Matrices on their way to the host's factorizations and back.
#include "ops/linalg/factors.h"

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

Tensor empty_columns(DimsView batch, int64_t m, int64_t n, Dtype dtype) {
  return flambeau::empty(joined(Dims(batch), {n, m}), dtype, kCpu);
}

Tensor columns(const Tensor& x) {
  const Tensor host = x.device().is_cpu() ? x : to_device(alias(x), kCpu, false);
  wait_for_host_access(host.storage()->block());
  const Tensor copy = empty_columns(batch_sizes(x), x.size(-2), x.size(-1), x.dtype());
  Dims sizes(host.sizes()), strides(host.strides());
  const size_t n = sizes.size();
  std::swap(sizes[n - 1], sizes[n - 2]);
  std::swap(strides[n - 1], strides[n - 2]);
  run_cast(copy, alias(host, sizes, strides, host.offset()));
  return copy;
}

Tensor as_result(const Tensor& made, Device device) {
  return device.is_cpu() ? made : to_device(made, device, false);
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
  const int32_t* values = info.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (values[i] == 0) continue;
    const std::string which = info.dim() ? cat_text("(Batch element ", i, "): ") : "";
    fail(kNoFactor, op, ": ", which, text(values[i]));
  }
}

Lu lu_of(const Tensor& x) {
  const Dims batch = batch_sizes(x);
  const int64_t k = std::min(x.size(-1), x.size(-2));
  Lu made{columns(x), flambeau::empty(joined(batch, {k}), Dtype::i32, kCpu),
          zeros(batch, Dtype::i32, kCpu)};
  if (x.numel() > 0) factor_lu(made.lu, made.pivots, made.info);
  return made;
}

void solve_by(const Lu& by, const Tensor& b) {
  const int64_t n = b.size(-1), k = b.size(-2), batch = numel_of(batch_sizes(b));
  with_dtype(b.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch; ++i) {
      const int32_t* pivots = by.pivots.data_as<int32_t>() + i * n;
      for (int64_t column = 0; column < k; ++column) {
        T* values = b.data_as<T>() + (i * k + column) * n;
        for (int64_t row = 0; row < n; ++row) std::swap(values[row], values[pivots[row] - 1]);
      }
    }
  });
  solve_triangle(by.lu, b, false, true);
  solve_triangle(by.lu, b, true, false);
}

Tensor halved_diagonal(const Tensor& x) {
  return sub(tril(x), mul(diag_embed(diagonal(x, 0, -2, -1)), num(0.5)));
}

}  // namespace flambeau::ops
