// The elementwise loop around a functor, for CUDA and for the host, where there is one loop for
// each type it computes in, vectorised by the compiler; map.kernel.cc brings every operand to that
// form. A functor's operator() is a template over its value type; an input of another type than the
// output's is named by `using First = bool`. Its members are doubles, filled in order from
// MapArgs::params. One that has a shorter form for usual operands names it by `using Usual`, of the
// same members, and tells which those are by `is_usual`; `using Rough` names what does for results
// of a half type, and OnLanes a form on vectors that goes before both (map_lanes.h). One of an
// instruction or two has loops of its own for half types by `using Brief`, in which numbers are
// widened and rounded in registers; one that only changes a sign names by `using OnBits` what that
// is to a half type's word.
#pragma once
#include "kernels/map/map.h"
#include "kernels/map/map_functor.h"
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/map/map_device.h"
#else
#include "kernels/map/map_lanes.h"
#endif

namespace flambeau::FLAM_TARGET {

template <class F, class T> struct FirstOf {
  using type = T;
};
template <class F, class T>
  requires requires { typename F::First; }
struct FirstOf<F, T> {
  using type = typename F::First;
};

#if !defined(FLAM_DEVICE_SOURCE)

// Rows of n elements, every operand dense along them and in the type that functors compute in; its
// rows begin step[o] bytes apart. What several rows share stands still.
using MapLoop = void (*)(const double* params, char* const* data, const int64_t* step, int64_t rows,
                         int64_t n);

// Runs `loop` over the launch's index space, operand o in memory being of types[o], and in the loop
// where it takes `stored` ones; without a loop the input is copied.
void map_blocks(const MapArgs& a, const Dtype* types, int operands, MapLoop loop, bool stored);

// Around truth that is loaded as such the compiler makes no vectors.
template <class T> FLAM_FN Compute<T> element_at(const T* in, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const uint8_t*>(in)[i] != 0;
  } else {
    return load(in + i);
  }
}

// One row, shared by all dtypes that compute in the same type. Not part of the loop over rows,
// whose places would take registers from the functor's constants.
template <class F, class Out, class... In>
__attribute__((noinline)) void map_dense(const double* params, int64_t n, Out* __restrict out,
                                         const In*... in) {
  const F f = functor_from<F>(params);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = narrow<Out>(f(element_at(in, i)...));
}

// In pieces: where all operands of one are F::is_usual, F::Usual has the same numbers sooner.
template <class F, class Out, class... In>
__attribute__((noinline)) void map_dense_by_pieces(const double* params, int64_t n, Out* out,
                                                   const In*... in) {
  constexpr int64_t piece = 512;
  const F f = functor_from<F>(params);
  for (int64_t begin = 0; begin < n; begin += piece) {
    const int64_t end = n - begin < piece ? n : begin + piece;
    int32_t others = 0;
    for (int64_t i = begin; i < end; ++i) others |= !f.is_usual(in[i]...);
    others ? map_dense<F, Out, In...>(params, end - begin, out + begin, (in + begin)...)
           : map_dense<typename F::Usual, Out, In...>(params, end - begin, out + begin,
                                                      (in + begin)...);
  }
}

template <auto Row, class Out, class... In>
void map_rows(const double* params, char* const* data, const int64_t* step, int64_t rows,
              int64_t n) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    for (int64_t r = 0; r < rows; ++r)
      Row(params, n, reinterpret_cast<Out*>(data[0] + r * step[0]),
          reinterpret_cast<const In*>(data[I + 1] + r * step[I + 1])...);
  }(std::index_sequence_for<In...>{});
}

template <class F, class Out, class... In>
void map_lanes(const double* params, int64_t n, Out* out, const In*... in) {
  using OnLanes = typename LanesOf<F, Out>::type;
  lanes_loop<Out, In...>(functor_from<F>(params), functor_from<OnLanes>(params), n, out, in...);
}

