// Initialisers that give a weight a structure: identities, orthogonal rows, zeros at drawn places.
#include <cmath>

#include "base/error.h"
#include "graph/mode.h"
#include "nn/init.h"
#include "ops/ops.h"

namespace flambeau::nn {

namespace {

void check_matrix(const Tensor& t) {
  check(t.dim() == 2, Code::shape, "Only tensors with 2 dimensions are supported, got ", t);
}

}  // namespace

void init_eye(const Tensor& t) {
  check_matrix(t);
  GradMode no_grad(false);
  ops::zero_(t);
  if (t.numel()) ops::fill_(ops::diagonal(t), wrapped_number(1.0));
}

void init_dirac(const Tensor& t, int64_t groups) {
  check(t.dim() >= 3 && t.dim() <= 5, Code::shape,
        "Only tensors with 3, 4, or 5 dimensions are supported, got ", t);
  check(groups > 0 && t.size(0) % groups == 0, Code::invalid_argument,
        "dim 0 must be divisible by groups, got ", t.size(0), " and ", groups);
  GradMode no_grad(false);
  ops::zero_(t);
  if (!t.numel()) return;
  const int64_t rows = t.size(0) / groups;
  Tensor middle = t;  // [out, in], the taps that keep a place
  for (int64_t d = t.dim() - 1; d >= 2; --d) middle = ops::select(middle, d, t.size(d) / 2);
  for (int64_t g = 0; g < groups; ++g) {
    ops::fill_(ops::diagonal(ops::narrow(middle, 0, g * rows, rows)), wrapped_number(1.0));
  }
}

// The triangle of the factorization has a positive diagonal, without which the distribution would
// not be uniform (Mezzadri, 2006).
void init_orthogonal(const Tensor& t, double gain, Generator* g) {
  check(t.dim() >= 2, Code::shape, "Only tensors with 2 or more dimensions are supported, got ", t);
  if (!t.numel()) return;
  GradMode no_grad(false);
  const int64_t rows = t.size(0), columns = t.numel() / rows;
  const Tensor drawn = ops::empty(Dims{rows, columns}, t.dtype(), t.device());
  ops::normal_(drawn, 0, 1, g);
  const bool wide = rows < columns;
  const Tensor tall = ops::to(wide ? ops::transpose(drawn, 0, 1) : drawn, kCpu, Dtype::f64);
  const auto [q, r] = ops::linalg_qr(tall, "reduced");
  const Tensor signs = ops::where(ops::lt(ops::diagonal(r), wrapped_number(0.0)),
                                  wrapped_number(-1.0), wrapped_number(1.0));
  const Tensor found = ops::mul(ops::mul(q, ops::unsqueeze(signs, 0)), wrapped_number(gain));
  ops::copy_(t, ops::reshape(wide ? ops::transpose(found, 0, 1) : found, t.sizes()));
}

void init_sparse(const Tensor& t, double sparsity, double std, Generator* g) {
  check_matrix(t);
  check(std::isfinite(sparsity), Code::invalid_argument, "sparse: sparsity must be finite, got ",
        sparsity);
  if (!t.numel()) return;  // however many columns of none
  GradMode no_grad(false);
  ops::normal_(t, 0, std, g);
  // A share below 0 leaves so many out, as the end of a slice does in torch.
  const double rows_of = double(t.size(0)), share = std::ceil(sparsity * rows_of);
  const int64_t zeros = int64_t(std::clamp(share < 0 ? rows_of + share : share, 0.0, rows_of));
  for (int64_t column = 0; column < t.size(1); ++column) {
    const Tensor rows =
        ops::narrow(ops::randperm(t.size(0), nullptr, Dtype::i64, kCpu), 0, 0, zeros);
    ops::index_fill_(ops::select(t, 1, column), 0, ops::to(rows, t.device()), wrapped_number(0.0));
  }
}

}  // namespace flambeau::nn
