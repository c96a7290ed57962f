// Norms whose statistics and weights are one number for a plane, all of an image's channel: kernels
// over planes as rows [n * c, space], beside numbers [n * c] in the compute dtype.
//
//   kMoments        {out_each(mean), out_each(low), out_each(rstd), row(x)}, {eps}; mean + low is
//                   the mean to twice the digits
//   kPlaneNorm      {out_row(y), row(x), each(mean), each(rstd), each(scale), each(shift)}:
//                   (x - mean) * rstd * scale + shift
//   kPlaneScale     {out_row(y), row(x), each(scale), each(shift)}: x * scale + shift
//   kPlaneSums      {out_each(sum), out_each(dot), row(dy), row(x), each(mean)}: of dy, and of
//                   dy * (x - mean)
//   kPlaneGradient  {out_row(dx), row(dy), row(x), each(mean), each(k), each(s), each(a)}:
//                   k * dy - s - a * (x - mean)
#pragma once
#include "kernels/row/row.h"
#include "ops/formula.h"

namespace flambeau {

inline constinit Kernel kMoments{"group_norm"}, kPlaneNorm{"group_norm"};
inline constinit Kernel kPlaneScale{"batch_norm"};
inline constinit Kernel kPlaneSums{"batch_norm"}, kPlaneGradient{"batch_norm"};

namespace ops {

// Planes worth a row each, which lie dense.
inline bool has_planes(const Tensor& x) {
  return x.dim() > 2 && x.is_contiguous() && numel_of(x.sizes().subspan(2)) >= 8;
}
inline Dims planes_of(const Tensor& x) {
  return {x.size(0) * x.size(1), numel_of(x.sizes().subspan(2))};
}

// Numbers [c] for every plane of n images.
inline Tensor per_plane(const Tensor& t, int64_t n) {
  return contiguous(expand(reshape(t, Dims{1, t.numel()}), Dims{n, t.numel()}));
}

struct PlaneSums {
  Tensor sum, dot;  // [n, c]
};
inline PlaneSums plane_sums(const char* op, const Tensor& dy, const Tensor& x, const Tensor& mean) {
  const Dims sizes{x.size(0), x.size(1)}, flat = planes_of(x);
  const PlaneSums made{flambeau::empty(sizes, mean.dtype(), x.device()),
                       flambeau::empty(sizes, mean.dtype(), x.device())};
  run_row(op, kPlaneSums, x.dtype(), 1,
          {out_each(made.sum), out_each(made.dot), row(reshape(dy, flat)), row(reshape(x, flat)),
           each(mean)});
  return made;
}

inline Tensor plane_gradient(const char* op, const Tensor& dy, const Tensor& x, const Tensor& mean,
                             const Tensor& k, const Tensor& s, const Tensor& a) {
  const Dims flat = planes_of(x);
  const Tensor dx = flambeau::empty(flat, x.dtype(), x.device());
  run_row(op, kPlaneGradient, x.dtype(), 1,
          {out_row(dx), row(reshape(dy, flat)), row(reshape(x, flat)), each(mean), each(k), each(s),
           each(a)});
  return reshape(dx, x.sizes());
}

}  // namespace ops

}  // namespace flambeau
