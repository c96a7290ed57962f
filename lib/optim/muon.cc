// Muon: momentum whose matrix is made orthogonal before it is the step. Source: Jordan et al.,
// 2024, https://kellerjordan.github.io/posts/muon; the learning rates' adjustments: Liu et al.,
// arXiv 2502.16982.
#include <algorithm>
#include <cmath>

#include "ops/formula.h"
#include "optim/matrix_rules.h"

namespace flambeau::optim {

using namespace ops;

namespace {

// A matrix in bfloat16 with the singular vectors of `matrix` and singular values near one, by
// iterations of a quintic polynomial (Newton and Schulz).
Tensor orthogonal(const Tensor& matrix, const RuleOptions& o) {
  const double a = o[kOptNsA], b = o[kOptNsB], c = o[kOptNsC];
  const bool tall = matrix.sizes()[0] > matrix.sizes()[1];
  Tensor x = to(tall ? t(matrix) : matrix, {}, Dtype::bf16);
  x = div(x, clamp_min(norm(x), num(o[kOptEps])));
  for (int i = 0; i < int(o[kOptNsSteps]); ++i) {
    const Tensor gram = matmul(x, t(x));
    x = addmm(x, addmm(gram, gram, gram, b, c), x, a);
  }
  return tall ? t(x) : x;
}

double adjustment(const RuleOptions& o, double rows, double columns) {
  switch (int(o[kOptAdjustLr])) {
    case 2:
      return 0.2 * std::sqrt(std::max(rows, columns));
    case 3:
      return std::sqrt(rows / columns);
    default:
      return std::sqrt(std::max(1.0, rows / columns));
  }
}

}  // namespace

void step_muon(const Parameter& p, const RuleOptions& o) {
  const double lr = o[kOptLr], momentum = o[kOptMuonMomentum];
  const Tensor &x = p.param, buffer = lerp_(p.first, p.grad, num(1 - momentum));
  const Tensor wanted = o[kOptMuonNesterov] != 0 ? lerp(p.grad, buffer, num(momentum)) : buffer;
  const Tensor update = to(orthogonal(wanted, o), {}, x.dtype());
  const double scale = lr * adjustment(o, double(x.sizes()[0]), double(x.sizes()[1]));
  mul_(x, num(1 - lr * o[kOptWeightDecay]));
  sub_(x, mul(update, num(scale)));
}

}  // namespace flambeau::optim
