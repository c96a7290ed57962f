// A functor out of a launch's parameters, which are its members in order.
#pragma once
#include <cstring>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class F> FLAM_FN F functor_from(const double* params) {
  F f{};
  if constexpr (!std::is_empty_v<F>) memcpy(&f, params, sizeof f);
  return f;
}

}  // namespace flambeau::FLAM_TARGET
