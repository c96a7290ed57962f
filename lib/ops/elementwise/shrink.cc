// Activations with a learned slope, a gate, noise or a dead zone.
#include "ops/elementwise/shrink.h"

#include "base/error.h"
#include "base/half.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

// The bound as the operand's dtype has it: an element is compared with what it can be equal to.
double in_dtype(double v, Dtype dtype) {
  return dtype == Dtype::f16    ? double(float(Half(float(v))))
         : dtype == Dtype::bf16 ? double(float(BFloat16(float(v))))
                                : v;
}

template <Name N> Tensor shrink(Form op, const Kernel& k, T input, double bound) {
  check(is_floating(input.dtype()), Code::dtype, "\"", op, "\" not implemented for '",
        name_of(input.dtype()), "'");
  const double lambd = in_dtype(bound, input.dtype());
  return from_input<N>(
      op, k, input,
      [lambd](T dy, T x) {
        return fused(kShrinkSlope, {dy, x}, {lambd},
                     [&] { return drop_where(le(abs(x), num(lambd)), dy); });
      },
      {lambd}, Domain::any);
}

struct PreluBackward {
  Saved x, weight;
  static constexpr auto name = "PreluKernelBackward0";
  Tensors operator()(T dy) const {
    const Tensor in = x, w = weight;
    const auto above = [&] { return gt(in, num(0.0)); };
    Tensors g(2);
    if (wanted(0)) {
      g[0] = fused(kPreluSlope, {dy, in, w}, {}, [&] { return where(above(), dy, mul(w, dy)); });
    }
    if (wanted(1)) g[1] = drop_where(above(), mul(in, dy));
    return g;
  }
};

// dx is written where its halves lie.
struct GluBackward {
  Saved x;
  int64_t d;
  static constexpr auto name = "GluBackward0";
  Tensors operator()(T dy) const {
    const Tensor in = x;
    const int64_t n = in.size(d) / 2;
    const Tensor value = narrow(in, d, 0, n), gate = narrow(in, d, n, n);
    if (modes.grad) {
      const Tensor s = sigmoid(gate);
      const Tensor halves[] = {mul(dy, s), mul(mul(dy, value), mul(s, one_minus(s)))};
      return {cat(halves, d)};
    }
    const Tensor dx = flambeau::empty_like(in);
    const Tensor *for_value[] = {&dy, &gate}, *for_gate[] = {&dy, &value, &gate};
    run_map(name, kGlu, dx.dtype(), narrow(dx, d, 0, n), for_value, {});
    run_map(name, kGateSlope, dx.dtype(), narrow(dx, d, n, n), for_gate, {});
    return {dx};
  }
};

}  // namespace

Tensor hardshrink(T input, double lambd, Into into) {
  return shrink<"HardshrinkBackward0">(op::hardshrink.to(into), kHardshrink, input, lambd);
}

Tensor softshrink(T input, double lambd, Into into) {
  check(lambd >= 0, Code::invalid_argument,
        "lambda must be greater or equal to 0, but found to be ", lambd, ".");
  return shrink<"SoftshrinkBackward0">(op::softshrink.to(into), kSoftshrink, input, lambd);
}

Tensor prelu(T input, T weight) {
  const int64_t channels = input.dim() > 1 ? input.size(1) : 1;
  check(weight.dim() <= 1 && (weight.numel() == 1 || weight.numel() == channels), Code::shape,
        "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
        weight.numel(), " and channel size = ", channels);
  Dims sizes(size_t(std::max<int64_t>(input.dim(), 1)), 1);
  if (weight.numel() > 1) sizes[1] = weight.numel();
  const Tensor w = input.dim() == 0 ? reshape(weight, Dims{}) : reshape(weight, sizes);
  Call c{op::prelu, {input, w}};
  c.promote();
  return c.track(c.map(kPrelu, {c[0], c[1]}), PreluBackward{c.save(c[0]), c.save(c[1])});
}

Tensor glu(T input, int64_t dim) {
  check(input.dim() > 0, Code::shape, "glu does not support 0-dimensional tensors");
  const int64_t d = wrap_dim(dim, input.dim()), n = input.size(d);
  check(n % 2 == 0, Code::shape, "Halving dimension must be even, but dimension ", d, " is size ",
        n);
  Call c{op::glu, {input}};
  float_operands(c);
  Tensor y;
  {
    const GradMode off(false);
    const Tensor value = narrow(c[0], d, 0, n / 2), gate = narrow(c[0], d, n / 2, n / 2);
    y = c.map(kGlu, {value, gate});
  }
  return c.track(std::move(y), GluBackward{c.save(c[0]), d});
}

Tensor rrelu(T input, double lower, double upper, bool training, Into) {
  check(lower <= upper, Code::invalid_argument,
        "Lower bound should be less than or equal to the upper bound");
  Tensor slope;
  {
    GradMode no_grad(false);
    Tensor drawn = flambeau::empty_like(input);
    drawn = training ? uniform_(drawn, lower, upper) : fill_(drawn, num((lower + upper) / 2));
    slope = where(le(input, num(0.0)), drawn, num(1.0));
  }
  return mul(input, slope);
}

Tensor gumbel_softmax(T input, double tau, bool hard, double, int64_t dim) {
  Tensor noise;
  {
    GradMode no_grad(false);
    noise = neg(log(exponential_(flambeau::empty_like(input))));
  }
  const Tensor soft = softmax(div(add(input, noise), num(tau)), dim);
  if (!hard) return soft;
  const Tensor best = argmax(soft, dim, true);
  const Tensor one_hot = scatter(zeros_as(soft), dim, best, num(1.0));
  return add(sub(one_hot, detach(soft)), soft);
}

}  // namespace flambeau::ops
