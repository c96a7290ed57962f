// The remainder of a quotient that is not too large, exactly and branch-free: fmod without its loop
// over a quotient's bits. In double the whole quotient is exact or one too large, as its rounding
// may have been, and what it leaves is a number of the operands' last place: no rounding is in it,
// and one correction has it right. Where products are fused the quotient may have nearly all of a
// double's digits; else those that its product with a float leaves exact.
#pragma once
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

template <class V>
concept HasShortFmod = std::is_same_v<V, float> || (kHasUsual && std::is_same_v<V, double>);

// All but quotients that are too large and finite.
template <class V> FLAM_FN bool is_short_quotient(V a, V b) {
  constexpr V most = V(kHasUsual ? 0x1p50 : 0x1p28);
  return !((fabs(a) >= most * fabs(b)) & (fabs(a) < V(__builtin_inf())) & (b != 0));
}

FLAM_FN double whole_quotient(double q) {
  if constexpr (kHasUsual) return __builtin_trunc(q);
  if constexpr (!kHasUsual) return double(int32_t(q));  // which every processor does on vectors
}

template <class V> FLAM_FN V short_fmod(V a, V b) {
  constexpr double inf = __builtin_inf();
  const double x = a, y = b, q = x / y;
  double r = basic::multiply_add(-whole_quotient(q), y, x) + q * 0;  // NaN of a quotient by 0
  r = (r < 0) != (x < 0) ? r + __builtin_copysign(y, x) : r;
  r = __builtin_fabs(r) == __builtin_fabs(y) ? 0 : r;  // what was 0 on the other side
  r = (__builtin_fabs(y) == inf) & (__builtin_fabs(x) < inf) ? x : r;
  return V(__builtin_copysign(r, x));
}

}  // namespace flambeau::FLAM_TARGET
