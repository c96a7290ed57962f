// The elementwise loop around a form of a functor on vectors, `OnLanes<kRough>`, rough for results
// of a half type, which is converted in registers; of doubles `OnWideLanes`. The form says by
// `usual` in which lanes it holds; the others are the functor's own, so that no result depends on a
// number's neighbours.
#pragma once
#include <tuple>

#include "kernels/map/map_batch.h"
#include "kernels/map/map_element.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

template <class F, class... T>
inline constexpr bool kHasLanes =
    (requires { typename F::template OnLanes<true>; } &&
     (std::is_same_v<Compute<T>, float> && ...)) ||
    (requires { typename F::OnWideLanes; } && (std::is_same_v<T, double> && ...));

template <class F, class Out> struct LanesOf {
  using type = typename F::template OnLanes<sizeof(Out) == 2>;
};
template <class F> struct LanesOf<F, double> {
  using type = typename F::OnWideLanes;
};

// The functor's own results, in a loop that the compiler vectorises.
template <class F, class C, class... In>
__attribute__((noinline)) void functor_apart(const F& f, int64_t n, C* __restrict out,
                                             const In*... in) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]...);
}

inline constexpr int64_t kApart = 256;  // at most, and whole batches

// The first n of any numbers: the form's results in its lanes, the functor's in the others.
template <class Out, class... In, class F, class OnLanes, size_t... I>
__attribute__((noinline)) void lanes_apart(std::index_sequence<I...>, const F& f,
                                           const OnLanes& lanes, int64_t n, Out* to,
                                           const In*... from) {
  using C = Compute<Out>;
  using One = Batch<C, 1>;
  constexpr int kVectors = kFewest<Out>, kCount = Batch<Out, kVectors>::kElements;
  alignas(64) C in[sizeof...(In)][kApart], own[kApart];
  uint32_t usual = kAllLanes<C>;
  for (int64_t i = 0; i < n; i += kCount) {
    const int64_t m = std::min<int64_t>(kCount, n - i);
    const std::tuple<Batch<In, kVectors>...> x{
        Batch<In, kVectors>(Padded<In>(from + i, m).begin())...};
    for (int v = 0; v < kVectors; ++v) {
      usual &= lanes.usual(std::get<I>(x).v[v]...);
      (store_vector<C>(in[I] + i + v * kLanes<C>, std::get<I>(x).v[v]), ...);
    }
  }
  const bool all = usual == kAllLanes<C>;
  if (!all) functor_apart<F, C>(f, (n + kCount - 1) / kCount * kCount, own, in[I]...);
  for (int64_t i = 0; i < n; i += kCount) {
    Several<C, kVectors> y;
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i + v * kLanes<C>;
      y.v[v] = lanes(static_cast<const Several<C, 1>&>(One(in[I] + at))...).v[0];
      if (all) continue;
      const Vector<C> other = load_vector(own + at);
      y.v[v] = chosen(lanes.usual(load_vector(in[I] + at)...), y.v[v],
                      chosen(unordered(other), splat(C(__builtin_nanf(""))), other));
    }
    Out stored[kCount];
    Batch<Out, kVectors>(y).store(stored);
    memcpy(to + i, stored, size_t(std::min<int64_t>(kCount, n - i)) * sizeof(Out));
  }
}

// Whether a batch was usual; else nothing is written.
template <class Out, class C, int N, class OnLanes, class... Same>
FLAM_FN bool usual_batch(const OnLanes& lanes, Out* out, const Several<C, N>& x,
                         const Same&... others) {
  uint32_t usual = kAllLanes<C>;
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) usual &= lanes.usual(x.v[v], others.v[v]...);
  if (usual != kAllLanes<C>) return false;
  Batch<Out, N>(lanes(x, others...)).store(out);
  return true;
}

// From element i on, up to the first batch that is not whole or not usual, whose place it returns.
template <int N, class Out, class... In, class OnLanes>
__attribute__((noinline)) int64_t usual_lanes(const OnLanes& lanes, int64_t i, int64_t n, Out* out,
                                              const In*... in) {
  using Numbers = Several<Compute<Out>, N>;
  constexpr int kCount = Batch<Out, N>::kElements;
  while (i + kCount <= n &&
         usual_batch(lanes, out + i, static_cast<const Numbers&>(Batch<In, N>(in + i))...))
    i += kCount;
  return i;
}

template <class Out, class... In, class F, class OnLanes>
void lanes_loop(const F& f, const OnLanes& lanes, int64_t n, Out* out, const In*... in) {
  constexpr int kFew = kFewest<Out>;
  constexpr int64_t kCount = Batch<Out, kFew>::kElements;
  for (int64_t i = 0, most = kCount; i < n;) {  // the more, the longer others follow one another
    const int64_t first = i;
    i = usual_lanes<kMost<Out>, Out, In...>(lanes, i, n, out, in...);
    i = usual_lanes<kFew, Out, In...>(lanes, i, n, out, in...);
    most = i - first > 4 * kCount ? kCount : std::min(2 * most, kApart);
    const int64_t m = std::min(most, n - i);
    if (m) lanes_apart(std::index_sequence_for<In...>{}, f, lanes, m, out + i, (in + i)...);
    i += m;
  }
}

#else

template <class F, class... T> inline constexpr bool kHasLanes = false;
template <class F, class Out> struct LanesOf;  // named only

#endif

}  // namespace flambeau::FLAM_TARGET
