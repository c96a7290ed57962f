// Orthogonal factors: QR, eigenvalues and eigenvectors of symmetric matrices, singular values and
// vectors. Their gradients turn what changes the factors' spaces into antisymmetric matrices.
#include "ops/linalg/factors.h"

namespace flambeau::ops {

namespace {

std::string no_eigenvalues_text(int32_t info) {
  return cat_text(
      "The algorithm failed to converge because the input matrix is ill-conditioned or "
      "has too many repeated eigenvalues (error code: ",
      info, ").");
}
std::string no_singular_text(int32_t info) {
  if (info == 1) {
    return "The algorithm failed to converge because the input matrix contained non-finite values.";
  }
  return cat_text(
      "The algorithm failed to converge because the input matrix is ill-conditioned or "
      "has too many repeated singular values (error code: ",
      info, ").");
}

Tensor antisymmetric(const Tensor& x) { return sub(x, mt(x)); }

struct QrBackward {
  Saved q, r;
  const char* missing;  // why there is no gradient, or null
  static constexpr auto name = "LinalgQrBackward0";
  Tensors operator()(TensorsView dy) const {
    const FullPrecision scope;
    check(!missing, Code::unsupported, missing ? missing : "");
    if (!dy[0] && !dy[1]) return {};
    const Tensor basis = q, upper = r;
    const int64_t m = basis.size(-2), n = upper.size(-1);
    Tensor inner;  // R dR^T - dQ^T Q, as far as there are gradients
    if (dy[1]) inner = matmul(dy[1], mt(upper));
    if (dy[0]) {
      const Tensor turned = matmul(mt(basis), dy[0]);
      inner = inner ? sub(inner, turned) : neg(turned);
    }
    if (m >= n) {
      const Tensor above = triu(inner), half = diag_embed(diagonal(inner, 0, -2, -1));
      Tensor da = matmul(basis, sub(add(above, mt(above)), half));
      if (dy[0]) da = add(da, dy[0]);
      return {linalg_solve_triangular(mt(upper), da, false, false)};
    }
    const Tensor square = narrow(upper, -1, 0, m);
    const Tensor below = tril(antisymmetric(neg(inner)), -1);
    const Tensor first = linalg_solve_triangular(mt(square), below, false, false);
    const Tensor rest =
        zeros(joined(batch_sizes(upper), {m, n - m}), upper.dtype(), upper.device());
    const Tensor parts[] = {first, rest};
    const Tensor da = cat(parts, -1);
    return {matmul(basis, dy[1] ? add(da, dy[1]) : da)};
  }
};

// 1 / (s_j - s_i) off the diagonal, 0 on it.
Tensor over_differences(const Tensor& s) {
  const Tensor differ = sub(unsqueeze(s, -2), unsqueeze(s, -1));
  const Tensor one = eye(s.size(-1), s.size(-1), s.dtype(), s.device());
  return sub(reciprocal(add(differ, one)), one);
}

struct EighBackward {
  Saved values, vectors;
  static constexpr auto name = "LinalgEighBackward0";
  Tensors operator()(TensorsView dy) const {
    if (!dy[0] && !dy[1]) return {};
    const Tensor v = vectors;
    Tensor inner;
    if (dy[1]) inner = mul(matmul(mt(v), dy[1]), over_differences(values));
    if (!inner) return {matmul(column_scaled(v, dy[0]), mt(v))};
    if (dy[0]) inner = add(inner, diag_embed(dy[0]));
    return {matmul(v, matmul(inner, mt(v)))};
  }
};

struct SvdBackward {
  Saved u, s, vh;
  static constexpr auto name = "LinalgSvdBackward0";

  Tensors operator()(TensorsView dy) const {
    if (!dy[0] && !dy[1] && !dy[2]) return {};
    const Tensor sizes = s;
    const int64_t k = sizes.size(-1);
    const Tensor left = narrow(u, -1, 0, k), right = mt(narrow(vh, -2, 0, k));
    if (!dy[0] && !dy[2]) return {matmul(column_scaled(left, dy[1]), mt(right))};
    const Tensor du = dy[0] ? narrow(dy[0], -1, 0, k) : dy[0];
    const Tensor dv = dy[2] ? mt(narrow(dy[2], -2, 0, k)) : dy[2];
    const Tensor over = over_differences(mul(sizes, sizes));
    Tensor inner = dy[1] ? diag_embed(dy[1]) : Tensor();
    const auto gather = [&](const Tensor& more) { inner = inner ? add(inner, more) : more; };
    if (du) gather(column_scaled(mul(antisymmetric(matmul(mt(left), du)), over), sizes));
    if (dv) gather(mul(unsqueeze(sizes, -1), mul(antisymmetric(matmul(mt(right), dv)), over)));
    Tensor da = matmul(left, matmul(inner, mt(right)));
    if (du && left.size(-2) > k)
      da = add(da, matmul(outside(left, column_scaled(du, reciprocal(sizes))), mt(right)));
    if (dv && right.size(-2) > k)
      da = add(da, matmul(left, mt(outside(right, column_scaled(dv, reciprocal(sizes))))));
    return {da};
  }

