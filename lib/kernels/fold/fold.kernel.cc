// The monoids of the standard reductions. They do arithmetic in the accumulator's type, which is
// wider than the element's, and round once when the result is stored.
#include "kernels/fold/fold_loop.h"
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

template <class T>
using SumType =
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double>, double,
                       std::conditional_t<std::is_same_v<Compute<T>, float>, float, int64_t>>;

template <class A> FLAM_FN A plus_product(A a, A x, A y) { return a + x * y; }
template <class A> FLAM_FN A magnitude(A x) { return x < 0 ? -x : x; }

template <class T> struct AddingTo {  // the base of all that adds up
  using Acc = SumType<T>;
  static constexpr bool centred = false;
  FLAM_FN Acc zero() const { return Acc(0); }
  template <class A> FLAM_FN A join(A a, A b) const { return a + b; }
  FLAM_FN Acc finish(Acc a, double, int64_t) const { return a; }
};

template <class T> struct SumOf : AddingTo<T> {
  using typename AddingTo<T>::Acc;
  template <class A> FLAM_FN A fold(A a, A x, A) const { return a + x; }
  FLAM_FN Acc step(Acc a, Compute<T> x, double, int64_t) const { return a + Acc(x); }
};

template <class T> struct MeanOf : SumOf<T> {
  using typename AddingTo<T>::Acc;
  FLAM_FN Acc finish(Acc a, double, int64_t count) const { return a / Acc(count); }
};

template <class T> struct TruthOf {
  using Acc = int64_t;
  static constexpr bool centred = false;
  double form = kCountTrue;
  FLAM_FN Acc zero() const { return 0; }
  FLAM_FN Acc join(Acc a, Acc b) const { return a + b; }
  FLAM_FN Acc step(Acc a, Compute<T> x, double, int64_t) const { return a + (x != Compute<T>(0)); }
  FLAM_FN Acc finish(Acc a, double, int64_t count) const {
    return form == kCountTrue ? a : form == kAnyTrue ? a != 0 : a == count;
  }
};

template <class T> struct ProdOf {
  using Acc = SumType<T>;
  static constexpr bool centred = false;
  FLAM_FN Acc zero() const { return Acc(1); }
  template <class A> FLAM_FN A fold(A a, A x, A) const { return a * x; }
  template <class A> FLAM_FN A join(A a, A b) const { return a * b; }
  FLAM_FN Acc step(Acc a, Compute<T> x, double, int64_t) const { return a * Acc(x); }
  FLAM_FN Acc finish(Acc a, double, int64_t) const { return a; }
};

template <class T> struct SumSquaresOf : AddingTo<T> {
  using typename AddingTo<T>::Acc;
  double root = 0;
  template <class A> FLAM_FN A fold(A a, A x, A) const { return plus_product(a, x, x); }
  FLAM_FN Acc step(Acc a, Compute<T> x, double, int64_t) const { return a + Acc(x) * Acc(x); }
  FLAM_FN Acc finish(Acc a, double, int64_t) const { return root != 0 ? sqrt(a) : a; }
};

template <class T> struct Norm1Of : AddingTo<T> {
  using typename AddingTo<T>::Acc;
  template <class A> FLAM_FN A fold(A a, A x, A) const { return a + magnitude(x); }
  FLAM_FN Acc step(Acc a, Compute<T> x, double, int64_t) const { return a + Acc(magnitude(x)); }
};

template <class T> struct NormPOf : AddingTo<T> {
  using typename AddingTo<T>::Acc;
  double p = 2;
  FLAM_FN Acc step(Acc a, Compute<T> x, double, int64_t) const {
    return a + Acc(pow(Compute<T>(x < 0 ? -x : x), Compute<T>(p)));
  }
  FLAM_FN Acc finish(Acc a, double, int64_t) const { return Acc(::pow(double(a), 1 / p)); }
};

// Squared distances from the mean, over count - correction; optionally the root of it.
template <class T> struct CentredSquaresOf : AddingTo<T> {
  using Acc = double;
  static constexpr bool centred = true;
  double correction = 1, root = 0;
  FLAM_FN Acc zero() const { return 0; }
  template <class A> FLAM_FN A fold(A a, A x, A mean) const {
    const A d = x - mean;
    return plus_product(a, d, d);
  }
  FLAM_FN Acc step(Acc a, Compute<T> x, double mean, int64_t) const {
    return fold(a, double(x), mean);
  }
  FLAM_FN Acc finish(Acc a, double, int64_t count) const {
    const double divisor = double(count) - correction, v = a / (divisor > 0 ? divisor : 0);
    return root != 0 ? sqrt(v) : v;
  }
};

template <class T> struct CentredExpOf : AddingTo<T> {
  using Acc = double;
  static constexpr bool centred = true;
  FLAM_FN static double finite(double top) { return top - top == 0 || top != top ? top : 0; }
  FLAM_FN Acc zero() const { return 0; }
  FLAM_FN Acc step(Acc a, Compute<T> x, double top, int64_t) const {
    return a + Acc(exp(Compute<T>(x - Compute<T>(finite(top)))));
  }
  FLAM_FN Acc finish(Acc a, double top, int64_t) const { return ::log(a) + finite(top); }
};

