// Types, epilogue and alignments of a product; see blas_problem.h.
#include "device/cuda/blas_problem.h"

#include "device/cuda/blas_key.h"
#include "device/cuda/blas_lt.h"

namespace flambeau::cuda {
namespace {

BlasTypes types_of(const hal::Matmul& p) {
  switch (p.dtype) {
    case Dtype::f64:
      return {lt::kReal64, lt::kCompute64, lt::kReal64};
    case Dtype::f16:
      return {lt::kReal16, lt::kCompute32, lt::kReal32};
    case Dtype::bf16:
      return {lt::kRealBf16, lt::kCompute32, lt::kReal32};
    default:
      return {lt::kReal32, p.tf32 ? lt::kComputeTf32 : lt::kCompute32, lt::kReal32};
  }
}

BlasAlignments alignments_of(const BlasPlan& p) {
  return {alignment_of(p.first_data), alignment_of(p.second_data), alignment_of(p.c_data),
          alignment_of(p.out_data)};
}

uint32_t epilogue_of(const BlasPlan& plan, const hal::SlopedMatmul& p) {
  if (p.row_sums) return plan.swapped ? lt::kRowSums : lt::kColumnSums;
  if (p.gelu_input.data) return lt::kGeluSlope;
  const uint32_t added = (p.relu ? lt::kRelu : 0) | (plan.bias ? lt::kBias : 0);
  return added ? added : uint32_t(lt::kPlain);
}

}  // namespace

BlasProblem::BlasProblem(const BlasPlan& p, const hal::SlopedMatmul& m)
    : plan(p),
      types(types_of(m)),
      by(alignments_of(p)),
      batches(m.batches),
      epilogue(epilogue_of(p, m)) {}

}  // namespace flambeau::cuda
