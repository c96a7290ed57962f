// Windows of signal processing, written with operations of the places 0 to n - 1 in f64.
#include <numbers>

#include "base/error.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

// `weights` of the places and of how many make the whole turn; a periodic window is a longer one
// without its end.
template <class F>
Tensor window(const Op& op, int64_t n, bool periodic, Dtype dtype, Device device,
              bool requires_grad, F&& weights) {
  check(n >= 0, Code::invalid_argument, op.name, ": window_length must be non-negative, got ", n);
  const Dtype d = dtype_or_default(dtype);
  check(is_floating(d), Code::dtype, op.name,
        ": window functions expect a floating point dtype, got: ", name_of(d));
  const GradMode off(false);
  Tensor y;
  if (n < 2) {
    y = ones(Dims{n}, d, device);
  } else {
    const Tensor places = arange(num(int64_t{0}), num(n), num(int64_t{1}), Dtype::f64, device);
    y = to_dtype(weights(places, double(periodic ? n : n - 1)), d);
  }
  if (requires_grad) autograd_data(y).requires_grad = true;
  return y;
}

constexpr double kHann[] = {-0.5}, kBlackman[] = {-0.5, 0.08};

// A sum of cosines of 1, 2... turns over the window.
auto cosines(double mean, std::span<const double> factors) {
  return [mean, factors](const Tensor& places, double last) {
    Tensor y = full(places.sizes(), num(mean), Dtype::f64, places.device());
    for (size_t k = 0; k < factors.size(); ++k) {
      const double turn = 2 * std::numbers::pi * double(k + 1) / last;
      y = add(y, mul(cos(mul(places, num(turn))), num(factors[k])));
    }
    return y;
  };
}

Tensor from_minus_one(const Tensor& places, double last) {
  return sub(mul(places, num(2 / last)), num(1.0));
}

}  // namespace

Tensor hann_window(int64_t n, bool periodic, Dtype dtype, Device device, bool requires_grad) {
  return window(op::hann_window, n, periodic, dtype, device, requires_grad, cosines(0.5, kHann));
}

Tensor blackman_window(int64_t n, bool periodic, Dtype dtype, Device device, bool requires_grad) {
  return window(op::blackman_window, n, periodic, dtype, device, requires_grad,
                cosines(0.42, kBlackman));
}

Tensor bartlett_window(int64_t n, bool periodic, Dtype dtype, Device device, bool requires_grad) {
  return window(op::bartlett_window, n, periodic, dtype, device, requires_grad,
                [](const Tensor& places, double last) {
                  return one_minus(abs(from_minus_one(places, last)));
                });
}

Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta, Dtype dtype,
                      Device device, bool requires_grad) {
  const double factor = -beta;
  return window(op::hamming_window, n, periodic, dtype, device, requires_grad,
                cosines(alpha, {&factor, 1}));
}

Tensor kaiser_window(int64_t n, bool periodic, double beta, Dtype dtype, Device device,
                     bool requires_grad) {
  return window(op::kaiser_window, n, periodic, dtype, device, requires_grad,
                [&](const Tensor& places, double last) {
                  const Tensor x = from_minus_one(places, last);
                  const Tensor round = sqrt(clamp_min(one_minus(mul(x, x)), num(0.0)));
                  const Tensor top = full(Dims{}, num(beta), Dtype::f64, places.device());
                  return div(i0(mul(round, num(beta))), i0(top));
                });
}

Tensor cosine_window(int64_t n, bool periodic, Dtype dtype, Device device, bool requires_grad) {
  return window(op::cosine_window, n, periodic, dtype, device, requires_grad,
                [](const Tensor& places, double last) {
                  const double step = std::numbers::pi / (last + 1);
                  return sin(mul(add(places, num(0.5)), num(step)));
                });
}

Tensor general_cosine_window(int64_t n, std::span<const double> coefficients, bool periodic,
                             Dtype dtype, Device device, bool requires_grad) {
  check(!coefficients.empty(), Code::invalid_argument,
        "general_cosine_window: coefficients cannot be empty");
  SmallVector<double, 4> factors;
  for (size_t k = 1; k < coefficients.size(); ++k) {
    factors.push_back(k % 2 ? -coefficients[k] : coefficients[k]);
  }
  return window(op::general_cosine_window, n, periodic, dtype, device, requires_grad,
                cosines(coefficients[0], {factors.data(), factors.size()}));
}

Tensor exponential_window(int64_t n, bool periodic, Dtype dtype, Device device, bool requires_grad,
                          std::optional<double> center, double tau) {
  check(tau > 0, Code::invalid_argument, "exponential_window: tau must be positive, got ", tau);
  check(periodic || !center, Code::invalid_argument,
        "exponential_window: center must be none for symmetric windows");
  return window(op::exponential_window, n, periodic, dtype, device, requires_grad,
                [&](const Tensor& places, double last) {
                  const Tensor away = abs(sub(places, num(center.value_or(last / 2))));
                  return exp(div(away, num(-tau)));
                });
}

Tensor gaussian_window(int64_t n, bool periodic, Dtype dtype, Device device, bool requires_grad,
                       double std) {
  check(std > 0, Code::invalid_argument, "gaussian_window: std must be positive, got ", std);
  return window(op::gaussian_window, n, periodic, dtype, device, requires_grad,
                [&](const Tensor& places, double last) {
                  const Tensor away = div(sub(places, num(last / 2)), num(std));
                  return exp(mul(mul(away, away), num(-0.5)));
                });
}

}  // namespace flambeau::ops
