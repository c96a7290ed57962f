// Random numbers: every op takes one draw from a generator and leaves the rest to one kernel.
#include "kernels/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/warning.h"
#include "kernels/index/index.h"
#include "ops/call.h"
#include "ops/fits.h"
#include "ops/formula.h"
#include "ops/random/draw.h"
#include "ops/read.h"
#include "tensor/defaults.h"

namespace flambeau::ops {

namespace {

constexpr Op kCauchyOp{"cauchy"};
constexpr Op kExponentialOp{"exponential"};
constexpr Op kGeometricOp{"geometric"};
constexpr Op kLogNormalOp{"log_normal"};
constexpr Op kRandomOp{"random"};
constexpr Op kUniformOp{"uniform"};

void check_floating(const char* op, Dtype dtype) {
  check(is_floating(dtype), Code::dtype, "\"", op, "\" not implemented for '", name_of(dtype), "'");
}

// Of values that can be read without waiting.
void check_values(const Tensor& x, const char* rule, Tensor (*holds)(const Tensor& x)) {
  if (!x.device().is_cpu() || x.numel() == 0) return;
  const GradMode off(false);
  check(is_true(all(holds(alias(x)))), Code::invalid_argument, rule, "; in ", x);
}

// The integers that a dtype reaches.
std::pair<int64_t, int64_t> range_of(Dtype dtype) {
  if (dtype == Dtype::f16) return {-65504, 65504};
  return with_dtype(is_floating(dtype) ? Dtype::i64 : dtype, [](auto tag) {
    using Limits = std::numeric_limits<typename decltype(tag)::type>;
    return std::pair(int64_t(Limits::lowest()), int64_t(Limits::max()));
  });
}

// A significand's bits, the hidden one too: every integer up to two to that power is there.
int digits_of(Dtype dtype) {
  return dtype == Dtype::f64 ? 53 : dtype == Dtype::f32 ? 24 : dtype == Dtype::f16 ? 11 : 8;
}

void check_bounds(const char* op, Dtype dtype, int64_t low, int64_t high) {
  check(low < high, Code::invalid_argument,
        "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  const auto [least, most] = range_of(dtype);
  for (const auto& [end, value] : {std::pair{"from", low}, std::pair{"to - 1", high - 1}}) {
    check(value >= least && value <= most, Code::invalid_argument, end, " is out of bounds for ",
          name_of(dtype), ", which holds ", least, " to ", most, "; ", op, " got ", value);
  }
  if (!is_floating(dtype)) return;
  const int digits = digits_of(dtype);
  for (const auto& [end, value] : {std::pair{"from", low}, std::pair{"to - 1", high - 1}}) {
    if (std::abs(double(value)) <= std::ldexp(1.0, digits)) continue;
    warn(end, " is out of bounds [-(2^", digits, "), 2^", digits, "]. Beyond them ", name_of(dtype),
         " does not hold every integer, so that those which it does are drawn more often");
  }
}

Tensor finished(Tensor t, bool requires_grad) {
  if (requires_grad) {
    check_floating("requires_grad", t.dtype());
    autograd_data(t).requires_grad = true;
  }
  return t;
}

Tensor fresh(const char* op, const Kernel& k, DimsView size, Generator* g, Dtype dtype,
             Device device, bool requires_grad, std::initializer_list<double> params,
             const RandomExtra& extra = {}) {
  Tensor t = flambeau::empty(size, dtype_or_default(dtype), device_or_default(device));
  run_random(op, k, t, draw_from(op, g, t.device()), params, extra);
  return finished(std::move(t), requires_grad);
}

Tensor fill_random(const Op& op, const Kernel& k, const Tensor& x, Generator* g,
                   std::initializer_list<double> params, const RandomExtra& extra = {}) {
  Destination to(x, op, Destination::inplace);
  Call c{op.to(to), {x}};
  const Draw draw = draw_from(op, g, x.device());
  const Tensor& target = c.write_target();
  if (target.is_contiguous()) {
    run_random(op, k, target, draw, params, extra);
  } else {
    const Tensor dense = flambeau::empty(target.sizes(), target.dtype(), target.device());
    run_random(op, k, dense, draw, params, extra);
    run_cast(target, dense);
  }
  return c.constant(target);
}

// What a formula makes of uniform or normal numbers, in f32 or f64.
template <class F> Tensor fill_made(const Op& op, const Kernel& k, const Tensor& x, Generator* g,
                                    std::initializer_list<double> params, F formula) {
  Destination to(x, op, Destination::inplace);
  Call c{op.to(to), {x}};
  const Dtype work = x.dtype() == Dtype::f16 || x.dtype() == Dtype::bf16 ? Dtype::f32
                     : is_floating(x.dtype())                            ? x.dtype()
                                                                         : Dtype::f64;
  const Tensor drawn = flambeau::empty(x.sizes(), work, x.device());
  run_random(op, k, drawn, draw_from(op, g, x.device()), params);
  Tensor made;
  {
    const GradMode off(false);
    made = formula(drawn);
  }
  const Tensor& target = c.write_target();
  run_cast(target, made);
  return c.constant(target);
}

// The same draw makes the same mask again, so the gradient is the op itself applied to dy.
struct DropoutBackward {
  Draw draw;
  double p;
  static constexpr auto name = "NativeDropoutBackward0";
  Tensors operator()(const Tensor& dy) const;
};

// A draw does not tell what its parameters did to it: its slopes are 0, as in torch.
struct DrawBackward {
  static constexpr auto name = "NormalBackward3";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? zeros_as(dy) : Tensor(), wanted(1) ? zeros_as(dy) : Tensor()};
  }
};

Tensor drop(const Tensor& x, const Draw& draw, double p, Into into = {}) {
  Call c{op::dropout.to(into), {x}};
  const Tensor dense = x.is_contiguous() ? x : contiguous(detach(x));
  // The noise is that of the place, however the elements lie.
  const bool ordered = !x.is_contiguous() && !into.destination;
  Tensor y = ordered ? flambeau::empty_like(x) : c.output(x.sizes(), x.dtype());
  run_random(op::dropout, kDropout, y, draw, {p}, {.input = dense});
  return c.track(std::move(y), DropoutBackward{draw, p});
}

Tensors DropoutBackward::operator()(const Tensor& dy) const { return {drop(dy, draw, p)}; }

}  // namespace

