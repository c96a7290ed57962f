// A rule's options by place, as the functions of the ABI name them one by one: what owns its state
// and what steps over the caller's lists fill the same places.
#pragma once
#include <initializer_list>
#include <utility>

#include "kernels/optimizer/optimizer.h"

namespace flambeau::capi {

inline RuleOptions options_of(std::initializer_list<std::pair<int, double>> given) {
  RuleOptions o{};
  for (const auto& [place, value] : given) o[size_t(place)] = value;
  return o;
}

}  // namespace flambeau::capi
