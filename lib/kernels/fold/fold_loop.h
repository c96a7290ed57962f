// The loops of reductions around a monoid, for the host and for CUDA. A monoid is a template over
// the element type:
//
//   template <class T> struct SumOf {
//     using Acc = ...;                                    at most 16 bytes
//     static constexpr bool centred = false;              whether step() reads the output's centre
//     Acc zero() const;
//     Acc step(Acc a, Compute<T> x, double centre, int64_t position) const;
//     template <class A> A fold(A a, A x, A centre) const;      optional: the step without a
//                                             position, for vectors of the host, too
//     Acc join(Acc a, Acc b) const;                       commutative
//     auto finish(Acc a, double centre, int64_t count) const;   the output's value
//     int64_t position(Acc a) const;                      only where it has one
//   };                                                    members: doubles, from FoldArgs::params
//   FLAM_FOLD(kSum, SumOf, AllTypes);
#pragma once
#include "kernels/fold/fold.h"
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#include "kernels/fold/fold_cuda.h"
#else
#include "base/thread_pool.h"
#include "kernels/fold/fold_host.h"
#endif

namespace flambeau::FLAM_TARGET {

template <template <class> class M, class... T> bool register_fold(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &fold_entry<M<T>, T>), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET

#define FLAM_FOLD(kernel, M, Types) \
  [[maybe_unused]] static const bool registered_##kernel = register_fold<M>(kernel, Types{})
