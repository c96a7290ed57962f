// Types, epilogue, alignments and key of a product; see blas_problem.h.
#include "device/cuda/blas_problem.h"

#include <algorithm>

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

uint32_t alignment(const void* p) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  return uint32_t(std::min<uintptr_t>(address ? address & -address : 256, 256));
}

BlasAlignments alignments_of(const BlasPlan& p) {
  return {alignment(p.first_data), alignment(p.second_data), alignment(p.c_data),
          alignment(p.out_data), alignment(p.bias)};
}

uint32_t epilogue_of(const BlasPlan& plan, const hal::Matmul& p) {
  const uint32_t added = (p.relu ? lt::kRelu : 0) | (plan.bias ? lt::kBias : 0);
  return added ? added : uint32_t(lt::kPlain);
}

BlasKey key_of(const BlasProblem& b, int64_t k, int device) {
  BlasKey key{};
  size_t i = 0;
  for (const ColumnMatrix* m : {&b.plan.first, &b.plan.second, &b.plan.out, &b.plan.c})
    for (const int64_t v : {m->ld, m->batch}) key[i++] = v;
  for (const int64_t v :
       {b.plan.out.rows, b.plan.out.cols, k, b.batches, int64_t(b.plan.first.transposed),
        int64_t(b.plan.second.transposed), int64_t(b.epilogue), int64_t(b.types.data),
        int64_t(b.types.compute), int64_t(device), int64_t(b.by.first), int64_t(b.by.second),
        int64_t(b.by.c), int64_t(b.by.out), int64_t(b.by.bias)})
    key[i++] = v;
  return key;
}

}  // namespace

BlasProblem::BlasProblem(const BlasPlan& p, const hal::Matmul& m, int device)
    : plan(p),
      types(types_of(m)),
      by(alignments_of(p)),
      batches(m.batches),
      epilogue(epilogue_of(p, m)),
      key(key_of(*this, m.k, device)) {}

}  // namespace flambeau::cuda
