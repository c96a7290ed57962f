// What gradients are written with. An elementwise op of one operand needs only a formula on (dy, x)
// or (dy, y):
//
//   from_input<"SinBackward0">(op::sin, kSin, x,
//                              [](auto& dy, auto& x) { return mul(dy, cos(x)); });
//
// Formulas are ops, so that second derivatives follow. Where one kernel does the same in a single
// pass, fused() takes it, under the kernel's name, unless somebody differentiates the gradient
// again.
#pragma once
#include <cmath>

#include "base/error.h"
#include "ops/call.h"
#include "ops/ops.h"
#include "tensor/defaults.h"
#include "tensor/order.h"

namespace flambeau::ops {

inline Tensor num(double v) { return wrapped_number(v); }
inline Tensor num(int64_t v) { return wrapped_number(v); }

inline Tensor zeros_as(const Tensor& x) { return zeros(x.sizes(), x.dtype(), x.device()); }

// A factor of integers is one.
inline void check_factor(const char* name, double factor, Dtype dtype) {
  check(is_differentiable(dtype) || factor == std::floor(factor), Code::dtype,
        "For integral input tensors, argument ", name, " must not be a floating point number.");
}

// Converts operands whose promoted dtype is neither floating point nor complex to the default
// dtype, as torch's unary functions do.
inline void float_operands(Call& c) {
  const Dtype dtype = c.promoted();
  c.convert_all(is_differentiable(dtype) ? dtype : defaults().dtype);
}

// f of x with its channels as the last dimension, which is put back in the result.
template <class F> Tensor with_channels_last(const Tensor& x, F&& f) {
  Dims to, from;
  for (int64_t d = 0; d < x.dim(); ++d) {
    to.push_back(d == 0 ? 0 : d + 1 == x.dim() ? 1 : d + 1);
    from.push_back(d == 0 ? 0 : d == 1 ? x.dim() - 1 : d - 1);
  }
  return permute(f(permute(x, to)), from);
}

// y with its channels last where that is said, as torch's results are where their operand is so.
inline Tensor in_order(const Tensor& y, bool channels_last) {
  return channels_last ? with_channels_last(y, [](const Tensor& t) { return contiguous(t); }) : y;
}

inline Tensor one_minus(const Tensor& x) { return rsub(x, num(int64_t{1})); }
inline Tensor one_plus(const Tensor& x) { return add(x, num(int64_t{1})); }

// x where the mask holds, else 0: also where x is not finite.
inline Tensor keep_where(const Tensor& mask, const Tensor& x) {
  return where(mask, x, num(int64_t{0}));
}
inline Tensor drop_where(const Tensor& mask, const Tensor& x) {
  return where(mask, num(int64_t{0}), x);
}

template <class F> Tensor fused(const Kernel& k, std::initializer_list<Operand> xs,
                                MapParams params, F&& formula) {
  if (modes.grad) return formula();
  const Op op{k.name};
  Call c{op, xs};
  return c.map(k, xs, params);
}

// Operand i of an op made of others, whose in-place form would overwrite what they saved.
inline Tensor kept_operand(const Call& c, size_t i) {
  return c.needs_grad() && !c[i].is_wrapped_number() ? clone(c[i]) : c[i];
}

// A string as a template argument: a gradient's name.
template <size_t N> struct Name {
  char text[N];
  constexpr Name(const char (&s)[N]) { std::copy(s, s + N, text); }  // NOLINT: implicit by design
};

template <Name N, class F> struct OfInput {
  Saved x;
  [[no_unique_address]] F formula;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const { return {formula(dy, x.get())}; }
};

template <Name N, class F> struct OfResult {
  Saved y;
  [[no_unique_address]] F formula;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const { return {formula(dy, y.get())}; }
};

template <Name N> struct ZeroBackward {
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const { return {wanted(0) ? zeros_as(dy) : Tensor()}; }
};

enum class Domain : int8_t { any, floating };  // floating: other operands are converted

template <Name N, class F>
Tensor from_input(Form op, const Kernel& k, const Tensor& x, F formula, MapParams params = {},
                  Domain domain = Domain::floating) {
  Call c{op, {x}};
  if (domain == Domain::floating) float_operands(c);
  OfInput<N, F> gradient{c.save(c[0]), formula};  // before an in-place form overwrites the operand
  return c.track(c.map(k, {c[0]}, params), std::move(gradient));
}

template <Name N, class F> Tensor from_result(Form op, const Kernel& k, const Tensor& x, F formula,
                                              MapParams params = {},
                                              Domain domain = Domain::floating) {
  Call c{op, {x}};
  if (domain == Domain::floating) float_operands(c);
  Tensor y = c.map(k, {c[0]}, params);
  OfResult<N, F> gradient{c.save_output(y), formula};
  return c.track(std::move(y), std::move(gradient));
}

// A linear op made of others, forward(), and the way back: it saves nothing, and so serves any
// number of passes.
template <Name N, class F> struct Adjoint {
  F back;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const { return {back(dy)}; }
};
template <Name N, class Forward, class F>
Tensor linear(const Op& op, const Tensor& x, Forward&& forward, F back) {
  Call c{op, {x}};
  Tensor y;
  {
    const GradMode off(false);
    y = forward(c[0]);
  }
  return c.track(std::move(y), Adjoint<N, F>{back});
}

// k times x.
template <Name N = "MulBackward0"> Tensor scaled(const Tensor& x, double k) {
  return linear<N>(
      op::mul, x, [k](const Tensor& t) { return mul(t, num(k)); },
      [k](const Tensor& dy) { return scaled<N>(dy, k); });
}

// An op whose gradient is 0 everywhere it exists.
template <Name N>
Tensor step_function(Form op, const Kernel& k, const Tensor& x, MapParams params = {}) {
  Call c{op, {x}};
  return c.track(c.map(k, {c[0]}, params), ZeroBackward<N>{});
}

}  // namespace flambeau::ops
