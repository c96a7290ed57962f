// Autocast: what becomes of an op's floating operands while it is on. The rule of an op stands at
// its declaration in the header (FLAM_AUTOCAST), for the cpu and for GPUs, and so in its Op; one
// without a rule takes its operands as they come. Only Call applies rules.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// Whether autocast of that kind of device converts this operand at all: a floating tensor that is
// not f64, on such a device, and no bare number.
bool is_cast(const Tensor& t, bool cpu);

// The operand in another dtype, differentiably. What is cast again and again, an f32 leaf that
// requires grad to the lower dtype, is cast once while autocast's outermost scope is open: per
// version of its data, and apart for every state of recording, so that a cast made under no_grad
// never stands for one that gradients flow through.
Tensor cast_operand(const Tensor& t, Dtype dtype);

void clear_cast_cache();  // this thread's

}  // namespace flambeau
