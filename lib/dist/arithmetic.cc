// See arithmetic.h.
#include "dist/arithmetic.h"

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

using Binary = Tensor (*)(const Tensor& a, const Tensor& b, const Tensor& out);

Tensor add(const Tensor& a, const Tensor& b, const Tensor& out) {
  return ops::add_out(a, b, 1, out);
}

template <Binary F>
void run(const flam_dist_call* call, void* out, const void* a, const void* b, uint64_t n) {
  const auto as_tensor = [&](const void* data) {
    return over(const_cast<void*>(data), int64_t(n), Dtype(call->dtype));
  };
  const GradMode off(false);
  F(as_tensor(a), as_tensor(b), as_tensor(out));
}

bool is_bits(ReduceOp op) {
  return op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
}

}  // namespace

Tensor over(void* data, int64_t count, Dtype dtype) {
  const size_t bytes = size_t(count) * size_of(dtype);
  auto storage = make_ref<Storage>(kCpu, bytes, data, nullptr, nullptr);
  return tensor_of(std::move(storage), Dims{count}, Dims{1}, dtype);
}

decltype(flam_dist_call::reduce) reduction(ReduceOp op, Dtype dtype) {
  if (is_bits(op))
    check(!is_floating(dtype), Code::dtype, "a reduction by bits needs integers or bool, got ",
          name_of(dtype));
  if (op == ReduceOp::avg || op == ReduceOp::premul_sum)
    check(is_floating(dtype), Code::dtype, "a mean needs floating point, got ", name_of(dtype),
          "; reduce by the sum and divide");
  switch (op) {
    case ReduceOp::none:
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum:
      return run<add>;
    case ReduceOp::product:
      return run<ops::mul_out>;
    case ReduceOp::min:
      return run<ops::minimum_out>;
    case ReduceOp::max:
      return run<ops::maximum_out>;
    case ReduceOp::band:
      return run<ops::bitwise_and_out>;
    case ReduceOp::bor:
      return run<ops::bitwise_or_out>;
    case ReduceOp::bxor:
      return run<ops::bitwise_xor_out>;
  }
  fail(Code::invalid_argument, "there is no reduction with the number ", int(op));
}

}  // namespace flambeau::dist
