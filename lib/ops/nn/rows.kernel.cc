// Softmax, norms over rows and the fused cross entropy. Exponentials are taken from the row's
// greatest element down, so they never overflow; distances from the mean are formed before they are
// squared.
#include "ops/nn/rows.h"

#include "kernels/math_below.h"
#include "kernels/row/row_loop.h"

namespace flambeau::FLAM_TARGET {

// Of a sum of exponentials; the host's sums are double for float, too, and need no double's log.
template <class V, class S> FLAM_FN S log_of_sum(S sum) {
  if constexpr (std::is_same_v<V, float> && std::is_same_v<S, double>) return core::log(sum);
  return log(sum);
}

template <class T> struct Softmax {
  static constexpr bool keeps_halves = sizeof(T) == 2;
  RowParam<Compute<T>> masked;  // not 0: rows of -infinity become 0, as attention's do
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto x = r.template row_of<const T>(1);
    const auto y = r.template row_of<T>(0);
    const auto greatest = [&] { return r.greatest([&](auto i) { return load(x + i); }); };
    const auto top_of = [&](const auto& top) {
      return r.value([&](auto i) {
        return masked != 0 && top(i) == -V(__builtin_huge_val()) ? V(0) : top(i);
      });
    };
    const auto scale_of = [&](const auto& sum) {
      return r.value([&](auto i) { return masked != 0 && sum(i) == 0 ? V(0) : V(1 / sum(i)); });
    };
    const auto write = [&](const auto& top, const auto& scale) {
      r.each([&](auto i) { y.set(i, exp_below_for<T>(V(load(x + i) - top(i))) * scale(i)); });
    };
    if constexpr (kPassesRows<R>) {
      const auto both = r.exponentials(x, [](V d) { return exp_below_for<T>(d); });
      write(top_of(both.first), scale_of(both.second));
    } else if constexpr (R::template keeps<T>) {
      const auto top = top_of(greatest());
      const auto e = r.keep(y);
      const auto scale =
          scale_of(r.sum([&](auto i) { return e[i] = exp_below_for<T>(V(load(x + i) - top(i))); }));
      r.each([&](auto i) { y.set(i, V(e[i] * scale(i))); });
    } else {
      const auto top = top_of(greatest());
      write(top,
            scale_of(r.sum([&](auto i) { return exp_below_for<T>(V(load(x + i) - top(i))); })));
    }
  }
};

template <class T> struct LogSoftmax {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto x = r.template row_of<const T>(1);
    const auto y = r.template row_of<T>(0);
    const auto write = [&](const auto& top, const auto& sum) {
      const auto log_sum = r.value([&](auto i) { return V(log_of_sum<V>(sum(i))); });
      r.each([&](auto i) { y.set(i, (load(x + i) - top(i)) - log_sum(i)); });
    };
    if constexpr (kPassesRows<R>) {
      const auto both = r.exponentials(x, [](V d) { return exp_below_for<T>(d); });
      write(both.first, both.second);
    } else {
      const auto top = r.greatest([&](auto i) { return load(x + i); });
      write(top, r.sum([&](auto i) { return exp_below_for<T>(V(load(x + i) - top(i))); }));
    }
  }
};

template <class T> struct SoftmaxBackward {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto dy = r.template row_of<const T>(1), y = r.template row_of<const T>(2);
    const auto dx = r.template row_of<T>(0);
    const auto sum = r.sum([&](auto i) { return load(dy + i) * load(y + i); });
    const auto dot = r.value([&](auto i) { return V(sum(i)); });
    r.each([&](auto i) { dx.set(i, (load(dy + i) - dot(i)) * load(y + i)); });
  }
};

template <class T> struct LogSoftmaxBackward {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto dy = r.template row_of<const T>(1), y = r.template row_of<const T>(2);
    const auto dx = r.template row_of<T>(0);
    const auto sum = r.sum_of(dy);
    const auto all = r.value([&](auto i) { return V(sum(i)); });
    r.each([&](auto i) { dx.set(i, load(dy + i) - exp_below_for<T>(load(y + i)) * all(i)); });
  }
};

// ---- norms --------------------------------------------------------------------------------------

