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

template <class M>
FLAM_FN void fold_emit(const M& m, const FoldArgs& a, int64_t out, typename M::Acc acc) {
  if (a.out)
    store_as(a.out_dtype, a.out, out, m.finish(acc, a.centre ? a.centre[out] : 0, a.count));
  if constexpr (requires { m.position(acc); }) {
    if (a.index) a.index[out] = m.position(acc);
  }
}

}  // namespace flambeau::FLAM_TARGET