Tensor rand(DimsView size, Generator* g, Dtype dtype, Device device, bool requires_grad) {
  check_floating(op::rand, dtype_or_default(dtype));
  return fresh(op::rand, kUniform, size, g, dtype, device, requires_grad, {0, 1});
}

Tensor randn(DimsView size, Generator* g, Dtype dtype, Device device, bool requires_grad) {
  check_floating(op::randn, dtype_or_default(dtype));
  return fresh(op::randn, kNormal, size, g, dtype, device, requires_grad, {0, 1});
}

Tensor randint(int64_t low, int64_t high, DimsView size, Generator* g, Dtype dtype, Device device,
               bool requires_grad) {
  if (dtype == Dtype::none) dtype = Dtype::i64;
  check_bounds(op::randint, dtype, low, high);
  return fresh(op::randint, kRandint, size, g, dtype, device, requires_grad, {},
               {.low = low, .high = high});
}

Tensor randperm(int64_t n, Generator* g, Dtype dtype, Device device, bool requires_grad) {
  check(n >= 0, Code::invalid_argument, "n must be non-negative, got ", n);
  if (dtype == Dtype::none) dtype = Dtype::i64;
  const int64_t most = is_floating(dtype) ? int64_t{1} << digits_of(dtype) : range_of(dtype).second;
  check(n - 1 <= most, Code::invalid_argument, "n cannot be greater than ", most, " + 1 for ",
        name_of(dtype), ", which holds no more whole numbers from 0 on, got ", n);
  const Device where = resolve(device_or_default(device));
  const Tensor t = random_permutation(n, fixed_state(op::randperm, g, where));
  return finished(to(t, where, dtype), requires_grad);
}

// Numbers drawn in C order, in x's order of dimensions.
static Tensor laid_out_like(const Tensor& x, const Tensor& drawn) {
  if (std::ranges::equal(x.strides(), drawn.strides())) return drawn;
  Tensor y = flambeau::empty_strided(x.sizes(), dense_strides(x), drawn.dtype(), drawn.device());
  run_cast(y, drawn);
  if (requires_grad(drawn)) autograd_data(y).requires_grad = true;
  return y;
}

