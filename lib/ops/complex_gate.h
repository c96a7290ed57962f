// Which operations take complex numbers. Every operation passes here, through Call, where an
// operand or a result is complex; what is not listed fails before it has read anything, because a
// kernel for reals would read pairs as if each of them were a number.
#pragma once
#include "base/dtype.h"
#include "ops/op.h"

namespace flambeau {

void check_takes_complex(const Op& op, Dtype dtype);  // throws "unsupported"

}  // namespace flambeau
