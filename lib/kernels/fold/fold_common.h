// What the host and the CUDA loops of reductions share: a monoid from its parameters, the address
// of an output's first term, and the stores, whose dtype is known only at run time.
#pragma once
#include <cstring>

#include "kernels/fold/fold.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class M> FLAM_FN M monoid_from(const double* params) {
  M m{};
  if constexpr (!std::is_empty_v<M>) memcpy(static_cast<void*>(&m), params, sizeof m);
  return m;
}

inline constexpr int64_t kFoldGrain = 32768;  // terms that are worth a thread of the host

struct FoldPlace {
  int64_t in, out;  // of one output: bytes into the input, elements into the outputs
};

FLAM_FN FoldPlace fold_place(const FoldArgs& a, int64_t output) {
  FoldPlace p{0, 0};
  for (int d = a.kept - 1; d >= 0; --d) {
    const int64_t outer = d ? output / a.kept_size[d] : 0, i = output - outer * a.kept_size[d];
    p.in += i * a.kept_in[d];
    p.out += i * a.kept_out[d];
    output = outer;
  }
  return p;
}

FLAM_FN int64_t fold_offset(const FoldArgs& a, int64_t term) {
  int64_t at = 0;
  for (int d = a.reduced - 1; d >= 0; --d) {
    const int64_t outer = d ? term / a.reduced_size[d] : 0;
    at += (term - outer * a.reduced_size[d]) * a.reduced_in[d];
    term = outer;
  }
  return at;
}

template <class V> FLAM_FN void store_as(Dtype dtype, char* out, int64_t i, V v) {
  switch (dtype) {
#define FLAM_X(e, T, name)                       \
  case Dtype::e:                                 \
    reinterpret_cast<T*>(out)[i] = narrow<T>(v); \
    break;
    FLAM_DTYPES(FLAM_X)
#undef FLAM_X
    default:
      break;
  }
}

// v[k] into out[i + k * step].
template <class V>
FLAM_FN_APART void store_many_as(Dtype dtype, char* out, int64_t i, int64_t step, const V* v,
                                 int n) {
  const auto store = [&](auto* to) {
    using T = std::remove_reference_t<decltype(*to)>;
    if (step == 1) {
      for (int k = 0; k < n; ++k) to[k] = narrow<T>(v[k]);
    } else {
      for (int k = 0; k < n; ++k) to[k * step] = narrow<T>(v[k]);
    }
  };
  switch (dtype) {
#define FLAM_X(e, T, name)                \
  case Dtype::e:                          \
    store(reinterpret_cast<T*>(out) + i); \
    break;
    FLAM_DTYPES(FLAM_X)
#undef FLAM_X
    default:
      break;
  }
}

template <class M>
FLAM_FN void fold_emit(const M& m, const FoldArgs& a, int64_t out, typename M::Acc acc) {
  if (a.out)
    store_as(a.out_dtype, a.out, out, m.finish(acc, a.centre ? a.centre[out] : 0, a.count));
  if constexpr (requires { m.position(acc); }) {
    if (a.index) a.index[out] = m.position(acc);
  }
}

// The same for neighbours: n <= kFoldColumns.
template <class M>
FLAM_FN void fold_emit_many(const M& m, const FoldArgs& a, int64_t out, int64_t step,
                            const typename M::Acc* acc, int n) {
  decltype(m.finish(*acc, 0.0, 0)) value[kFoldColumns];
  if (a.out) {
    for (int k = 0; k < n; ++k)
      value[k] = m.finish(acc[k], a.centre ? a.centre[out + k * step] : 0, a.count);
    store_many_as(a.out_dtype, a.out, out, step, value, n);
  }
  if constexpr (requires { m.position(*acc); }) {
    for (int k = 0; a.index && k < n; ++k) a.index[out + k * step] = m.position(acc[k]);
  }
}

}  // namespace flambeau::FLAM_TARGET