Tensor rand_like(const Tensor& x, Dtype dtype, Device device, bool requires_grad) {
  return laid_out_like(x, rand(x.sizes(), nullptr, dtype == Dtype::none ? x.dtype() : dtype,
                               device ? device : x.device(), requires_grad));
}

Tensor randn_like(const Tensor& x, Dtype dtype, Device device, bool requires_grad) {
  return laid_out_like(x, randn(x.sizes(), nullptr, dtype == Dtype::none ? x.dtype() : dtype,
                                device ? device : x.device(), requires_grad));
}

Tensor uniform_(const Tensor& x, double from, double to, Generator* g) {
  check_floating(op::uniform_, x.dtype());
  const double most = greatest_of(x.dtype());
  for (const auto& [name, bound] : {std::pair("from", from), std::pair("to", to)}) {
    check(std::abs(bound) <= most, Code::invalid_argument, "uniform_: ", name,
          " is out of bounds for ", name_of(x.dtype()), ": ", bound);
  }
  check(from <= to, Code::invalid_argument,
        "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  check(to - from <= most, Code::invalid_argument, "uniform_ expects to-from <= the greatest ",
        name_of(x.dtype()), ", but found to=", to, " and from=", from);
  return fill_random(kUniformOp, kUniform, x, g, {from, to});
}

Tensor normal_(const Tensor& x, double mean, double std, Generator* g) {
  check_floating(op::normal_, x.dtype());
  check(std >= 0, Code::invalid_argument, "normal expects std >= 0.0, but found std ", std);
  return fill_random(op::normal, kNormal, x, g, {mean, std});
}

