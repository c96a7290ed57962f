// Names of dtypes and torch's promotion lattice.
#include "base/dtype.h"

#include "base/error.h"

namespace flambeau {

Dtype promote(Dtype a, Dtype b) {
  if (a == b || b == Dtype::none) return a;
  if (a == Dtype::none || a == Dtype::boolean) return b;
  if (b == Dtype::boolean) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = size_of(to_real(a)) == 8 && (is_complex(a) || is_floating(a));
    const bool other = size_of(to_real(b)) == 8 && (is_complex(b) || is_floating(b));
    return wide || other ? Dtype::c128 : Dtype::c64;
  }
  if (category_of(a) != category_of(b)) return category_of(a) > category_of(b) ? a : b;
  if (is_floating(a)) {
    if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
    return Dtype::f32;  // f32 with a half, or f16 with bf16
  }
  if (a == Dtype::u8 || b == Dtype::u8) {  // u8 with i8 needs i16; wider signed types hold u8
    const Dtype other = a == Dtype::u8 ? b : a;
    return other == Dtype::i8 ? Dtype::i16 : other;
  }
  return a < b ? a : b;  // i64, i32, i16, i8 are declared widest first
}

const char* name_of(Dtype d) {
  constexpr const char* names[kDtypeCount] = {"none",
#define FLAM_X(e, T, n) n,
                                              FLAM_DTYPES(FLAM_X)
#undef FLAM_X
                                                  "complex64",
                                              "complex128"};
  return is_valid(d) ? names[int(d)] : names[0];
}

const char* short_name(Dtype d) {
  constexpr const char* names[kDtypeCount] = {"none", "f32", "f64", "f16",  "bf16", "i64", "i32",
                                              "i16",  "i8",  "u8",  "bool", "c64",  "c128"};
  return is_valid(d) ? names[int(d)] : names[0];
}

void fail_type(Dtype d, const char* what) {
  throw Error(Code::unsupported, cat_text(what, " is unsupported for ", name_of(d)),
              is_complex(d) ? "complex numbers have arithmetic, products, indexing and sums" : "",
              is_complex(d) ? "take the parts: view_as_real(x), x.real, x.imag" : "");
}

}  // namespace flambeau