  // What of x lies outside the columns of `basis`.
  static Tensor outside(const Tensor& basis, const Tensor& x) {
    return sub(x, matmul(basis, matmul(mt(basis), x)));
  }
};

bool lower_triangle(std::string_view uplo) {
  const bool lower = uplo == "L" || uplo == "l", upper = uplo == "U" || uplo == "u";
  check(lower || upper, Code::invalid_argument, "Expected UPLO argument to be 'L' or 'U', but got ",
        uplo);
  return lower;
}

std::tuple<Tensor, Tensor> eigh(Form op, const Tensor& A, std::string_view uplo, bool vectors) {
  check_square("linalg.eigh", "A", A);
  const bool lower = lower_triangle(uplo);
  Call c{op, {A}};
  check_floating_matrix("linalg.eigh", c[0]);
  const Device place = place_of(A);
  const Tensor given = tril(lower ? detach(c[0]) : mt(detach(c[0])));  // no more is read
  const Finite known = place.is_cpu() ? Finite{given, {}} : finite_of(given);
  const Tensor in = columns(known.matrices, place);
  const Dims batch = batch_sizes(A);
  const Tensor values = flambeau::empty(joined(batch, {A.size(-1)}), in.dtype(), place);
  vectors = vectors || c.needs_grad();
  const Tensor found = !vectors ? Tensor() : place.is_cpu() ? flambeau::empty_like(in) : in;
  Tensor info = zeros(batch, Dtype::i32, place);
  if (in.numel() > 0 && place.is_cpu()) {
    factor_symmetric(in, values, found, info);
  } else if (in.numel() > 0) {
    library::symmetric(in, values, vectors, info);
    info = info_of(info, known.finite, 1);
  }
  check_info("linalg.eigh", info, no_eigenvalues_text);
  Tensor ys[] = {as_result(values, A.device()), found ? as_matrices(found, A.device()) : Tensor()};
  if (c.needs_grad())
    c.track_all(ys, EighBackward{Saved::output(ys[0], 0), Saved::output(ys[1], 1)});
  return {ys[0], ys[1]};
}

void check_driver(const char* op, const Tensor& A, std::string_view driver) {
  if (driver.data() == nullptr) return;
  check(!A.device().is_cpu(), Code::invalid_argument, op,
        ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  check(driver == "gesvd" || driver == "gesvdj" || driver == "gesvda", Code::invalid_argument, op,
        ": unknown svd driver ", driver, "; it is one of gesvd, gesvdj, gesvda");
}

struct Singular {
  Tensor u, s, vh, info;  // where they were made
};

// Of matrices without numbers.
void make_unit(const Tensor& basis) {
  const int64_t rows = basis.size(-2), cols = basis.size(-1);
  run_cast(basis, expand(eye(rows, cols, basis.dtype(), basis.device()), basis.sizes()));
}

Singular singular_on_host(const Tensor& x, bool full, bool vectors) {
  const int64_t m = x.size(-2), n = x.size(-1), k = std::min(m, n);
  const Dims batch = batch_sizes(x);
  const Tensor in = columns(x, kCpu);
  const Tensor s = flambeau::empty(joined(batch, {k}), x.dtype(), kCpu);
  const Tensor info = zeros(batch, Dtype::i32, kCpu);
  Tensor u, vh;
  if (vectors) {
    u = empty_columns(batch, m, full ? m : k, x.dtype(), kCpu);
    vh = empty_columns(batch, full ? n : k, n, x.dtype(), kCpu);
  }
  if (in.numel() > 0) {
    factor_singular(in, s, u, vh, info);
  } else if (vectors) {
    make_unit(u);
    make_unit(vh);
  }
  if (!vectors) return {{}, s, {}, info};
  return {as_matrices(u, kCpu), s, as_matrices(vh, kCpu), info};
}

// Of wide matrices the factors of the transposed ones, turned.
Singular singular_there(const Tensor& x, bool full, bool vectors, Device place) {
  const bool wide = x.size(-2) < x.size(-1);
  const Finite known = finite_of(wide ? mt(detach(x)) : x);
  const Tensor in = columns(known.matrices, place);
  const int64_t m = in.size(-1), n = in.size(-2);
  const Dims batch = batch_sizes(x);
  const Tensor s = flambeau::empty(joined(batch, {n}), x.dtype(), place);
  Tensor info = zeros(batch, Dtype::i32, place), u, vh;
  if (vectors) {
    u = empty_columns(batch, m, full ? m : n, x.dtype(), place);
    vh = empty_columns(batch, n, n, x.dtype(), place);
  }
  if (in.numel() > 0) {
    library::singular(in, s, u, vh, info);
    info = info_of(info, known.finite, 2);
  } else if (vectors) {
    make_unit(u);
    make_unit(vh);
  }
  if (!vectors) return {{}, s, {}, info};
  u = as_matrices(u, place);
  vh = as_matrices(vh, place);
  return wide ? Singular{mt(vh), s, mt(u), info} : Singular{u, s, vh, info};
}

std::tuple<Tensor, Tensor, Tensor> svd(Form op, const Tensor& A, bool full, bool vectors) {
  check_matrix("linalg.svd", "A", A);
  Call c{op, {A}};
  check_floating_matrix("linalg.svd", c[0]);
  const Device place = place_of(A);
  vectors = vectors || c.needs_grad();
  const Singular found = place.is_cpu() ? singular_on_host(c[0], full, vectors)
                                        : singular_there(c[0], full, vectors, place);
  check_info("linalg.svd", found.info, no_singular_text);
  const Device device = A.device();
  if (!vectors) return {Tensor(), as_result(found.s, device), Tensor()};
  Tensor ys[] = {as_result(found.u, device), as_result(found.s, device),
                 as_result(found.vh, device)};
  if (c.needs_grad()) {
    c.track_all(
        ys, SvdBackward{Saved::output(ys[0], 0), Saved::output(ys[1], 1), Saved::output(ys[2], 2)});
  }
  return {ys[0], ys[1], ys[2]};
}

struct Orthogonal {
  Tensor q, r;  // where they were made
};

Orthogonal orthogonal_on_host(const Tensor& x, bool complete, bool wants_q) {
  const int64_t m = x.size(-2), n = x.size(-1), k = complete ? m : std::min(m, n);
  const Dims batch = batch_sizes(x);
  const Tensor in = columns(x, kCpu), r = empty_columns(batch, k, n, x.dtype(), kCpu);
  const Tensor q = wants_q ? empty_columns(batch, m, k, x.dtype(), kCpu) : Tensor();
  if (in.numel() > 0) {
    factor_qr(in, q, r);
  } else if (q) {
    make_unit(q);
  }
  return {q ? as_matrices(q, kCpu) : q, as_matrices(r, kCpu)};
}

// Q takes the place of the reflections where it is as large.
Orthogonal orthogonal_there(const Tensor& x, bool complete, bool wants_q, Device place) {
  const int64_t m = x.size(-2), n = x.size(-1), least = std::min(m, n), k = complete ? m : least;
  const Dims batch = batch_sizes(x);
  const Tensor in = columns(x, place);
  const Tensor tau = flambeau::empty(joined(batch, {least}), x.dtype(), place);
  if (in.numel() > 0) library::reflections(in, tau);
  Tensor r;  // of what lies in columns, the upper triangle
  if (k == m && m > n) {
    r = zeros(joined(batch, {n, m}), x.dtype(), place);
    run_cast(narrow(r, -1, 0, n), tril(narrow(in, -1, 0, n)));
  } else {
    r = contiguous(tril(narrow(in, -1, 0, k)));
  }
  if (!wants_q) return {{}, as_matrices(r, place)};
  Tensor q = in;
  if (k != n) {
    q = empty_columns(batch, m, k, x.dtype(), place);
    run_cast(narrow(q, -2, 0, least), narrow(in, -2, 0, least));
  }
  if (in.numel() > 0) {
    library::orthogonal(q, tau);
  } else {
    make_unit(q);
  }
  return {as_matrices(q, place), as_matrices(r, place)};
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  check_matrix("linalg.qr", "A", A);
  const bool complete = mode == "complete", only_r = mode == "r";
  check(complete || only_r || mode == "reduced", Code::invalid_argument,
        "qr received unrecognized mode '", mode,
        "' but expected one of 'reduced' (default), 'r', or 'complete'");
  Call c{op::linalg_qr, {A}};
  check_floating_matrix("linalg.qr", c[0]);
  const int64_t m = A.size(-2), n = A.size(-1);
  const Device place = place_of(A);
  const Orthogonal made = place.is_cpu() ? orthogonal_on_host(c[0], complete, !only_r)
                                         : orthogonal_there(c[0], complete, !only_r, place);
  Tensor ys[] = {only_r ? zeros(Dims{0}, A.dtype(), A.device()) : as_result(made.q, A.device()),
                 as_result(made.r, A.device())};
  const char* missing =
      only_r ? "linalg_qr_backward: The derivative of linalg.qr depends on Q when mode='r'"
      : complete && m > n ? "The QR decomposition is not differentiable when mode='complete' and "
                            "nrows > ncols"
                          : nullptr;
  if (c.needs_grad())
    c.track_all(ys, QrBackward{Saved::output(ys[0], 0), Saved::output(ys[1], 1), missing});
  return {ys[0], ys[1]};
}

std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& A, std::string_view UPLO) {
  return eigh(op::linalg_eigh, A, UPLO, true);
}
Tensor linalg_eigvalsh(const Tensor& A, std::string_view UPLO, Into into) {
  return std::get<0>(eigh(op::linalg_eigvalsh.to(into), A, UPLO, false));
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices,
                                              std::string_view driver) {
  check_driver("linalg.svd", A, driver);
  return svd(op::linalg_svd, A, full_matrices, true);
}
Tensor linalg_svdvals(const Tensor& A, std::string_view driver, Into into) {
  check_driver("linalg.svdvals", A, driver);
  return std::get<1>(svd(op::linalg_svdvals.to(into), A, false, false));
}

}  // namespace flambeau::ops