// ---- order --------------------------------------------------------------------------------------

// The element that every other one of its type replaces.
template <class V, bool Greatest> FLAM_FN constexpr V weakest() {
  if constexpr (std::is_same_v<V, bool>) {
    return !Greatest;
  } else if constexpr (std::is_floating_point_v<V>) {
    return Greatest ? -V(__builtin_huge_val()) : V(__builtin_huge_val());
  } else {
    constexpr V low = std::is_signed_v<V> ? V(V(1) << (8 * sizeof(V) - 1)) : V(0);
    return Greatest ? low : V(~low);
  }
}

template <class T, bool Greatest> struct ExtremeOf {
  using Acc = Compute<T>;
  static constexpr bool centred = false;
  FLAM_FN Acc zero() const { return weakest<Acc, Greatest>(); }
  FLAM_FN Acc step(Acc a, Acc x, double, int64_t) const { return join(a, x); }
  template <class A> FLAM_FN static A joined(A a, A x) {
    const A stronger = Greatest ? (a < x ? x : a) : (x < a ? x : a);
    return x != x ? x : stronger;
  }
  FLAM_FN Acc join(Acc a, Acc x) const { return joined(a, x); }
#if !defined(FLAM_DEVICE_SOURCE)
  FLAM_FN Vector<float> fold(Vector<float> a, Vector<float> x, Vector<float>) const {
    return joined(a, x);
  }
#endif
  FLAM_FN Acc finish(Acc a, double, int64_t) const { return a; }
};
template <class T> using MaxOf = ExtremeOf<T, true>;
template <class T> using MinOf = ExtremeOf<T, false>;

template <class V> struct Placed {
  V value;
  int64_t at;
};

template <class T, bool Greatest> struct PlacedExtremeOf {
  using V = Compute<T>;
  using Acc = Placed<V>;
  using Value = ExtremeOf<T, Greatest>;  // the same without a place
  static constexpr bool centred = false;
  static constexpr int64_t nowhere = INT64_MAX;
  FLAM_FN Acc zero() const { return {weakest<V, Greatest>(), nowhere}; }
  FLAM_FN Acc step(Acc a, V x, double, int64_t at) const { return join(a, Acc{x, at}); }
  FLAM_FN Acc join(Acc a, Acc b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool stronger = Greatest ? a.value < b.value : b.value < a.value;
    const bool equal = a.value == b.value || (a_nan && b_nan);
    const bool take = equal ? b.at < a.at : b_nan || (stronger && !a_nan);
    return take ? b : a;
  }
  FLAM_FN bool same(V x, V y) const { return (x == y) | ((x != x) & (y != y)); }
  FLAM_FN bool surpasses(V later, Acc a) const {
    if (a.at == nowhere) return true;
    const bool stronger = Greatest ? a.value < later : later < a.value;
    return a.value == a.value && (stronger || later != later);
  }
  FLAM_FN V finish(Acc a, double, int64_t) const { return a.value; }
  FLAM_FN int64_t position(Acc a) const { return a.at; }
};
template <class T> using MaxIndexOf = PlacedExtremeOf<T, true>;
template <class T> using MinIndexOf = PlacedExtremeOf<T, false>;

template <class T, bool Greatest> struct NormExtremeOf : ExtremeOf<T, Greatest> {
  using Acc = Compute<T>;
  FLAM_FN Acc zero() const { return Greatest ? Acc(0) : weakest<Acc, false>(); }
  FLAM_FN Acc step(Acc a, Acc x, double, int64_t) const { return this->join(a, x < 0 ? -x : x); }
#if !defined(FLAM_DEVICE_SOURCE)
  FLAM_FN Vector<float> fold(Vector<float> a, Vector<float> x, Vector<float>) const {
    return this->joined(a, magnitude(x));
  }
#endif
};
template <class T> using NormMaxOf = NormExtremeOf<T, true>;
template <class T> using NormMinOf = NormExtremeOf<T, false>;

FLAM_FOLD(kSum, SumOf, AllTypes);
FLAM_FOLD(kProd, ProdOf, AllTypes);
FLAM_FOLD(kTruth, TruthOf, AllTypes);
FLAM_FOLD(kMean, MeanOf, FloatTypes);
FLAM_FOLD(kSumSquares, SumSquaresOf, FloatTypes);
FLAM_FOLD(kNorm1, Norm1Of, FloatTypes);
FLAM_FOLD(kNormMax, NormMaxOf, FloatTypes);
FLAM_FOLD(kNormMin, NormMinOf, FloatTypes);
FLAM_FOLD(kNormP, NormPOf, FloatTypes);
FLAM_FOLD(kMax, MaxOf, AllTypes);
FLAM_FOLD(kMin, MinOf, AllTypes);
FLAM_FOLD(kMaxIndex, MaxIndexOf, AllTypes);
FLAM_FOLD(kMinIndex, MinIndexOf, AllTypes);
FLAM_FOLD(kCentredSquares, CentredSquaresOf, FloatTypes);
FLAM_FOLD(kCentredExp, CentredExpOf, FloatTypes);

}  // namespace flambeau::FLAM_TARGET
