// The ranges of dtypes, as PyTorch holds numbers to them.
#include "ops/fits.h"

#include <cfloat>
#include <cmath>

#include "base/error.h"
#include "ops/read.h"
#include "tensor/parts.h"

namespace flambeau::ops {

namespace {

struct Range {
  double least, greatest;
};

Range range_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return {-65504, 65504};
    case Dtype::bf16:
      return {-0x1.FEp127, 0x1.FEp127};
    case Dtype::f32:
      return {-FLT_MAX, FLT_MAX};
    case Dtype::u8:
      return {0, 255};
    case Dtype::i8:
      return {-128, 127};
    case Dtype::i16:
      return {-32768, 32767};
    case Dtype::i32:
      return {-0x1p31, 0x1p31 - 1};
    case Dtype::i64:
      return {-0x1p63, std::nextafter(0x1p63, 0)};
    default:
      return {-DBL_MAX, DBL_MAX};
  }
}

void check_range(bool fits, Dtype dtype) {
  check(fits, Code::invalid_argument, "value cannot be converted to type ", name_of(dtype),
        " without overflow");
}

}  // namespace

double greatest_of(Dtype dtype) { return range_of(dtype).greatest; }

void check_fits(double number, Dtype dtype) {
  if (dtype == Dtype::boolean || (is_floating(dtype) && !std::isfinite(number))) return;
  const auto [least, greatest] = range_of(dtype);
  const bool cut = !is_floating(dtype) && dtype != Dtype::i64;  // a fraction is, above as in torch
  check_range(number >= least && (cut ? number < greatest + 1 : number <= greatest), dtype);
}

void check_fits(const Tensor& number, Dtype dtype) {
  if (!number.is_wrapped_number())
    return check_range(is_complex(dtype) || !is_complex(number.dtype()), dtype);
  if (number.dtype() == Dtype::c128) {
    if (dtype == Dtype::boolean) return;
    check_range(is_complex(dtype) || read_number(part_of(number, 1)) == 0, dtype);
    for (int part : {0, 1}) check_fits(read_number(part_of(number, part)), to_real(dtype));
    return;
  }
  dtype = to_real(dtype);
  if (number.dtype() == Dtype::f64) return check_fits(read_number(number), dtype);
  if (dtype == Dtype::i64 || dtype == Dtype::boolean) return;
  const double value = double(read_integer(number));
  const auto [least, greatest] = range_of(dtype);  // negative bytes count down from 256
  check_range(value >= (dtype == Dtype::u8 ? -greatest : least) && value <= greatest, dtype);
}

void check_bounds(double low, double high, Dtype dtype) {
  if (is_floating(dtype)) return;
  const auto [least, greatest] = range_of(dtype);
  check(!(low > greatest), Code::invalid_argument, "Clamp min value ", low,
        " is outside the representable range of ", name_of(dtype));
  check(!(high < least), Code::invalid_argument, "Clamp max value ", high,
        " is outside the representable range of ", name_of(dtype));
}

}  // namespace flambeau::ops
