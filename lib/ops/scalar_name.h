// What PyTorch calls a dtype in error texts that programs may match: "Float", "Long".
#pragma once
#include "base/dtype.h"

namespace flambeau::ops {

inline const char* scalar_name(Dtype d) {
  switch (d) {
    case Dtype::f64:
      return "Double";
    case Dtype::f32:
      return "Float";
    case Dtype::f16:
      return "Half";
    case Dtype::bf16:
      return "BFloat16";
    case Dtype::i64:
      return "Long";
    case Dtype::i32:
      return "Int";
    case Dtype::i16:
      return "Short";
    case Dtype::i8:
      return "Char";
    case Dtype::u8:
      return "Byte";
    case Dtype::boolean:
      return "Bool";
    case Dtype::c64:
      return "ComplexFloat";
    case Dtype::c128:
      return "ComplexDouble";
    default:
      return name_of(d);
  }
}

}  // namespace flambeau::ops