// a * b + c, rounded once where that costs nothing.
template <class V> FLAM_FN V scaled_sum(V a, V b, V c) {
#if defined(__FMA__) && !defined(__CUDACC__)
  if constexpr (std::is_same_v<V, float>) return __builtin_fmaf(a, b, c);
#endif
  return a * b + c;
}

template <class T> struct LayerNorm {
  RowParam<Compute<T>> eps;
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const auto x = r.template row_of<const T>(3);
    const auto finish = [&](const auto& mean, const auto& squares) {
      const auto rstd = r.value([&](auto i) { return 1 / sqrt(W(squares(i)) / W(r.n) + W(eps)); });
      write(r, x, mean, rstd);
      r.template put<V>(1, [&](auto i) { return mean(i); });
      r.template put<V>(2, [&](auto i) { return rstd(i); });
    };
    if constexpr (kPassesRows<R>) {
      const auto of = r.moments(x);
      finish(of.first, of.second);
    } else {
      const auto sum = r.sum_of(x);
      const auto mean = r.value([&](auto i) { return W(sum(i)) / W(r.n); });
      finish(mean, r.squares(x, mean));
    }
  }

 private:
  template <class R, class X, class M, class S>
  FLAM_KERNEL_FN static void write(R& r, const X& x, const M& mean, const S& rstd) {
    using V = Compute<T>;
    const auto w = r.template shared_of<const T>(4), b = r.template shared_of<const T>(5);
    const auto y = r.template row_of<T>(0);
    const auto each = [&](const auto& f) {
      r.each_standard(x, mean, rstd, [&](auto i, V hat) { y.set(i, f(i, hat)); });
    };
    if constexpr (kUnrollsRows<R>) {
      each([&](auto i, V hat) {
        const V scaled = w ? V(hat * load(w + i)) : hat;
        return b ? V(scaled + load(b + i)) : scaled;
      });
    } else if (w && b) {  // loops of their own: options inside would keep them from being vectors
      each([&](auto i, V hat) { return scaled_sum(hat, load(w + i), load(b + i)); });
    } else if (w) {
      each([&](auto i, V hat) { return V(hat * load(w + i)); });
    } else if (b) {
      each([&](auto i, V hat) { return V(hat + load(b + i)); });
    } else {
      each([&](auto, V hat) { return hat; });
    }
  }
};

template <class T> struct RmsNorm {
  RowParam<Compute<T>> eps;
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const auto x = r.template row_of<const T>(2);
    const auto w = r.template shared_of<const T>(3);
    const auto y = r.template row_of<T>(0);
    const auto squares = r.squares(x, r.value([&](auto) { return W(0); }));
    const auto rstd = r.value([&](auto i) { return 1 / sqrt(W(squares(i)) / W(r.n) + W(eps)); });
    const auto hat = [&](auto i) { return V(W(load(x + i)) * rstd(i)); };
    r.each([&](auto i) { y.set(i, w ? V(hat(i) * load(w + i)) : hat(i)); });
    r.template put<V>(1, [&](auto i) { return rstd(i); });
  }
};

// What is there and a result, which is rounded as it would be without; never one operation with
// what made it.
template <class T> FLAM_FN Compute<T> added_to(Compute<T> there, Compute<T> result) {
  const T rounded = narrow<T>(result);
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, double>) return __dadd_rn(there, rounded);
  if constexpr (std::is_same_v<T, float>) return __fadd_rn(there, rounded);
#endif
  return there + load(&rounded);
}

