// The bilinear form: one product of pairs of features with the weight, then one with the second.
#include "base/error.h"
#include "ops/formula.h"

namespace flambeau::ops {

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  check(weight.dim() == 3, Code::shape, "bilinear(): weight must be [o, i, j], got ", weight);
  check(input1.dim() > 0 && input1.dim() == input2.dim() &&
            std::equal(input1.sizes().begin(), input1.sizes().end() - 1, input2.sizes().begin()),
        Code::shape, "bilinear(): input batch dimensions do not match: got ", input1, " and ",
        input2);
  const int64_t o = weight.size(0), i = weight.size(1), j = weight.size(2);
  check(input1.size(-1) == i && input2.size(-1) == j, Code::shape,
        "bilinear(): input1 size does not match weight size: got ", input1, " and ", input2,
        " for weight ", weight);
  check(!bias || (bias.dim() == 1 && bias.size(0) == o), Code::shape,
        "bilinear(): bias size does not match weight size: got ", bias, " for weight ", weight);
  const Call c{op::bilinear, {input1, input2, weight, bias}};
  // [rows, o, j]: the first input's product with each output's matrix.
  const Tensor rows1 = reshape(c[0], Dims{-1, i}), rows2 = reshape(c[1], Dims{-1, j});
  const Dims order{1, 0, 2};
  const Tensor matrix = reshape(permute(c[2], order), Dims{i, o * j});
  const Tensor part = reshape(matmul(rows1, matrix), Dims{rows1.size(0), o, j});
  Tensor y = reshape(matmul(part, unsqueeze(rows2, 2)), Dims{rows1.size(0), o});
  if (c[3]) y = add(y, c[3]);
  Dims sizes(input1.sizes());
  sizes.back() = o;
  return reshape(y, sizes);
}

}  // namespace flambeau::ops
