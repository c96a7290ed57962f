// See row_sums.h.
#include "kernels/product/row_sums.h"

#include "kernels/gemm/precision.h"
#include "kernels/product/library.h"

namespace flambeau {

bool product_sums_rows(const Tensor& x) {
  return (is_half(x.dtype()) || x.dtype() == Dtype::f32) && library_multiplies(x);
}

bool run_gemm_with_sums(const Tensor& out, const Tensor& sums, const Tensor& a, const Tensor& b) {
  const Tensor left =
      alias(a, Dims{a.size(1), a.size(0)}, Dims{a.strides()[1], a.strides()[0]}, a.offset());
  const Tensor* const tensors[4] = {&out, &left, &b, nullptr};
  const LibraryOperands operands(tensors, 0, false);
  GemmArgs g = operands.matrices();
  g.activation = Activation::none;
  g.tf32 = matmul_precision != MatmulPrecision::highest;
  g.alpha = 1;
  g.beta = 0;
  if (!launch_library(g, out, sums.data())) return false;
  operands.finish();
  return true;
}

}  // namespace flambeau