Tensor exponential_(const Tensor& x, double lambd, Generator* g) {
  check_floating(op::exponential_, x.dtype());
  check(lambd > 0, Code::invalid_argument,
        "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  return fill_random(kExponentialOp, kExponential, x, g, {lambd});
}

Tensor cauchy_(const Tensor& x, double median, double sigma, Generator* g) {
  check_floating(op::cauchy_, x.dtype());
  check(sigma > 0, Code::invalid_argument, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  return fill_made(kCauchyOp, kUniform, x, g, {-0.5, 0.5}, [=](const Tensor& u) {
    return add(mul(tan(mul(u, num(M_PI))), num(sigma)), num(median));
  });
}

Tensor log_normal_(const Tensor& x, double mean, double std, Generator* g) {
  check_floating(op::log_normal_, x.dtype());
  check(std > 0, Code::invalid_argument, "log_normal_ expects std > 0.0, but found std=", std);
  return fill_made(kLogNormalOp, kNormal, x, g, {mean, std},
                   [](const Tensor& z) { return exp(z); });
}

Tensor geometric_(const Tensor& x, double p, Generator* g) {
  check(x.dtype() != Dtype::boolean, Code::dtype, "\"geometric_\" not implemented for 'bool'");
  check(p > 0 && p < 1, Code::invalid_argument,
        "geometric_ expects p to be in (0, 1), but got p=", p);
  return fill_made(kGeometricOp, kUniform, x, g, {0, 1}, [=](const Tensor& u) {
    const Tensor trials = ceil(mul(log1p(neg(u)), num(1 / std::log1p(-p))));
    return clamp_min(trials, num(int64_t{1}));
  });
}

Tensor random_(const Tensor& x, int64_t from, int64_t to, Generator* g) {
  check_bounds(op::random_, x.dtype(), from, to);
  return fill_random(kRandomOp, kRandint, x, g, {}, {.low = from, .high = to});
}

Tensor bernoulli_(const Tensor& x, double p, Generator* g) {
  check(p >= 0 && p <= 1, Code::invalid_argument,
        "bernoulli_ expects p to be in [0, 1], but got p=", p);
  return fill_random(op::bernoulli, kBernoulli, x, g, {p});
}

Tensor bernoulli(const Tensor& p, Generator* g, Into into) {
  check_floating(op::bernoulli, p.dtype());
  check_values(p, "bernoulli expects probabilities in [0, 1]",
               [](const Tensor& x) { return logical_and(ge(x, num(0.0)), le(x, num(1.0))); });
  Call c{op::bernoulli.to(into), {p}};
  const Draw draw = draw_from(op::bernoulli, g, p.device());
  Tensor y = flambeau::empty(p.sizes(), p.dtype(), p.device());
  run_random(op::bernoulli, kBernoulli, y, draw, {0}, {.input = contiguous(detach(p))});
  const Tensor* out = target_of(into);  // may be of any dtype
  if (out && !is_floating(out->dtype())) return to_dtype(y, out->dtype());
  return c.track(std::move(y), DrawBackward{});
}

Tensor normal(const Tensor& mean, const Tensor& std, Generator* g) {
  Call c{op::normal, {mean, std}};
  check_values(std, "normal expects all elements of std >= 0.0",
               [](const Tensor& x) { return ge(x, num(0.0)); });
  const Tensor& shaped = mean.is_wrapped_number() ? std : mean;
  const Dims sizes = broadcast_shapes(mean.sizes(), std.sizes());
  const Dtype dtype = is_floating(shaped.dtype()) ? shaped.dtype() : defaults().dtype;
  Tensor y;
  {
    const GradMode off(false);
    y = add(mul(randn(sizes, g, dtype, shaped.device(), false), std), mean);
  }
  return c.track(std::move(y), DrawBackward{});
}

Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement, Generator* g,
                   Into into) {
  check_floating(op::multinomial, weights.dtype());
  const Tensor* out = target_of(into);
  check(!out || out->dtype() == Dtype::i64, Code::dtype,
        "multinomial expects Long tensor out, got: ", out ? name_of(out->dtype()) : "");
  check(weights.dim() == 1 || weights.dim() == 2, Code::shape, "prob_dist must be 1 or 2 dim, got ",
        weights);
  check(num_samples > 0, Code::invalid_argument, "cannot sample n_sample <= 0 samples");
  const int64_t n = weights.size(-1);
  check(replacement || num_samples <= n, Code::invalid_argument,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  check_values(weights, "probability tensor contains either `inf`, `nan` or element < 0",
               [](const Tensor& x) { return logical_and(ge(x, num(0.0)), isfinite(x)); });
  check_values(weights, "invalid multinomial distribution (sum of probabilities <= 0)",
               [](const Tensor& x) {
                 const int64_t last = -1;
                 return gt(sum(x, {&last, 1}), num(0.0));
               });
  GradMode no_grad(false);
  // The index with the least exponential clock of rate w is drawn with probability w / sum(w);
  // without replacement the next draw is the next clock, so the drawn one stops counting.
  Dims sizes(weights.sizes());
  Tensor rows = unsqueeze(detach(weights), -2);
  const Dims per_draw = weights.dim() == 2 ? Dims{sizes[0], replacement ? num_samples : 1, n}
                                           : Dims{replacement ? num_samples : 1, n};
  const Tensor clock = flambeau::empty(per_draw, weights.dtype(), weights.device());
  run_random(op::multinomial, kExponential, clock, draw_from(op::multinomial, g, weights.device()),
             {1});
  Tensor score = div(expand(rows, per_draw), clock);
  if (replacement) return argmax(score, int64_t{-1}, false);
  score = squeeze(score, Dims{-2});
  sizes.back() = num_samples;
  const Tensor drawn = flambeau::empty(sizes, Dtype::i64, weights.device());
  const Tensor out_of_play = flambeau::empty(Dims{}, score.dtype(), score.device());
  run_cast(out_of_play, num(-1.0));
  for (int64_t i = 0; i < num_samples; ++i) {
    const Tensor best = argmax(score, int64_t{-1}, true);
    copy_(narrow(drawn, -1, i, 1), best);
    if (i + 1 < num_samples)
      run_scatter(op::multinomial, kIndexSet, score, score.dim() - 1, best, out_of_play);
  }
  return drawn;
}

Tensor dropout(const Tensor& x, double p, bool training, Into into) {
  check(p >= 0 && p <= 1, Code::invalid_argument,
        "dropout probability has to be between 0 and 1, but got ", p);
  if (!training || p == 0) return x;
  check_floating(op::dropout, x.dtype());
  const auto dropped = [&](const Tensor& t) {
    return drop(t, draw_from(op::dropout, nullptr, t.device()), p, into);
  };
  // In place the order is there already.
  const bool turned = is_channels_last(x) && !into.destination;
  return turned ? with_channels_last(x, dropped) : dropped(x);
}

}  // namespace flambeau::ops