// Of both norms, which differ in what x is measured from. In the elements' own arithmetic: mean and
// rstd are kept in it.
template <class T, bool Centred> struct NormBackward {
  using V = Compute<T>;
  static constexpr bool adds_rows = true;
  static constexpr int first_row = 3, second_row = 4;  // dy and x
  template <class R> FLAM_KERNEL_FN static auto hat_of(const R& r) {
    const auto x = r.template row_of<const T>(4);
    const auto rstd = r.template each_of<V>(5);
    if constexpr (Centred) {
      const auto mean = r.template each_of<V>(7);
      return [=](auto i) { return V((load(x + i) - mean(i)) * rstd(i)); };
    } else {
      return [=](auto i) { return V(load(x + i) * rstd(i)); };
    }
  }
  // What an element adds to the weight's gradient.
  template <class R> FLAM_KERNEL_FN auto added(const R& r) const {
    const auto dy = r.template row_of<const T>(3);
    const auto hat = hat_of(r);
    return [=](auto i) { return V(load(dy + i) * hat(i)); };
  }

  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    const auto dy = r.template row_of<const T>(3);
    const auto w = r.template shared_of<const T>(6);
    if constexpr (kUnrollsRows<R>) {
      write(r, [&](auto i) { return w ? V(load(dy + i) * load(w + i)) : load(dy + i); });
    } else if (w) {
      write(r, [&](auto i) { return V(load(dy + i) * load(w + i)); });
    } else {
      write(r, [&](auto i) { return load(dy + i); });
    }
  }

 private:
  template <class R, class G> FLAM_KERNEL_FN static void write(R& r, const G& g) {
    const auto dx = r.template row_of<T>(0);
    const auto rstd = r.template each_of<V>(5);
    const auto hat = hat_of(r);
    const auto along = [&](auto i) { return V(g(i) * hat(i)); };
    const auto write = [&](const auto& sum, const auto& from_mean) {
      const auto a = r.value([&](auto i) { return V(-V(sum(i) / r.n)); });
      const auto of = [&](auto i) { return V(rstd(i) * scaled_sum(hat(i), a(i), from_mean(i))); };
      if constexpr (kUnrollsRows<R>) {
        const auto before = r.template shared_of<const T>(8);
        if constexpr (R::kPasses) {  // a piece of it more would not fit the registers
          const T* const there = before.p;
          r.each([&](auto i) {
            const V own = of(i);
            if (!there) return dx.set(i, own);
            const T x = load_global(there + i.place.at(i.element));
            dx.set(i, added_to<T>(load(&x), own));
          });
        } else {
          r.each([&](auto i) { dx.set(i, before ? added_to<T>(load(before + i), of(i)) : of(i)); });
        }
      } else {
        r.each([&](auto i) { dx.set(i, of(i)); });
      }
    };
    if constexpr (Centred) {
      const auto sums = r.sums(along, g);
      const auto s = r.value([&](auto i) { return V(sums.second(i) / r.n); });
      write(sums.first, [&](auto i) { return V(g(i) - s(i)); });
    } else {
      write(r.sum(along), g);
    }
  }
};
template <class T> using LayerNormBackward = NormBackward<T, true>;
template <class T> using RmsNormBackward = NormBackward<T, false>;

// ---- cross entropy ------------------------------------------------------------------------------

// loss = (1 - s) w[t] (lse - x[t]) + s / n * sum_c w[c] (lse - x[c])
template <class T> struct CrossEntropy {
  RowParam<int64_t> ignored;
  RowParam<Compute<T>> smoothing;
  static constexpr int first_joined = 0, second_joined = 2;  // loss and share
  FLAM_FN static void put_joined(const RowArgs& a, Compute<T> loss, Compute<T> share) {
    const bool mean = a.data[8];
    if (mean) *reinterpret_cast<Compute<T>*>(a.data[8]) = share;
    *reinterpret_cast<T*>(a.data[7]) = narrow<T>(mean ? loss / share : loss);
  }
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const auto x = r.template row_of<const T>(3);
    const auto weight = r.template shared_of<const V>(5);
    const auto& target = r.template each_of<int64_t>(4);
    const auto ignore = [&](auto i) { return target(i) == int64_t(ignored); };
    const auto t = r.value([&](auto i) {
      return ignore(i) ? int64_t(0) : in_range(r.a.op, r.a.report, target(i), target(i), 1, r.n);
    });
    // Rows of no class have no target that counts, and nothing to read.
    const auto weight_of = [&](auto i, int64_t c) {
      return weight && r.n ? W(*weight.term(i, c)) : W(1);
    };
    const auto at_target = [&](auto i) { return r.n ? load(x.term(i, t(i))) : V(0); };
    const auto finish = [&](const auto& top, const auto& sum) {
      const auto rest = r.value([&](auto i) { return W(log_of_sum<V>(sum(i))); });
      const auto lse = r.value([&](auto i) { return W(top(i)) + rest(i); });
      auto loss = r.value(
          [&](auto i) { return weight_of(i, t(i)) * (rest(i) - (W(at_target(i)) - W(top(i)))); });
      if (smoothing != 0) {
        const auto all = r.sum([&](auto i) {
          return (weight ? W(load(weight + i)) : W(1)) * (lse(i) - W(load(x + i)));
        });
        loss = r.value(
            [&](auto i) { return W(1 - smoothing) * loss(i) + W(smoothing) / W(r.n) * W(all(i)); });
      }
      r.template put<V>(0, [&](auto i) { return ignore(i) ? V(0) : V(loss(i)); });
      r.template put<V>(1, [&](auto i) { return lse(i); });
      r.template put<V>(2, [&](auto i) { return ignore(i) ? V(0) : V(weight_of(i, t(i))); });
    };
    if constexpr (kPassesRows<R>) {
      const auto both = r.exponentials(x, [](V d) { return exp_below(d); });
      finish(both.first, both.second);
    } else {
      const auto top = r.greatest([&](auto i) { return load(x + i); });
      finish(top, r.sum([&](auto i) { return exp_below(V(load(x + i) - top(i))); }));
    }
  }
};

