// The ops as C++ functions, with the ABI's names and argument order, and what op files share.
#pragma once
#include <optional>

#include "graph/autograd_data.h"
#include "ops/gen/ops.h"
#include "tensor/tensor.h"

namespace flambeau {

// Records an in-place write to t, whose new history is `node`.
void rebase_history(const Tensor& t, Ref<Node> node);
// "parameter weight of \"net.0\" (Linear)", where the tensor belongs to a module; set by lib/nn.
extern std::string (*tensor_owner)(const Tensor&);

namespace ops {
// Sums a gradient over the dimensions that broadcasting added or stretched.
Tensor sum_to(const Tensor& x, DimsView sizes);
// Engine-level forms without a C name.
Tensor to_dtype(const Tensor& x, Dtype dtype);
Tensor to_device(const Tensor& x, Device device, bool non_blocking);
}  // namespace ops
}  // namespace flambeau
