// The text of tensors, as PyTorch 2.15 prints the same values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "capi/gen/targets.h"
#include "ops/ops.h"

namespace flambeau {
namespace {

Tensor tensor(std::vector<double> v, Dims size, Dtype dtype = Dtype::f32) {
  return ops::to_dtype(capi::tensor_from_data(v.data(), size, Dtype::f64, kCpu, false), dtype);
}

std::string text(const Tensor& t) { return capi::tensor_format(t); }

TEST(Format, WholeNumbersAndFractions) {
  EXPECT_EQ(text(tensor({1, 2, 3, 4}, {2, 2})), "tensor([[1., 2.],\n        [3., 4.]])");
  EXPECT_EQ(text(tensor({0.5, -10}, {2})), "tensor([  0.5000, -10.0000])");
  EXPECT_EQ(text(tensor({1e-5, 2}, {2})), "tensor([1.0000e-05, 2.0000e+00])");
  EXPECT_EQ(text(tensor({3}, {})), "tensor(3.)");
}

TEST(Format, NonFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(text(tensor({NAN, inf, 1}, {3})), "tensor([nan, inf, 1.])");
  EXPECT_EQ(text(tensor({-inf, 1.5}, {2})), "tensor([  -inf, 1.5000])");
}

TEST(Format, DtypesAndEmpty) {
  EXPECT_EQ(text(tensor({1, 0}, {2}, Dtype::boolean)), "tensor([ True, False])");
  EXPECT_EQ(text(tensor({1, -20}, {2}, Dtype::i64)), "tensor([  1, -20])");
  EXPECT_EQ(text(tensor({1}, {1}, Dtype::i32)), "tensor([1], dtype=torch.int32)");
  EXPECT_EQ(text(tensor({}, {0, 3})), "tensor([], size=(0, 3))");
  EXPECT_EQ(text(tensor({}, {0}, Dtype::i64)), "tensor([], dtype=torch.int64)");
}

TEST(Format, SummaryShowsTheEdges) {
  std::vector<double> v(2002);
  for (size_t i = 0; i < v.size(); ++i) v[i] = double(i);
  EXPECT_EQ(text(tensor(v, {2002}, Dtype::i64)),
            "tensor([   0,    1,    2,  ..., 1999, 2000, 2001])");
  EXPECT_EQ(text(tensor(v, {2, 1001}, Dtype::i64)),
            "tensor([[   0,    1,    2,  ...,  998,  999, 1000],\n"
            "        [1001, 1002, 1003,  ..., 1999, 2000, 2001]])");
}

TEST(Format, History) {
  const Tensor x = tensor({1, 2}, {2});
  capi::tensor_set_requires_grad(x, true);
  EXPECT_EQ(text(x), "tensor([1., 2.], requires_grad=True)");
  EXPECT_EQ(text(ops::mul(x, x)), "tensor([1., 4.], grad_fn=<MulBackward0>)");
}

}  // namespace
}  // namespace flambeau
