// Complex numbers as pairs of reals and back: views of the same memory whose gradients are the same
// views of gradients.
#include "base/error.h"
#include "ops/scalar_name.h"
#include "ops/shape/view.h"
#include "tensor/parts.h"

namespace flambeau::ops {

namespace {

struct ViewAsRealBackward {
  static constexpr auto name = "ViewAsRealBackward0";
  Tensors operator()(const Tensor& dy) const { return {pairs_as_complex(dy)}; }
};

struct ViewAsComplexBackward {
  static constexpr auto name = "ViewAsComplexBackward0";
  Tensors operator()(const Tensor& dy) const { return {view_as_real(dy)}; }
};

template <class F> Tensor recorded(const Op& name, Tensor v, const Tensor& x, F&& f) {
  set_base(v, x);
  if (!modes.grad || x.impl()->inference || !requires_grad(x)) return v;
  Call c{name, {x}};
  return c.track(std::move(v), std::forward<F>(f));
}

}  // namespace

Tensor pairs_as_complex(const Tensor& pairs) {
  bool fits = pairs.strides().back() == 1 && pairs.offset() % 2 == 0;
  for (size_t i = 0; i + 1 < pairs.strides().size(); ++i)
    fits &= pairs.sizes()[i] <= 1 || pairs.strides()[i] % 2 == 0;
  return view_as_complex(fits ? pairs : pairs.is_contiguous() ? clone(pairs) : contiguous(pairs));
}

Tensor view_as_real(const Tensor& x) {
  check(is_complex(x.dtype()), Code::dtype,
        "view_as_real is only supported for complex tensors, got ", x);
  return recorded(op::view_as_real, pairs_of(x), x, ViewAsRealBackward{});
}

Tensor view_as_complex(const Tensor& input) {
  const Tensor x = modes.autocast ? Call{op::view_as_complex, {input}}[0] : input;
  if (x.dtype() != Dtype::f32 && x.dtype() != Dtype::f64) {
    fail(Code::dtype,
         "view_as_complex is only supported for float and double tensors, but got a tensor of "
         "scalar type: ",
         scalar_name(x.dtype()), "; convert it: x.float()");
  }
  return recorded(op::view_as_complex, complex_of(x), x, ViewAsComplexBackward{});
}

Tensor real(const Tensor& x) { return is_complex(x.dtype()) ? select(view_as_real(x), -1, 0) : x; }

Tensor imag(const Tensor& x) {
  check(is_complex(x.dtype()), Code::dtype,
        "imag is not implemented for tensors with non-complex dtypes.");
  return select(view_as_real(x), -1, 1);
}

}  // namespace flambeau::ops
