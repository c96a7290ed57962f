// Names of dtypes and torch's promotion lattice.
#include "base/dtype.h"

namespace flambeau {

Dtype promote(Dtype a, Dtype b) {
  if (a == b || b == Dtype::none) return a;
  if (a == Dtype::none || a == Dtype::boolean) return b;
  if (b == Dtype::boolean) return a;
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
  };
  return is_valid(d) ? names[int(d)] : names[0];
}

const char* short_name(Dtype d) {
  constexpr const char* names[kDtypeCount] = {"none", "f32", "f64", "f16", "bf16", "i64",
                                              "i32",  "i16", "i8",  "u8",  "bool"};
  return is_valid(d) ? names[int(d)] : names[0];
}

}  // namespace flambeau
