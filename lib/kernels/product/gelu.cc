// See gelu.h.
#include "kernels/product/gelu.h"

#include "device/call.h"
#include "device/matmul_slope.h"
#include "device/probe_launch.h"
#include "kernels/gemm/precision.h"
#include "kernels/product/library.h"

namespace flambeau {

bool product_takes_gelu(const Tensor& y) {
  const bool rounds = y.dtype() == Dtype::f32 && matmul_precision != MatmulPrecision::highest;
  return hal::sloped_matmul && (is_half(y.dtype()) || rounds) && library_multiplies(y);
}

bool run_gemm_with_gelu_slope(const Tensor& out, const Tensor& a, const Tensor& b,
                              const Tensor& x) {
  const Tensor* const tensors[4] = {&out, &a, &b, nullptr};
  const LibraryOperands operands(tensors, 0, false);
  const GemmArgs& g = operands.matrices();
  const auto matrix = [](const GemmOperand& o) {
    return hal::Matmul::Operand{o.data, o.row, o.col, 0};
  };
  const hal::Matmul product{.dtype = out.dtype(),
                            .m = g.m,
                            .n = g.n,
                            .k = g.k,
                            .out = matrix(g.out),
                            .a = matrix(g.a),
                            .b = matrix(g.b),
                            .c = {},
                            .beta = 0,
                            .tf32 = matmul_precision != MatmulPrecision::highest};
  const Device d = out.device();
  const probe::Launch mark(d, nullptr);
  const hal::Status status =
      hal::try_sloped_matmul(current_stream(d), {product, {x.data(), x.size(1), 1, 0}});
  if (status == hal::Status::unsupported) return false;
  if (status != hal::Status::ok) hal::raise(d, "a matrix product", status);
  return true;
}

}  // namespace flambeau
