// The elementwise loop around a functor, for CUDA and for the host, where there is one loop for
// each type it computes in, vectorised by the compiler; map.kernel.cc brings every operand to that
// form. A functor's operator() is a template over its value type; an input of another type than the
// output's is named by `using First = bool`. Its members are doubles, filled in order from
// MapArgs::params. One that has a shorter form for usual operands names it by `using Usual`, of the
// same members, and tells which those are by `is_usual`; `using Rough` names what does for results
// of a half type, and OnLanes a form on vectors that goes before both (map_lanes.h).
#pragma once
#include <cstring>

#include "kernels/map/map.h"
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
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

template <class F> FLAM_FN F functor_from(const double* params) {
  F f{};
  if constexpr (!std::is_empty_v<F>) memcpy(&f, params, sizeof f);
  return f;
}

#if defined(FLAM_DEVICE_SOURCE)

// f(x...) by a constructor: only braces read operands in order, a call's parentheses do not.
template <class F, class... V> struct Applied {
  decltype(std::declval<const F&>()(std::declval<V>()...)) v;
  FLAM_FN Applied(const F& f, V... x) : v(f(x...)) {}
};

template <class F, class Out, class... In>
__global__ void map_kernel(MapArgs a) {
  const F f = functor_from<F>(a.params);
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.numel; i += step) {
    int64_t at[kMapOperands] = {};
    int64_t rest = i;
    for (int d = a.ndim - 1; d >= 0; --d) {
      const int64_t outer = d ? rest / a.size[d] : 0, index = rest - outer * a.size[d];
      for (int o = 0; o < 1 + int(sizeof...(In)); ++o) at[o] += index * a.stride[o][d];
      rest = outer;
    }
    int o = 0;
    auto input = [&](auto tag) {
      using T = typename decltype(tag)::type;
      ++o;
      const char* p = a.data[o] ? a.data[o] + at[o] : a.value[o];
      return load(reinterpret_cast<const T*>(p));
    };
    const Applied<F, Compute<In>...> r{f, input(TypeTag<In>{})...};
    *reinterpret_cast<Out*>(a.data[0] + at[0]) = narrow<Out>(r.v);
  }
}

template <class F, class Out, class... In> void map_entry(void* stream, const void* p) {
  const MapArgs& a = *static_cast<const MapArgs*>(p);
  const int block = 256;
  const int64_t blocks = (a.numel + block - 1) / block;
  FLAM_LAUNCH((map_kernel<F, Out, In...>), dim3(unsigned(blocks < 65535 ? blocks : 65535)),
              dim3(block), 0, stream, a);
}

#else

// n elements, every operand dense and in the type that functors compute in, or as stored.
using MapLoop = void (*)(const double* params, char* const* data, int64_t n);

// Runs `loop` over the launch's index space, operand o in memory being of types[o], and in a block
// if as_stored; without a loop the input is copied.
void map_blocks(const MapArgs& a, const Dtype* types, int operands, MapLoop loop, bool as_stored);

// Around truth that is loaded as such the compiler makes no vectors.
template <class T> FLAM_FN T element_at(const T* in, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const uint8_t*>(in)[i] != 0;
  } else {
    return in[i];
  }
}

template <class F, class Out, class... In, size_t... I>
void dense_loop(const F& f, char* const* data, int64_t n, std::index_sequence<I...>) {
  Out* __restrict out = reinterpret_cast<Out*>(data[0]);
  std::tuple<const In*...> in{reinterpret_cast<const In*>(data[I + 1])...};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = narrow<Out>(f(element_at(std::get<I>(in), i)...));
}

// Shared by all dtypes that compute in the same type.
template <class F, class Out, class... In>
void map_dense(const double* params, char* const* data, int64_t n) {
  dense_loop<F, Out, In...>(functor_from<F>(params), data, n, std::index_sequence_for<In...>{});
}

// In pieces: where all operands of one are F::is_usual, F::Usual has the same numbers sooner.
template <class F, class Out, class... In, size_t... I>
void pieces_loop(const double* params, char* const* data, int64_t n, std::index_sequence<I...>) {
  constexpr int64_t piece = 512;
  const F f = functor_from<F>(params);
  for (int64_t begin = 0; begin < n; begin += piece) {
    char* const at[] = {data[0] + begin * sizeof(Out), data[I + 1] + begin * sizeof(In)...};
    std::tuple<const In*...> in{reinterpret_cast<const In*>(at[I + 1])...};
    const int64_t m = n - begin < piece ? n - begin : piece;
    int32_t others = 0;
    for (int64_t i = 0; i < m; ++i) others |= !f.is_usual(std::get<I>(in)[i]...);
    others ? map_dense<F, Out, In...>(params, at, m)
           : map_dense<typename F::Usual, Out, In...>(params, at, m);
  }
}
template <class F, class Out, class... In>
void map_dense_by_pieces(const double* params, char* const* data, int64_t n) {
  pieces_loop<F, Out, In...>(params, data, n, std::index_sequence_for<In...>{});
}

template <class F, class Out, class... In>
void map_lanes(const double* params, char* const* data, int64_t n) {
  using OnLanes = typename F::template OnLanes<sizeof(Out) == 2>;
  lanes_loop<Out, In...>(functor_from<F>(params), functor_from<OnLanes>(params), data, n,
                         std::index_sequence_for<In...>{});
}

template <class F, class Out, class... In> constexpr MapLoop map_loop_of() {
  if constexpr (kHasLanes<F, Out, In...>) return &map_lanes<F, Out, In...>;
  if constexpr (requires { typename F::Rough; } && sizeof(Out) == 2) {
    return map_loop_of<typename F::Rough, Out, In...>();
  }
  if constexpr (requires { typename F::Copies; }) {
    if constexpr ((std::is_same_v<Compute<Out>, Compute<In>> && ...)) return nullptr;
  }
  if constexpr (requires(F f, Compute<In>... v) { f.is_usual(v...); }) {
    return &map_dense_by_pieces<F, Compute<Out>, Compute<In>...>;
  }
  return &map_dense<F, Compute<Out>, Compute<In>...>;
}

template <class F, class Out, class... In> void map_entry(void*, const void* p) {
  static constexpr Dtype types[] = {dtype_of<Out>, dtype_of<In>...};
  map_blocks(*static_cast<const MapArgs*>(p), types, 1 + int(sizeof...(In)),
             map_loop_of<F, Out, In...>(), kHasLanes<F, Out, In...>);
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
