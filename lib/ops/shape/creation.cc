// New tensors and whole-tensor writes.
#include <limits>

#include "base/error.h"
#include "kernels/deterministic.h"
#include "ops/call.h"
#include "ops/fits.h"
#include "ops/ops.h"
#include "tensor/defaults.h"

namespace flambeau {

namespace ops {

namespace {

constexpr Op kZeroOp{"zero", op::zero_.operands};

Tensor created(Tensor t, bool requires_grad) {
  if (requires_grad) {
    check(is_differentiable(t.dtype()), Code::dtype,
          "Only Tensors of floating point and complex dtype can require gradients, got ",
          name_of(t.dtype()));
    autograd_data(t).requires_grad = true;
  }
  return t;
}

// A number lies on the host or beside what it fills; from elsewhere it comes by way of the host.
void fill_from(const Tensor& t, const Tensor& value) {
  if (value.is_wrapped_number()) check_fits(value, t.dtype());
  run_cast(t, value.device() == t.device() ? value : to_device(value, kCpu, false));
}

Tensor filled(DimsView size, const Tensor& value, Dtype dtype, Device device, bool requires_grad) {
  Tensor t = flambeau::empty(size, dtype_or_default(dtype), device_or_default(device));
  fill_from(t, value);
  return created(std::move(t), requires_grad);
}

// Elements that nobody sets: where results must not depend on what memory held they get a value
// that stands out.
Tensor unset(Tensor t) {
  if (!deterministic_algorithms || !deterministic_fill || t.numel() == 0) [[likely]]
    return t;
  if (is_differentiable(t.dtype())) {
    run_cast(t, wrapped_number(std::numeric_limits<double>::quiet_NaN()));
  } else {
    with_dtype(t.dtype(), [&](auto tag) {
      using Limits = std::numeric_limits<typename decltype(tag)::type>;
      run_cast(t, wrapped_number(int64_t(Limits::max())));
    });
  }
  return t;
}

// Dense in x's order of dimensions, so that every byte of it is an element.
Tensor laid_out_like(const Tensor& x, Dtype dtype, Device device) {
  return flambeau::empty_strided(x.sizes(), dense_strides(x),
                                 dtype == Dtype::none ? x.dtype() : dtype,
                                 device ? device : x.device());
}

}  // namespace

Tensor scalar_f64(double v) { return wrapped_number(v); }
Tensor scalar_i64(int64_t v) { return wrapped_number(v); }
Tensor scalar_bool(bool v) { return wrapped_number(v); }
Tensor scalar_c128(double real, double imag) { return wrapped_complex(real, imag); }

Tensor empty(DimsView size, Dtype dtype, Device device, bool requires_grad) {
  return created(unset(flambeau::empty(size, dtype_or_default(dtype), device_or_default(device))),
                 requires_grad);
}

Tensor zeros(DimsView size, Dtype dtype, Device device, bool requires_grad) {
  Tensor t = flambeau::empty(size, dtype_or_default(dtype), device_or_default(device));
  fill_bytes(t.data(), t.device(), 0, t.nbytes());
  return created(std::move(t), requires_grad);
}

Tensor ones(DimsView size, Dtype dtype, Device device, bool requires_grad) {
  return filled(size, wrapped_number(int64_t{1}), dtype, device, requires_grad);
}

Tensor full(DimsView size, const Tensor& value, Dtype dtype, Device device, bool requires_grad) {
  check(value.dim() == 0, Code::shape, "full: fill_value must be a number or a 0-d tensor, got ",
        value);
  if (dtype == Dtype::none) {
    const Tensor* one[] = {&value};
    dtype = result_type(one);
  }
  return filled(size, value, dtype, device, requires_grad);
}

Tensor empty_strided(DimsView size, DimsView stride, Dtype dtype, Device device,
                     bool requires_grad) {
  check(size.size() == stride.size(), Code::shape, "empty_strided: dimensionality of sizes (",
        size.size(), ") must match dimensionality of strides (", stride.size(), ")");
  for (int64_t s : stride) check(s >= 0, Code::shape, "empty_strided: negative stride ", s);
  return created(unset(flambeau::empty_strided(size, stride, dtype_or_default(dtype),
                                               device_or_default(device))),
                 requires_grad);
}

Tensor empty_like(const Tensor& x, Dtype dtype, Device device, bool requires_grad) {
  return created(unset(laid_out_like(x, dtype, device)), requires_grad);
}

Tensor zeros_like(const Tensor& x, Dtype dtype, Device device, bool requires_grad) {
  Tensor t = laid_out_like(x, dtype, device);
  fill_bytes(t.data(), t.device(), 0, t.nbytes());
  return created(std::move(t), requires_grad);
}

Tensor ones_like(const Tensor& x, Dtype dtype, Device device, bool requires_grad) {
  return full_like(x, wrapped_number(int64_t{1}), dtype, device, requires_grad);
}

Tensor full_like(const Tensor& x, const Tensor& value, Dtype dtype, Device device,
                 bool requires_grad) {
  check(value.dim() == 0, Code::shape,
        "full_like: fill_value must be a number or a 0-d tensor, got ", value);
  Tensor t = laid_out_like(x, dtype, device);
  fill_from(t, value);
  return created(std::move(t), requires_grad);
}

// x with one index of each dimension in which it repeats itself; undefined where there is none.
static Tensor without_repeats(const Tensor& x) {
  Dims sizes(x.sizes());
  bool repeats = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (x.strides()[d] != 0 || sizes[d] <= 1) continue;
    sizes[d] = 1;
    repeats = true;
  }
  return repeats ? as_strided(x, sizes, x.strides(), x.offset()) : Tensor();
}

Tensor fill_(const Tensor& x, const Tensor& value) {
  check(value.dim() == 0, Code::shape,
        "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
        " dimensions.");
  if (value.is_wrapped_number()) check_fits(value, x.dtype());  // a tensor is cast
  const Tensor once = value.is_wrapped_number() ? without_repeats(x) : Tensor();
  if (once) {
    copy_(once, value, false);
    return x;
  }
  return copy_(x, value, false);
}

Tensor zero_(const Tensor& x) {
  if (const Tensor once = without_repeats(x)) {
    zero_(once);
    return x;
  }
  Destination to(x, kZeroOp, Destination::inplace);
  Call c{kZeroOp.to(to), {x}};
  const Tensor& target = c.write_target();
  if (target.is_contiguous()) {
    fill_bytes(target.data(), target.device(), 0, target.nbytes());
  } else {
    run_cast(target, wrapped_number(int64_t{0}));
  }
  return c.constant(target);
}

Tensor resize_(const Tensor& x, DimsView size) {
  check(!requires_grad(x) || modes.inference, Code::autograd,
        "cannot resize variables that require grad");
  if (std::equal(size.begin(), size.end(), x.sizes().begin(), x.sizes().end())) return x;
  const size_t bytes = (size_t(numel_of(size)) + size_t(x.offset())) * x.element_size();
  const size_t held = x.storage()->bytes();
  if (bytes > held) {
    Storage& old = *x.storage();
    check(old.resizable(), Code::invalid_argument,
          "Trying to resize storage that is not resizable: its memory is not the library's, or "
          "others, such as a NumPy array, share it");
    auto bigger = make_ref<Storage>(old.device(), bytes);
    if (old.bytes())
      copy_bytes(bigger->data(), old.device(), old.data(), old.device(), old.bytes(), false);
    old.swap_memory(*bigger);
  }
  x.impl()->set_geometry(x.offset(), size, contiguous_strides(size));
  if (bytes > held) {  // what was there before stays, whoever wrote it
    const GradMode off(false);
    const auto begin = std::max(int64_t(held / x.element_size()), x.offset());
    unset(as_strided(x, Dims{x.offset() + x.numel() - begin}, Dims{1}, begin));
  }
  x.writes().add("resize", "_");
  return x;
}

}  // namespace ops
}  // namespace flambeau
