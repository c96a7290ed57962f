// Softmax, norms over rows and the fused cross entropy. Exponentials are taken from the row's
// greatest element down, so they never overflow; distances from the mean are formed before they are
// squared.
#include "ops/nn/rows.h"

#include "kernels/math.h"
#include "kernels/row/row_loop.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct Softmax {
  double masked;  // not 0: rows of -infinity become 0, as attention's do
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    const T* x = operand<T>(a, 1, row);
    T* y = operand<T>(a, 0, row);
    V top = r.greatest([&](int64_t i) { return load(x + i); });
    if (masked != 0 && top == -V(__builtin_huge_val())) top = 0;
    const auto scale_of = [&](auto sum) { return masked != 0 && sum == 0 ? V(0) : V(1 / sum); };
    if constexpr (std::is_same_v<T, V>) {  // the output can hold the exponentials meanwhile
      const V scale = scale_of(r.sum([&](int64_t i) { return y[i] = exp(V(load(x + i) - top)); }));
      r.each([&](int64_t i) { y[i] *= scale; });
    } else {
      const V scale = scale_of(r.sum([&](int64_t i) { return exp(V(load(x + i) - top)); }));
      r.each([&](int64_t i) { y[i] = narrow<T>(exp(V(load(x + i) - top)) * scale); });
    }
  }
};

template <class T> struct LogSoftmax {
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    const T* x = operand<T>(a, 1, row);
    T* y = operand<T>(a, 0, row);
    const V top = r.greatest([&](int64_t i) { return load(x + i); });
    const V log_sum = V(log(r.sum([&](int64_t i) { return exp(V(load(x + i) - top)); })));
    r.each([&](int64_t i) { y[i] = narrow<T>((load(x + i) - top) - log_sum); });
  }
};

template <class T> struct SoftmaxBackward {
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    const T *dy = operand<T>(a, 1, row), *y = operand<T>(a, 2, row);
    T* dx = operand<T>(a, 0, row);
    const V dot = V(r.sum([&](int64_t i) { return load(dy + i) * load(y + i); }));
    r.each([&](int64_t i) { dx[i] = narrow<T>((load(dy + i) - dot) * load(y + i)); });
  }
};

template <class T> struct LogSoftmaxBackward {
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    const T *dy = operand<T>(a, 1, row), *y = operand<T>(a, 2, row);
    T* dx = operand<T>(a, 0, row);
    const V sum = V(r.sum([&](int64_t i) { return load(dy + i); }));
    r.each([&](int64_t i) { dx[i] = narrow<T>(load(dy + i) - exp(load(y + i)) * sum); });
  }
};

// ---- norms --------------------------------------------------------------------------------------

template <class T> struct LayerNorm {
  double eps;
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const T *x = operand<T>(a, 3, row), *w = operand<T>(a, 4, row), *b = operand<T>(a, 5, row);
    T* y = operand<T>(a, 0, row);
    const W mean = r.sum([&](int64_t i) { return load(x + i); }) / W(r.n);
    const W variance = r.sum([&](int64_t i) {
      const W d = W(load(x + i)) - mean;
      return d * d;
    }) / W(r.n);
    const W rstd = 1 / sqrt(variance + W(eps));
    r.each([&](int64_t i) {
      const W hat = (W(load(x + i)) - mean) * rstd;
      const W scaled = w ? hat * W(load(w + i)) : hat;
      y[i] = narrow<T>(V(b ? scaled + W(load(b + i)) : scaled));
    });
    if (!r.first()) return;
    if (a.data[1]) *operand<V>(a, 1, row) = V(mean);
    if (a.data[2]) *operand<V>(a, 2, row) = V(rstd);
  }
};

template <class T> struct LayerNormBackward {
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const T *dy = operand<T>(a, 2, row), *x = operand<T>(a, 3, row), *w = operand<T>(a, 6, row);
    T *dx = operand<T>(a, 0, row), *scaled = operand<T>(a, 1, row);
    const W mean = *operand<V>(a, 4, row), rstd = *operand<V>(a, 5, row);
    const auto hat = [&](int64_t i) { return (W(load(x + i)) - mean) * rstd; };
    const auto g = [&](int64_t i) {
      return w ? W(load(dy + i)) * W(load(w + i)) : W(load(dy + i));
    };
    const W along = r.sum([&](int64_t i) { return g(i) * hat(i); }) / W(r.n);
    const W shift = r.sum([&](int64_t i) { return g(i); }) / W(r.n);
    if (a.data[1]) r.each([&](int64_t i) { scaled[i] = narrow<T>(V(W(load(dy + i)) * hat(i))); });
    if (a.data[0])
      r.each([&](int64_t i) { dx[i] = narrow<T>(V(rstd * (g(i) - shift - hat(i) * along))); });
  }
};

template <class T> struct RmsNorm {
  double eps;
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const T *x = operand<T>(a, 2, row), *w = operand<T>(a, 3, row);
    T* y = operand<T>(a, 0, row);
    const W square = r.sum([&](int64_t i) { return W(load(x + i)) * W(load(x + i)); }) / W(r.n);
    const W rstd = 1 / sqrt(square + W(eps));
    r.each([&](int64_t i) {
      const W hat = W(load(x + i)) * rstd;
      y[i] = narrow<T>(V(w ? hat * W(load(w + i)) : hat));
    });
    if (r.first() && a.data[1]) *operand<V>(a, 1, row) = V(rstd);
  }
};

