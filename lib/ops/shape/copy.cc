// Copies: within a device with conversion, and between devices, where bytes travel in one dense run
// and conversion happens on the side it comes from.
#include "base/error.h"
#include "base/warning.h"
#include "ops/call.h"
#include "ops/ops.h"

namespace flambeau {

namespace {

constexpr Op kCopyOp{"copy", op::copy_.operands};

// dst = src without autograd; src broadcasts to dst.
void copy_data(const Tensor& dst, const Tensor& src, bool non_blocking) {
  if (dst.numel() == 0) return;
  if (dst.dtype() == Dtype::boolean && is_complex(src.dtype()))
    return copy_data(dst, ops::ne(src, wrapped_number(int64_t{0})), non_blocking);
  for (const Tensor* t : {&dst, &src}) {  // kernels that run here, unlike copies, do not wait
    if (t->storage()->pinned() && !(dst.device() != src.device() && t->is_contiguous()))
      wait_for_host_access(t->storage()->block());
  }
  if (dst.device() == src.device() || (src.device().is_cpu() && src.dim() == 0)) {
    return run_cast(dst, src);
  }
  const bool ready =
      src.dtype() == dst.dtype() && src.is_contiguous() && src.numel() == dst.numel();
  Tensor staged = src;
  if (!ready) {
    staged = flambeau::empty(dst.sizes(), dst.dtype(), src.device());
    run_cast(staged, src);
  }
  const Tensor landing =
      dst.is_contiguous() ? dst : flambeau::empty(dst.sizes(), dst.dtype(), dst.device());
  copy_bytes(landing.data(), dst.device(), staged.data(), src.device(), landing.nbytes(),
             non_blocking && ready && landing.is_same(dst));
  if (!landing.is_same(dst)) run_cast(dst, landing);
}

void tell_of_lost_parts(Dtype from, Dtype to) {
  if (!is_complex(from) || is_complex(to) || to == Dtype::boolean) [[likely]]
    return;
  static ToldOnce told;
  told.warn(
      "Casting complex values to real discards the imaginary part; real() takes the real "
      "part without a warning");
}

struct CopyBackward {
  Device source;
  static constexpr auto name = "CopyBackwards";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? ops::zeros(dy.sizes(), dy.dtype(), dy.device()) : Tensor(),
            wanted(1) ? ops::to_device(dy, source, false) : Tensor()};
  }
};

struct ToBackward {
  Device device;
  static constexpr auto name = "ToCopyBackward0";
  Tensors operator()(const Tensor& dy) const { return {ops::to_device(dy, device, false)}; }
};

struct CloneBackward {
  static constexpr auto name = "CloneBackward0";
  Tensors operator()(const Tensor& dy) const { return {dy}; }
};

Tensor converted(const Op& name, const Tensor& x, Dtype dtype, Device device, bool non_blocking) {
  Call c{name, {x}, Devices::any};
  Tensor y = empty_strided(x.sizes(), dense_strides(x), dtype, device);
  copy_data(y, x, non_blocking);
  if (!c.needs_grad() || !is_differentiable(dtype)) return y;
  if (device == x.device() && dtype == x.dtype()) return c.track(std::move(y), CloneBackward{});
  return c.track(std::move(y), ToBackward{x.device()});
}

}  // namespace

namespace ops {

Tensor copy_(const Tensor& dst, const Tensor& src, bool non_blocking) {
  if (dst.is_same(src)) return dst;
  check(broadcasts_to(src.sizes(), dst.sizes()), Code::shape, "copy_: source of shape ",
        ShapeText{src.sizes()}, " does not broadcast to the destination's ",
        ShapeText{dst.sizes()});
  tell_of_lost_parts(src.dtype(), dst.dtype());
  Destination to(dst, kCopyOp, Destination::inplace);
  Call c{kCopyOp.to(to), {dst, src}, Devices::any};
  // Memory that may overlap: the source is read whole before the destination changes.
  const bool overlaps = dst.storage() == src.storage();
  if (overlaps) check_no_partial_overlap(kCopyOp, dst, src);
  const Tensor source =
      overlaps ? converted(op::clone, alias(src), src.dtype(), src.device(), false) : src;
  copy_data(c.write_target(), source, non_blocking);
  return c.track(dst, CopyBackward{src.device()});
}

Tensor clone(const Tensor& x) { return converted(op::clone, x, x.dtype(), x.device(), false); }

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Call c{op::clone, {x}};
  Tensor y = flambeau::empty(x.sizes(), x.dtype(), x.device());
  copy_data(y, x, false);
  return c.needs_grad() ? c.track(std::move(y), CloneBackward{}) : y;
}

Tensor to(const Tensor& x, Device device, Dtype dtype, bool non_blocking, bool copy) {
  const Device target = device ? resolve(device) : x.device();
  const Dtype type = dtype == Dtype::none ? x.dtype() : dtype;
  if (target == x.device() && type == x.dtype() && !copy) return x;
  tell_of_lost_parts(x.dtype(), type);
  return converted(op::to, x, type, target, non_blocking);
}

Tensor to_dtype(const Tensor& x, Dtype dtype) { return to(x, Device{}, dtype, false, false); }

Tensor to_device(const Tensor& x, Device device, bool non_blocking) {
  return to(x, device, Dtype::none, non_blocking, false);
}

}  // namespace ops
}  // namespace flambeau