template <class F, class... In>
__attribute__((noinline)) void map_halves(const double* params, int64_t n, Half* out,
                                          const In*... in) {
  if constexpr (kHalvesInRegisters) halves_loop(functor_from<F>(params), n, out, in...);
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class F, class... T>
inline constexpr bool kOnBits = requires { typename F::OnBits; } && (kIsHalf<T> && ...);
template <class F, class T, class... Same>
inline constexpr bool kIsBrief =
    requires { typename F::Brief; } && (std::is_same_v<T, Same> && ...) &&
    (std::is_same_v<T, BFloat16> || (std::is_same_v<T, Half> && kHalvesInRegisters));
template <class F, class... T>
inline constexpr bool kStored = kOnBits<F, T...> || kHasLanes<F, T...> || kIsBrief<F, T...>;

template <class F, class Out, class... In> constexpr MapLoop brief_loop_of() {
  if constexpr (std::is_same_v<Out, Half>) {
    return &map_rows<&map_halves<F, In...>, Out, In...>;
  } else {
    return &map_rows<&map_dense<F, Out, In...>, Out, In...>;
  }
}

template <class T> using Word = uint16_t;
template <class F, class... In> constexpr MapLoop word_loop_of() {
  return &map_rows<&map_dense<F, uint16_t, Word<In>...>, uint16_t, Word<In>...>;
}

template <class F, class Out, class... In> constexpr MapLoop map_loop_of() {
  constexpr bool is_copy =
      requires { typename F::Copies; } && (std::is_same_v<Compute<Out>, Compute<In>> && ...);
  if constexpr (kOnBits<F, Out, In...>) {
    return word_loop_of<typename F::OnBits, In...>();
  } else if constexpr (kHasLanes<F, Out, In...>) {
    return &map_rows<&map_lanes<F, Out, In...>, Out, In...>;
  } else if constexpr (kIsBrief<F, Out, In...>) {
    return brief_loop_of<F, Out, In...>();
  } else if constexpr (requires { typename F::Rough; } && sizeof(Out) == 2) {
    return map_loop_of<typename F::Rough, Out, In...>();
  } else if constexpr (is_copy) {
    return nullptr;
  } else if constexpr (requires(F f, Compute<In>... v) { f.is_usual(v...); }) {
    return &map_rows<&map_dense_by_pieces<F, Compute<Out>, Compute<In>...>, Compute<Out>,
                     Compute<In>...>;
  } else {
    return &map_rows<&map_dense<F, Compute<Out>, Compute<In>...>, Compute<Out>, Compute<In>...>;
  }
}

template <class F, class Out, class... In> void map_entry(void*, const void* p) {
  static constexpr Dtype types[] = {dtype_of<Out>, dtype_of<In>...};
  map_blocks(*static_cast<const MapArgs*>(p), types, 1 + int(sizeof...(In)),
             map_loop_of<F, Out, In...>(), kStored<F, Out, In...>);
}

#endif

// ---- registration
// ----------------------------------------------------------------------------------------

template <class F, class T> constexpr KernelFn map_cell() {
  using V = Compute<T>;
  using First = typename FirstOf<F, T>::type;
  auto out = [](auto result) {
    if constexpr (std::is_same_v<decltype(result), bool>) {
      return TypeTag<bool>{};
    } else {
      return TypeTag<T>{};
    }
  };
  if constexpr (std::is_invocable_v<F, V>) {
    using Out = typename decltype(out(std::declval<F>()(V{})))::type;
    return &map_entry<F, Out, T>;
  } else if constexpr (std::is_invocable_v<F, V, V>) {
    using Out = typename decltype(out(std::declval<F>()(Compute<First>{}, V{})))::type;
    return &map_entry<F, Out, First, T>;
  } else if constexpr (std::is_invocable_v<F, V, V, V>) {
    using Out = typename decltype(out(std::declval<F>()(Compute<First>{}, V{}, V{})))::type;
    return &map_entry<F, Out, First, T, T>;
  } else {
    return &map_entry<F, T, First, T, T, T>;
  }
}

template <class F, class... T> bool register_map(Kernel& k, TypeList<T...>) {
  static_assert(std::is_empty_v<F> || (sizeof(F) % sizeof(double) == 0 && sizeof(F) <= 32));
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, map_cell<F, T>()), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET

#define FLAM_MAP(kernel, F, Types) \
  [[maybe_unused]] static const bool registered_##kernel = register_map<F>(kernel, Types{})