template <class T> struct CrossEntropyBackward {
  RowParam<int64_t> ignored;
  RowParam<Compute<T>> smoothing;
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto x = r.template row_of<const T>(2);
    const auto dx = r.template row_of<T>(0);
    const auto weight = r.template shared_of<const V>(5);
    const auto& target = r.template each_of<int64_t>(3);
    const auto& lse = r.template each_of<V>(4);
    const auto& given = r.template each_of<V>(1);
    const bool one = !r.a.data[1];
    const auto divisor = r.template shared_of<const V>(7);  // a mean's
    const V over = divisor ? *divisor.p : V(1);
    const auto t = r.value([&](auto i) {
      const bool counts = target(i) != int64_t(ignored);
      return counts ? in_range(r.a.op, r.a.report, target(i), target(i), 1, r.n) : int64_t(0);
    });
    const auto g = r.value([&](auto i) {
      return target(i) == int64_t(ignored) ? V(0) : V((one ? V(1) : V(given(i))) / over);
    });
    if (r.n == 0) return;
    const auto hit =
        r.value([&](auto i) { return V(1 - smoothing) * (weight ? *weight.term(i, t(i)) : V(1)); });
    const auto all = r.template shared_of<const V>(6);
    const V even = V(smoothing) / V(r.n), total = all ? *all.p : V(r.n);
    const auto at_target = r.value([&](auto i) { return load(x.term(i, t(i))); });
    const auto none = [&](auto i) { return target(i) == int64_t(ignored); };
    // A mask, loops of their own, copies: a choice, options inside or what others refer to
    // would keep them from being vectors.
    using B = std::conditional_t<sizeof(V) == 8, uint64_t, uint32_t>;
    const auto mask = r.value([&](auto i) { return none(i) ? B(0) : ~B(0); });
    const auto put = [=](auto i, V d) { dx.set(i, bits_as<V>(bits_as<B>(d) & mask(i))); };
    if (even == 0) {
      r.each([=](auto i) { put(i, g(i) * (hit(i) * exp_below(V(load(x + i) - lse(i))))); });
    } else {
      r.each([=](auto i) {
        const V p = exp_below(V(load(x + i) - lse(i)));
        put(i, g(i) * (hit(i) * p + even * (p * total - (weight ? load(weight + i) : V(1)))));
      });
    }
    r.for_rows([&](auto i) {
      if (none(i)) return;
      const V p = exp_below(V(at_target(i) - lse(i)));  // 1 - p has no rounding of its own to lose
      const V own = weight ? *weight.term(i, t(i)) : V(1);
      const V smooth = even != 0 ? even * (p * total - own) : V(0);
      *dx.term(i, t(i)) = narrow<T>(g(i) * (hit(i) * (p - 1) + smooth));
    });
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
