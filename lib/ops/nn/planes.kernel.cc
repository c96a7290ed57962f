// Norms of planes: see planes.h.
#include "ops/nn/planes.h"

#include "kernels/math.h"
#include "kernels/row/row_loop.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct Moments {
  RowParam<Compute<T>> eps;
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const auto x = r.template row_of<const T>(3);
    const auto finish = [&](const auto& mean, const auto& squares) {
      r.template put<V>(0, [&](auto i) { return mean(i); });
      r.template put<V>(1, [&](auto i) { return mean(i) - W(V(mean(i))); });
      r.template put<V>(2, [&](auto i) { return 1 / sqrt(W(squares(i)) / W(r.n) + W(eps)); });
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
};

template <class T> struct PlaneNorm {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    using W = typename R::Wide;
    const auto x = r.template row_of<const T>(1);
    const auto y = r.template row_of<T>(0);
    const auto& given_mean = r.template each_of<V>(2);
    const auto& given_rstd = r.template each_of<V>(3);
    const auto& scale = r.template each_of<V>(4);
    const auto& shift = r.template each_of<V>(5);
    const auto mean = r.value([&](auto i) { return W(given_mean(i)); });
    const auto rstd = r.value([&](auto i) { return W(given_rstd(i)); });
    r.each_standard(x, mean, rstd, [&](auto i, V hat) { y.set(i, V(hat * scale(i) + shift(i))); });
  }
};

template <class T> struct PlaneScale {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto x = r.template row_of<const T>(1);
    const auto y = r.template row_of<T>(0);
    const auto& scale = r.template each_of<V>(2);
    const auto& shift = r.template each_of<V>(3);
    r.each([&](auto i) { y.set(i, V(load(x + i) * scale(i) + shift(i))); });
  }
};

template <class T> struct PlaneSums {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto dy = r.template row_of<const T>(2), x = r.template row_of<const T>(3);
    const auto& mean = r.template each_of<V>(4);
    const auto product = [&](auto i) { return V(load(dy + i) * (load(x + i) - mean(i))); };
    const auto finish = [&](const auto& sum, const auto& dot) {
      r.template put<V>(0, [&](auto i) { return sum(i); });
      r.template put<V>(1, [&](auto i) { return dot(i); });
    };
    if constexpr (kUnrollsRows<R>) {
      const auto both = r.sums([&](auto i) { return load(dy + i); }, product);
      finish(both.first, both.second);
    } else {
      finish(r.sum_of(dy), r.sum(product));
    }
  }
};

template <class T> struct PlaneGradient {
  template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
    using V = Compute<T>;
    const auto dy = r.template row_of<const T>(1), x = r.template row_of<const T>(2);
    const auto dx = r.template row_of<T>(0);
    const auto& mean = r.template each_of<V>(3);
    const auto& k = r.template each_of<V>(4);
    const auto& s = r.template each_of<V>(5);
    const auto& a = r.template each_of<V>(6);
    r.each(
        [&](auto i) { dx.set(i, V(k(i) * load(dy + i) - s(i) - a(i) * (load(x + i) - mean(i)))); });
  }
};

FLAM_ROW(kMoments, Moments, FloatTypes);
FLAM_ROW(kPlaneNorm, PlaneNorm, FloatTypes);
FLAM_ROW(kPlaneScale, PlaneScale, FloatTypes);
FLAM_ROW(kPlaneSums, PlaneSums, FloatTypes);
FLAM_ROW(kPlaneGradient, PlaneGradient, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
