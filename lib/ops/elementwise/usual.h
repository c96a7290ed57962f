// Which operands a functor's shorter form takes (kernels/map/map_loop.h), for those that share it.
#pragma once
#include <type_traits>

#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

template <class V>
concept UsualFloat = kHasUsual && std::is_same_v<V, float>;

// Floats up to a limit; NaN is none.
template <int kLimit> struct UsualUpTo {
  template <UsualFloat V> FLAM_FN bool is_usual(V x) const { return fabs(x) <= kLimit; }
};

}  // namespace flambeau::FLAM_TARGET
