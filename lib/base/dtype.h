// Element types: the one list of them, their sizes and classes, and dispatch from a run-time dtype
// to a type. Values equal the ABI's FLAM_* constants, so a cast converts between the two.
// Complex numbers are pairs of reals in memory and have no type that kernels compute in: operations
// see them through real views, and whatever asks for their type fails.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace flambeau {

enum class Dtype : int8_t { none, f32, f64, f16, bf16, i64, i32, i16, i8, u8, boolean, c64, c128 };
inline constexpr int kDtypeCount = 13, kComputedDtypes = 11;  // the latter without complex ones

// X(enumerator, C++ type, torch's name) of what kernels compute in: the project's only X-macro.
#define FLAM_DTYPES(X)          \
  X(f32, float, "float32")      \
  X(f64, double, "float64")     \
  X(f16, Half, "float16")       \
  X(bf16, BFloat16, "bfloat16") \
  X(i64, int64_t, "int64")      \
  X(i32, int32_t, "int32")      \
  X(i16, int16_t, "int16")      \
  X(i8, int8_t, "int8")         \
  X(u8, uint8_t, "uint8")       \
  X(boolean, bool, "bool")

template <class T> inline constexpr Dtype dtype_of = Dtype::none;
#define FLAM_X(e, T, name) template <> inline constexpr Dtype dtype_of<T> = Dtype::e;
FLAM_DTYPES(FLAM_X)
#undef FLAM_X

inline constexpr uint8_t kElementSizes[kDtypeCount] = {0, 4, 8, 2, 2, 8, 4, 2, 1, 1, 1, 8, 16};
constexpr size_t size_of(Dtype d) { return kElementSizes[static_cast<int>(d)]; }
constexpr bool is_floating(Dtype d) { return d >= Dtype::f32 && d <= Dtype::bf16; }
constexpr bool is_complex(Dtype d) { return d >= Dtype::c64; }
constexpr bool is_differentiable(Dtype d) { return is_floating(d) || is_complex(d); }
constexpr bool is_half(Dtype d) { return d == Dtype::f16 || d == Dtype::bf16; }
constexpr bool is_integral(Dtype d) { return d >= Dtype::i64 && d <= Dtype::u8; }  // bool is not
// bool 0, integers 1, floating point 2, complex 3: a higher category wins whatever the sizes.
constexpr int category_of(Dtype d) {
  return d == Dtype::boolean ? 0 : is_complex(d) ? 3 : is_floating(d) ? 2 : 1;
}
constexpr bool is_valid(Dtype d) { return d > Dtype::none && d <= Dtype::c128; }
// Of a complex number's parts, and of the number with such parts; halves have none.
constexpr Dtype to_real(Dtype d) {
  return d == Dtype::c64 ? Dtype::f32 : d == Dtype::c128 ? Dtype::f64 : d;
}
constexpr Dtype to_complex(Dtype d) {
  return d == Dtype::f32 ? Dtype::c64 : d == Dtype::f64 ? Dtype::c128 : d;
}

const char* name_of(Dtype d);     // "float32"
const char* short_name(Dtype d);  // "f32", as error texts write it

// torch's promotion of two dtypes of the same category rank (dimensioned operands).
Dtype promote(Dtype a, Dtype b);

template <class T> struct TypeTag {
  using type = T;
};

// Says that what is named has no form for elements of that type.
[[noreturn]] void fail_type(Dtype d, const char* what = "this operation");

// Calls f(TypeTag<T>{}) for the T of `d`; a complex dtype has none and throws.
template <class F> decltype(auto) with_dtype(Dtype d, F&& f) {
  switch (d) {
#define FLAM_X(e, T, name) \
  case Dtype::e:           \
    return f(TypeTag<T>{});
    FLAM_DTYPES(FLAM_X)
#undef FLAM_X
    default:
      fail_type(d);
  }
}

}  // namespace flambeau
