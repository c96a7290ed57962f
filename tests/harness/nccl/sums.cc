// See sums.h.
#include "sums.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/half.h"

namespace nccl_standin {

using namespace flambeau;
namespace nccl = flambeau::dist::nccl;

namespace {

template <class F> bool with_type(nccl::Datatype type, F f) {
  switch (type) {
    case nccl::int8:
      return f(int8_t{}), true;
    case nccl::uint8:
      return f(uint8_t{}), true;
    case nccl::int32:
      return f(int32_t{}), true;
    case nccl::uint32:
      return f(uint32_t{}), true;
    case nccl::int64:
      return f(int64_t{}), true;
    case nccl::uint64:
      return f(uint64_t{}), true;
    case nccl::float16:
      return f(Half(0.0f)), true;
    case nccl::float32:
      return f(float{}), true;
    case nccl::float64:
      return f(double{}), true;
    case nccl::bfloat16:
      return f(BFloat16(0.0f)), true;
  }
  return false;
}

template <class T>
using Sum = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class V> V joined(V a, V b, nccl::Operation kind) {
  switch (kind) {
    case nccl::product:
      return V(a * b);
    case nccl::max:
      return std::max(a, b);
    case nccl::min:
      return std::min(a, b);
    default:
      return V(a + b);
  }
}

}  // namespace

size_t size_of(nccl::Datatype type) {
  size_t size = 0;
  with_type(type, [&](auto zero) { size = sizeof zero; });
  return size;
}

double number_at(const void* data, nccl::Datatype type) {
  double number = 0;
  with_type(type, [&](auto zero) {
    number = double(Sum<decltype(zero)>(*static_cast<const decltype(zero)*>(data)));
  });
  return number;
}

void reduce(void* out, const std::vector<const void*>& terms, size_t count, nccl::Datatype type,
            const Operation& operation) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    using V = Sum<T>;
    const auto term = [&](size_t rank, size_t i) {
      const V v = V(static_cast<const T*>(terms[rank])[i]);
      return operation.scaled ? V(v * V(operation.factor)) : v;
    };
    for (size_t i = 0; i < count; ++i) {
      V total = term(0, i);
      for (size_t r = 1; r < terms.size(); ++r) total = joined(total, term(r, i), operation.kind);
      if (operation.kind == nccl::average) total = V(total / V(terms.size()));
      static_cast<T*>(out)[i] = T(total);
    }
  });
}

}  // namespace nccl_standin