template <class T> struct RmsNormBackward {
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const T *dy = operand<T>(a, 2, row), *x = operand<T>(a, 3, row), *w = operand<T>(a, 5, row);
    T *dx = operand<T>(a, 0, row), *scaled = operand<T>(a, 1, row);
    const W rstd = *operand<V>(a, 4, row);
    const auto hat = [&](int64_t i) { return W(load(x + i)) * rstd; };
    const auto g = [&](int64_t i) {
      return w ? W(load(dy + i)) * W(load(w + i)) : W(load(dy + i));
    };
    const W along = r.sum([&](int64_t i) { return g(i) * hat(i); }) / W(r.n);
    if (a.data[1]) r.each([&](int64_t i) { scaled[i] = narrow<T>(V(W(load(dy + i)) * hat(i))); });
    if (a.data[0]) r.each([&](int64_t i) { dx[i] = narrow<T>(V(rstd * (g(i) - hat(i) * along))); });
  }
};

// ---- cross entropy ------------------------------------------------------------------------------

// loss = (1 - s) w[t] (lse - x[t]) + s / n * sum_c w[c] (lse - x[c])
template <class T> struct CrossEntropy {
  double ignored, smoothing;
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const T* x = operand<T>(a, 3, row);
    const V* weight = operand<V>(a, 5, row);
    const int64_t target = *operand<int64_t>(a, 4, row);
    const bool ignore = target == int64_t(ignored);
    const int64_t t = ignore ? 0 : in_range(a.op, a.report, target, target, 1, r.n);
    const V top = r.greatest([&](int64_t i) { return load(x + i); });
    const W rest = log(r.sum([&](int64_t i) { return exp(V(load(x + i) - top)); })),
            lse = W(top) + rest;
    const W w = weight ? W(weight[t]) : W(1);
    W loss = w * (rest - (W(load(x + t)) - W(top)));
    if (smoothing != 0) {
      const W all =
          r.sum([&](int64_t i) { return (weight ? W(weight[i]) : W(1)) * (lse - W(load(x + i))); });
      loss = W(1 - smoothing) * loss + W(smoothing) / W(r.n) * all;
    }
    if (!r.first()) return;
    *operand<V>(a, 0, row) = ignore ? V(0) : V(loss);
    if (a.data[1]) *operand<V>(a, 1, row) = V(lse);
    if (a.data[2]) *operand<V>(a, 2, row) = ignore ? V(0) : V(w);
  }
};

template <class T> struct CrossEntropyBackward {
  double ignored, smoothing;
  template <class R> FLAM_KERNEL_FN void operator()(R& r, const RowArgs& a, int64_t row) const {
    using V = Compute<T>;
    const T* x = operand<T>(a, 2, row);
    T* dx = operand<T>(a, 0, row);
    const V* weight = operand<V>(a, 5, row);
    const int64_t target = *operand<int64_t>(a, 3, row);
    if (target == int64_t(ignored)) {
      r.each([&](int64_t i) { dx[i] = narrow<T>(V(0)); });
      return;
    }
    const int64_t t = in_range(a.op, a.report, target, target, 1, r.n);
    const V g = *operand<V>(a, 1, row), lse = *operand<V>(a, 4, row);
    const V hit = V(1 - smoothing) * (weight ? weight[t] : V(1)), even = V(smoothing) / V(r.n);
    const V total = a.data[6] ? V(*operand<double>(a, 6, row)) : V(r.n);
    const V at_target = load(x + t);
    if (even == 0) {  // a loop of its own: options inside would keep it from being vectors
      r.each([&](int64_t i) { dx[i] = narrow<T>(g * (hit * exp(V(load(x + i) - lse)))); });
    } else {
      r.each([&](int64_t i) {
        const V p = exp(V(load(x + i) - lse));
        dx[i] = narrow<T>(g * (hit * p + even * (p * total - (weight ? weight[i] : V(1)))));
      });
    }
    r.finished();
    if (!r.first()) return;
    const V p = exp(V(at_target - lse));  // 1 - p has no rounding of its own to lose
    const V smooth = even != 0 ? even * (p * total - (weight ? weight[t] : V(1))) : V(0);
    dx[t] = narrow<T>(g * (hit * (p - 1) + smooth));
  }
};

FLAM_ROW(kSoftmax, Softmax, FloatTypes);
FLAM_ROW(kLogSoftmax, LogSoftmax, FloatTypes);
FLAM_ROW(kSoftmaxBackward, SoftmaxBackward, FloatTypes);
FLAM_ROW(kLogSoftmaxBackward, LogSoftmaxBackward, FloatTypes);
FLAM_ROW(kLayerNorm, LayerNorm, FloatTypes);
FLAM_ROW(kLayerNormBackward, LayerNormBackward, FloatTypes);
FLAM_ROW(kRmsNorm, RmsNorm, FloatTypes);
FLAM_ROW(kRmsNormBackward, RmsNormBackward, FloatTypes);
FLAM_ROW(kCrossEntropy, CrossEntropy, FloatTypes);
FLAM_ROW(kCrossEntropyBackward, CrossEntropyBackward, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
