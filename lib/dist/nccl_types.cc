// See nccl_types.h.
#include "dist/nccl_types.h"

#include <cstring>

#include "base/error.h"

namespace flambeau::dist {
namespace {

// The nearest of NCCL's; none where there is none.
bool known(Dtype dtype, nccl::Datatype* out) {
  switch (dtype) {
    case Dtype::f32:
      return *out = nccl::float32, true;
    case Dtype::f64:
      return *out = nccl::float64, true;
    case Dtype::f16:
      return *out = nccl::float16, true;
    case Dtype::bf16:
      return *out = nccl::bfloat16, true;
    case Dtype::i64:
      return *out = nccl::int64, true;
    case Dtype::i32:
      return *out = nccl::int32, true;
    case Dtype::i8:
      return *out = nccl::int8, true;
    case Dtype::u8:
    case Dtype::boolean:
      return *out = nccl::uint8, true;
    default:
      return false;
  }
}

[[noreturn]] void unsupported(const std::string& why) {
  throw NcclFailure{FLAM_DIST_UNSUPPORTED, why};
}

nccl::Operation on_bool(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::max:
    case ReduceOp::bor:
      return nccl::max;
    case ReduceOp::product:
    case ReduceOp::min:
    case ReduceOp::band:
      return nccl::min;
    default:
      unsupported("Cannot use ReduceOp.BXOR with NCCL on bool");
  }
}

}  // namespace

NcclType nccl_type(const flam_dist_call& call) {
  const auto op = ReduceOp(call.op);
  const auto dtype = Dtype(call.dtype);
  NcclType type{nccl::uint8, call.element_size};
  if (dtype == Dtype::none) return {nccl::uint8, 1};
  if (known(dtype, &type.datatype))
    type.each = 1;
  else if (op != ReduceOp::none)
    unsupported(cat_text("NCCL does not reduce ", name_of(dtype),
                         "; convert it to int32, or reduce it on the cpu by gloo"));
  if (op != ReduceOp::none && op != ReduceOp::premul_sum) nccl_operation(call);
  return type;
}

nccl::Operation nccl_operation(const flam_dist_call& call) {
  const auto op = ReduceOp(call.op);
  if (Dtype(call.dtype) == Dtype::boolean) return on_bool(op);
  switch (op) {
    case ReduceOp::avg:
      return nccl::average;
    case ReduceOp::product:
      return nccl::product;
    case ReduceOp::min:
      return nccl::min;
    case ReduceOp::max:
      return nccl::max;
    case ReduceOp::band:
      unsupported("Cannot use ReduceOp.BAND with NCCL");
    case ReduceOp::bor:
      unsupported("Cannot use ReduceOp.BOR with NCCL");
    case ReduceOp::bxor:
      unsupported("Cannot use ReduceOp.BXOR with NCCL");
    default:
      return nccl::sum;
  }
}

NcclScalar::NcclScalar(const flam_dist_call& call) {
  with_dtype(Dtype(call.dtype), [&](auto tag) {
    const auto value = static_cast<typename decltype(tag)::type>(call.factor);
    std::memcpy(bytes_, &value, sizeof value);
  });
}

}  // namespace flambeau::dist
