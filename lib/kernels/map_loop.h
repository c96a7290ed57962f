// The elementwise loop around a functor, for the host (vectorised by the compiler) and for CUDA.
// A functor's operator() is a template over its value type; an input of another type than the
// output's is named by `using First = bool`. Its members are doubles, filled in order from
// MapArgs::params.
#pragma once
#include <cstring>

#include "kernels/map.h"
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#else
#include "base/thread_pool.h"
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

// n elements of one inner run. `Dense` bit i: input i is dense; otherwise, where Scalars, it
// repeats.
template <class F, class Out, class... In> struct InnerLoop {
  static constexpr int kInputs = sizeof...(In);

  template <unsigned Dense, size_t... I>
  static void dense(const F& f, char* const* data, int64_t n, std::index_sequence<I...>) {
    Out* __restrict out = reinterpret_cast<Out*>(data[0]);
    std::tuple<const In*...> in{reinterpret_cast<const In*>(data[I + 1])...};
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      out[i] = narrow<Out>(f(load(std::get<I>(in) + (Dense >> I & 1 ? i : 0))...));
    }
  }

  template <size_t... I>
  static void strided(const F& f, char* const* data, const int64_t* stride, int64_t n,
                      std::index_sequence<I...>) {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(data[0] + i * stride[0]) =
          narrow<Out>(f(load(reinterpret_cast<const In*>(data[I + 1] + i * stride[I + 1]))...));
    }
  }

  static void run(const F& f, char* const* data, const int64_t* stride, int64_t n) {
    using Indices = std::index_sequence_for<In...>;
    constexpr size_t bytes[] = {sizeof(Out), sizeof(In)..., 0};
    constexpr unsigned all = (1u << kInputs) - 1;
    unsigned dense_inputs = 0, repeated = 0;
    for (int i = 0; i < kInputs; ++i) {
      dense_inputs |= unsigned(stride[i + 1] == int64_t(bytes[i + 1])) << i;
      repeated |= unsigned(stride[i + 1] == 0) << i;
    }
    if (stride[0] != int64_t(sizeof(Out)) || (dense_inputs | repeated) != all ||
        !dense_any(dense_inputs, f, data, n, std::make_integer_sequence<unsigned, all + 1>{})) {
      strided(f, data, stride, n, Indices{});
    }
  }

  // The loop whose inputs are dense or repeated as `mask` says; four inputs only have the dense
  // one.
  template <unsigned... Dense>
  static bool dense_any(unsigned mask, const F& f, char* const* data, int64_t n,
                        std::integer_sequence<unsigned, Dense...>) {
    constexpr unsigned all = (1u << kInputs) - 1;
    auto try_one = [&](auto dense_inputs) {
      constexpr unsigned d = decltype(dense_inputs)::value;
      if constexpr (kInputs <= 3 || d == all) {
        if (mask != d) return false;
        dense<d>(f, data, n, std::index_sequence_for<In...>{});
        return true;
      } else {
        return false;
      }
    };
    return (try_one(std::integral_constant<unsigned, Dense>{}) || ...);
  }
};

template <class F, class Out, class... In> void map_entry(void*, const void* p) {
  constexpr int operands = 1 + int(sizeof...(In));
  const MapArgs& a = *static_cast<const MapArgs*>(p);
  const F f = functor_from<F>(a.params);
  const int last = a.ndim - 1;
  const int64_t inner = a.ndim ? a.size[last] : 1;
  char* base[operands];
  for (int o = 0; o < operands; ++o) {
    base[o] = a.data[o] ? a.data[o] : const_cast<char*>(a.value[o]);
  }
  int64_t stride[operands];
  for (int o = 0; o < operands; ++o) stride[o] = a.ndim && a.data[o] ? a.stride[o][last] : 0;
  constexpr int64_t grain = 16384;

  // Elements [begin, end) of the flat index space, inner run by inner run.
  parallel_for(a.numel, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      char* data[operands];
      int64_t rest = begin / inner, at = begin % inner;
      for (int o = 0; o < operands; ++o) data[o] = base[o] + at * stride[o];
      for (int d = last - 1; d >= 0 && rest; --d) {
        const int64_t index = rest % a.size[d];
        rest /= a.size[d];
        for (int o = 0; o < operands; ++o) {
          if (a.data[o]) data[o] += index * a.stride[o][d];
        }
      }
      const int64_t n = std::min(inner - at, end - begin);
      InnerLoop<F, Out, In...>::run(f, data, stride, n);
      begin += n;
    }
  });
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
