// The initialiser from a cut normal distribution: its quantiles at uniform numbers, so that one
// pass is enough wherever the cuts lie. Rejection would take the longer the less lies between them.
#include <cmath>

#include "base/error.h"
#include "graph/mode.h"
#include "nn/init.h"
#include "ops/ops.h"

namespace flambeau::nn {

namespace {

constexpr int64_t kPiece = 1 << 20;  // elements whose quantiles are found at once, in float64

// What lies between two cuts in units of the deviation; erf is exact enough unless both are far on
// one side.
Tensor near_quantile(const Tensor& u, double low, double high) {
  const double from = std::erf(low * M_SQRT1_2), to = std::erf(high * M_SQRT1_2);
  const double most = 1 - 0x1p-53;  // beyond it lies infinity
  Tensor p = ops::add(ops::mul(u, wrapped_number(to - from)), wrapped_number(from));
  p = ops::clamp(p, wrapped_number(-most), wrapped_number(most));
  return ops::mul(ops::erfinv(p), wrapped_number(M_SQRT2));
}

Tensor scaled_tail(const Tensor& x) { return ops::erfcx(ops::mul(x, wrapped_number(M_SQRT1_2))); }

// How far above the cut `low` > 0 the upper tail has the share u of what lies within `width`. With
// Q(x) = exp(-x^2/2) erfcx(x/sqrt(2)) / 2 the part above x, log Q(low + d) = log Q(low) +
// log(share) is solved for d by Newton's method, in which x^2 cancels: nothing underflows however
// far the cut. The function is convex and begins above its root, where exp(-x^2/2) alone would have
// it.
Tensor tail_quantile(const Tensor& u, double low, double width) {
  const auto number = [](double x) { return wrapped_number(x); };
  const Tensor at_low = scaled_tail(ops::full(Dims{}, number(low), Dtype::f64, u.device()));
  const auto log_part = [&](const Tensor& d) {  // log(Q(low + d) / Q(low))
    const Tensor square = ops::mul(ops::mul(d, ops::add(d, number(2 * low))), number(-0.5));
    return ops::add(square, ops::log(ops::div(scaled_tail(ops::add(d, number(low))), at_low)));
  };
  const Tensor whole = ops::full(Dims{}, number(width), Dtype::f64, u.device());
  const Tensor within = std::isinf(width) ? number(-1.0) : ops::expm1(log_part(whole));
  const Tensor wanted = ops::log1p(ops::mul(u, within));
  const Tensor root = ops::sqrt(ops::sub(number(low * low), ops::mul(wanted, number(2.0))));
  Tensor d = ops::div(ops::mul(wanted, number(-2.0)), ops::add(root, number(low)));
  for (int step = 0; step < 4; ++step) {
    const Tensor slope = ops::div(number(std::sqrt(2 / M_PI)),  // of -log_part
                                  scaled_tail(ops::add(d, number(low))));
    d = ops::add(d, ops::div(ops::sub(log_part(d), wanted), slope));
  }
  return ops::clamp(d, number(0.0), number(width));
}

}  // namespace

void init_trunc_normal(const Tensor& t, double mean, double std, double a, double b, Generator* g) {
  check(is_floating(t.dtype()), Code::dtype,
        "trunc_normal: the tensor must be floating point, got ", t);
  check(std > 0 && std::isfinite(std) && std::isfinite(mean) && a < b, Code::invalid_argument,
        "trunc_normal: mean (", mean, ") and std (", std, ") must be finite, std positive and a (",
        a, ") below b (", b, ")");
  const double low = (a - mean) / std, high = (b - mean) / std;
  check(low < INFINITY && high > -INFINITY, Code::invalid_argument, "trunc_normal: [", a, ", ", b,
        "] is too many std (", std, ") away from mean (", mean, ")");
  GradMode no_grad(false);
  const auto fill = [&](const Tensor& part) {
    const Tensor u = ops::empty(part.sizes(), Dtype::f64, part.device());
    ops::uniform_(u, 0, 1, g);
    // From the cut nearest to the mean, so that a cut far out keeps its places.
    const bool above = low > 2, below = high < -2;
    const Tensor z = above   ? tail_quantile(u, low, (b - a) / std)
                     : below ? ops::neg(tail_quantile(u, -high, (b - a) / std))
                             : near_quantile(u, low, high);
    const Tensor found = ops::add(ops::mul(z, wrapped_number(std)), wrapped_number(above   ? a
                                                                                   : below ? b
                                                                                           : mean));
    ops::copy_(part, ops::clamp(found, wrapped_number(a), wrapped_number(b)));
  };
  if (!t.is_contiguous() || t.numel() <= kPiece) return fill(t);
  const Tensor flat = ops::view(t, Dims{t.numel()});
  for (int64_t at = 0; at < t.numel(); at += kPiece) {
    fill(ops::narrow(flat, 0, at, std::min(kPiece, t.numel() - at)));
  }
}

}  // namespace flambeau::nn
