// Matrix products. One recorded op, a product of (batches of) matrices with an optional addend,
// carries all of them; vectors and shared right operands are brought to that form by views.
#include "base/error.h"
#include "graph/receiver.h"
#include "kernels/gemm/gemm.h"
#include "kernels/map/map.h"
#include "kernels/product/gelu.h"
#include "kernels/product/row_sums.h"
#include "kernels/product/weight.h"
#include "ops/call.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/complex.h"
#include "ops/ops.h"

namespace flambeau::ops {

namespace {

struct MatmulBackward {
  Saved a, b;
  static constexpr auto name = "MmBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? matmul(dy, transpose(b, -2, -1)) : Tensor(),
            wanted(1) ? matmul(transpose(a, -2, -1), dy) : Tensor()};
  }
};

struct AddmmBackward {
  Saved a, b;
  double alpha, beta;
  static constexpr auto name = "AddmmBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor scaled = alpha == 1 ? dy : mul(dy, wrapped_number(alpha));
    return {!wanted(0)  ? Tensor()
            : beta == 1 ? dy
                        : mul(dy, wrapped_number(beta)),
            wanted(1) ? matmul(scaled, transpose(b, -2, -1)) : Tensor(),
            wanted(2) ? matmul(transpose(a, -2, -1), scaled) : Tensor()};
  }
};

// Everything but the last dimension in one; sizes of 0 leave nothing to infer it from.
Tensor as_rows(const Tensor& x) {
  int64_t rows = 1;
  for (const int64_t n : x.sizes().first(size_t(x.dim()) - 1)) rows *= n;
  return reshape(x, Dims{rows, x.size(-1)});
}

// The gradients of weight and bias in one pass, where there is one; it has no gradient itself.
bool both_gradients(const Tensor& dy, const Tensor& x, Tensors& g) {
  if (modes.grad || dy.dtype() != x.dtype() || !product_sums_rows(dy)) return false;
  if (dy.numel() == 0 || x.numel() == 0) return false;
  const Op op{"linear_backward"};
  const Call c{op, {dy, x}, Devices::exact};
  const Tensor weight = flambeau::empty(Dims{dy.size(1), x.size(1)}, x.dtype(), x.device()),
               bias = flambeau::empty(Dims{dy.size(1)}, x.dtype(), x.device());
  if (!run_gemm_with_sums(weight, bias, dy, x)) return false;
  g[1] = weight;
  g[2] = bias;
  return true;
}

// The gradient of what went into the gelu that made the input, where that gelu is all that gets it
// and the product can make it in its pass: then the gelu has nothing left to do.
Tensor through_gelu(const Tensor& dy, const Tensor& w) {
  if (modes.grad || !receivers || dy.numel() == 0 || !product_takes_gelu(dy)) return {};
  const auto* const gelu = dynamic_cast<const GeluNode*>(receivers->only(0));
  const Tensor x = gelu ? gelu->input() : Tensor();
  if (!x) return {};
  const int64_t rows = dy.size(0), features = w.size(1);
  const bool fits = x.numel() > 0 && x.numel() == rows * features && x.is_contiguous();
  if (!fits || x.dtype() != dy.dtype() || x.device() != dy.device() || w.dtype() != dy.dtype())
    return {};
  const Op op{"linear_backward"};
  const Call c{op, {dy, w, x}, Devices::exact};
  const Tensor dx = flambeau::empty(Dims{rows, features}, dy.dtype(), dy.device());
  const Tensor flat = alias(x, Dims{rows, features}, Dims{features, 1}, x.offset());
  if (!run_gemm_with_gelu_slope(dx, dy, w, flat)) return {};
  receivers->served(0);
  return dx;
}

struct LinearBackward {
  Saved x, w;
  Dims bias;
  static constexpr auto name = "AddmmBackward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor dy2 = as_rows(dy);
    Tensors g(3);
    if (wanted(0)) {
      const Tensor weight = w, through = through_gelu(dy2, weight);
      g[0] = reshape(through ? through : matmul(dy2, weight), x.unchecked().sizes());
    }
    if (wanted(1) && wanted(2) && bias.size() == 1 && both_gradients(dy2, as_rows(x), g)) return g;
    if (wanted(1)) g[1] = matmul(transpose(dy2, 0, 1), as_rows(x));
    if (wanted(2)) g[2] = sum_to(dy2, bias);
    return g;
  }
};

void check_same_dtype(const Op& op, const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) [[likely]]
    return;
  fail(Code::dtype, op, ": expected ", op.operand(0), " and ", op.operand(1),
       " to have the same dtype, but got: ", name_of(a.dtype()), " != ", name_of(b.dtype()),
       ". Convert one with .to(dtype)");
}

[[noreturn]] void fail_inner(const Op& op, const Tensor& a, const Tensor& b) {
  throw Error(
      Code::shape,
      cat_text("mat1 and mat2 shapes cannot be multiplied (", a.size(-2), "x", a.size(-1), " and ",
               b.size(-2), "x", b.size(-1), ")"),
      cat_text(op, "(", op.operand(0), ": ", describe(a), ", ", op.operand(1), ": ", describe(b),
               "): the inner sizes ", a.size(-1), " and ", b.size(-2), " differ"),
      a.size(-1) == b.size(-1) ? "transpose the second operand" : "");
}

// Sums of one term are an outer product, without packing or sums: the gradient of a matrix that was
// multiplied by one vector.
void run_product(const Op& op, const Tensor& y, const Tensor& a, const Tensor& b) {
  if (a.size(-1) != 1 || !is_floating(y.dtype())) return run_gemm(op, y, a, b);
  const Tensor* const factors[] = {&a, &b};
  run_map(op, kMul, y.dtype(), y, factors, {});
}

// Both at least 2-d; batch dimensions broadcast.
Tensor product(Form op, const Tensor& a, const Tensor& b) {
  Call c{op, {a, b}};
  check_same_dtype(op, c[0], c[1]);
  if (c[0].size(-1) != c[1].size(-2)) fail_inner(op, c[0], c[1]);
  if (has_complex(a)) [[unlikely]]
    return of_complex::bilinear(
        a, b, [&](const Tensor& x, const Tensor& y) { return product(op::matmul, x, y); });
  const DimsView sa = c[0].sizes(), sb = c[1].sizes();
  Dims sizes = broadcast_shapes(sa.first(sa.size() - 2), sb.first(sb.size() - 2));
  sizes.push_back(c[0].size(-2));
  sizes.push_back(c[1].size(-1));
  Tensor y = c.output(sizes, c[0].dtype());
  run_product(op, y, c[0], c[1]);
  return c.track(std::move(y), MatmulBackward{c.save(c[0]), c.save(c[1])});
}

Tensor add_product(Form op, const Tensor& x, const Tensor& a, const Tensor& b, double beta,
                   double alpha) {
  Call c{op, {x, a, b}, Devices::exact};
  check_same_dtype(op, c[1], c[2]);
  check_same_dtype(op, c[0], c[1]);
  if (c[1].size(-1) != c[2].size(-2)) fail_inner(op, c[1], c[2]);
  Dims sizes(c[1].sizes());
  sizes.back() = c[2].size(-1);
  check(broadcasts_to(c[0].sizes(), sizes), Code::shape, op, ": input of shape ",
        ShapeText{c[0].sizes()}, " does not broadcast to the product's ", ShapeText{sizes});
  if (has_complex(a)) [[unlikely]] {
    const Tensor y = product(op::matmul, a, b);
    const Tensor scaled = alpha == 1 ? y : mul(y, wrapped_number(alpha));
    if (beta == 0) return scaled;
    return add(scaled, beta == 1 ? x : mul(x, wrapped_number(beta)));
  }
  Tensor y = c.output(sizes, c[1].dtype());
  run_gemm(op, y, c[1], c[2], {.c = &c[0], .alpha = alpha, .beta = beta});
  return c.track(std::move(y), AddmmBackward{c.save(c[1]), c.save(c[2]), alpha, beta});
}

void check_dim(const char* op, const char* name, const Tensor& x, int64_t dim) {
  check(x.dim() == dim, Code::shape, op, ": ", name, " must be a ", dim, "D tensor, got ", x);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Into into) {
  check(a.dim() > 0 && b.dim() > 0, Code::shape,
        "matmul: both arguments need to be at least 1D, but they are ", a.dim(), "D and ", b.dim(),
        "D");
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  // A product within another shape does not write into matmul's destination.
  if (a.dim() == 1) return squeeze(product(op::mm, unsqueeze(a, 0), b), Dims{-2});
  if (b.dim() == 1) return squeeze(product(op::mm, a, unsqueeze(b, 1)), Dims{-1});
  if (a.dim() > 2 &&
      b.dim() == 2) {  // one product instead of a batch: its gradient needs no sum over batches
    Dims sizes(a.sizes());
    sizes.back() = b.size(1);
    if (a.size(-1) != b.size(0)) fail_inner(op::matmul, a, b);
    if (a.numel() > 0) return reshape(product(op::mm, reshape(a, Dims{-1, a.size(-1)}), b), sizes);
  }
  return product(op::matmul.to(into), a, b);
}

Tensor mm(const Tensor& a, const Tensor& b, Into into) {
  check_dim(op::mm, "input", a, 2);
  check_dim(op::mm, "mat2", b, 2);
  return product(op::mm.to(into), a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b, Into into) {
  check_dim(op::bmm, "batch1", a, 3);
  check_dim(op::bmm, "batch2", b, 3);
  check(a.size(0) == b.size(0), Code::shape, "bmm: batches of ", a.size(0), " and ", b.size(0),
        " matrices do not match");
  return product(op::bmm.to(into), a, b);
}

Tensor mv(const Tensor& a, const Tensor& x, Into into) {
  check_dim(op::mv, "input", a, 2);
  check_dim(op::mv, "vec", x, 1);
  check(a.size(1) == x.size(0), Code::shape, "mv: size mismatch, got input of shape ",
        ShapeText{a.sizes()}, " and vec of shape ", ShapeText{x.sizes()});
  const Call c{op::mv.to(into), {a, x}};
  check_same_dtype(op::mv, c[0], c[1]);
  return squeeze(product(op::mv, c[0], unsqueeze(c[1], 1)), Dims{1});
}

Tensor dot(const Tensor& a, const Tensor& b, Into into) {
  check_dim(op::dot, "input", a, 1);
  check_dim(op::dot, "tensor", b, 1);
  const Call c{op::dot.to(into), {a, b}};
  check_same_dtype(op::dot, c[0], c[1]);
  check(a.numel() == b.numel(), Code::shape, "inconsistent tensor size, expected tensor ",
        ShapeText{a.sizes()}, " and src ", ShapeText{b.sizes()},
        " to have the same number of elements");
  return reshape(product(op::dot, unsqueeze(c[0], 0), unsqueeze(c[1], 1)), Dims{});
}

Tensor outer(const Tensor& a, const Tensor& b, Into into) {
  check_dim(op::outer, "input", a, 1);
  check_dim(op::outer, "vec2", b, 1);
  const Call c{op::outer.to(into), {a, b}};
  return mul(unsqueeze(a, 1), unsqueeze(b, 0));
}

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, double beta, double alpha,
             Into into) {
  check_dim(op::addmm, "mat1", a, 2);
  check_dim(op::addmm, "mat2", b, 2);
  return add_product(op::addmm.to(into), x, a, b, beta, alpha);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, double beta, double alpha,
               Into into) {
  check_dim(op::baddbmm, "batch1", a, 3);
  check_dim(op::baddbmm, "batch2", b, 3);
  return add_product(op::baddbmm.to(into), x, a, b, beta, alpha);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Into) {
  if (weight.dim() == 1) {
    const Tensor y = matmul(x, weight);
    return bias ? add(y, bias) : y;
  }
  check(weight.dim() == 2, Code::shape, "linear: weight must be 1-d or 2-d, got ", weight);
  check(x.dim() > 0, Code::shape, "linear: input must have at least 1 dimension, got ", x);
  Call c{op::linear, {x, weight, bias}, Devices::exact};
  check_same_dtype(op::linear, c[0], c[1]);
  if (c[0].size(-1) != c[1].size(1)) {
    const std::string owner = tensor_owner ? tensor_owner(weight) : "";
    throw Error(Code::shape,
                cat_text("mat1 and mat2 shapes cannot be multiplied (",
                         x.numel() / std::max<int64_t>(x.size(-1), 1), "x", x.size(-1), " and ",
                         weight.size(1), "x", weight.size(0), ")"),
                cat_text("linear(input: ", describe(x), ", weight: ", describe(weight),
                         "): input has ", x.size(-1), " features, weight expects ", weight.size(1),
                         owner.empty() ? "" : "\nweight is " + owner),
                weight.size(0) == x.size(-1) ? "weight is [out_features, in_features]: transpose it"
                : x.numel() / std::max<int64_t>(x.size(0), 1) == weight.size(1)
                    ? "flatten the input first: x.flatten(1)"
                    : "");
  }
  if (has_complex(x)) [[unlikely]] {
    const Tensor y = matmul(x, transpose(weight, 0, 1));
    return bias ? add(y, bias) : y;
  }
  Dims sizes(c[0].sizes());
  sizes.back() = c[1].size(0);
  const Tensor rows = c[0].dim() == 2 ? c[0] : as_rows(detach(c[0]));
  Tensor y = c.output(sizes, c[0].dtype());
  const Tensor flat = c[0].dim() == 2 ? y
                                      : alias(y, Dims{rows.size(0), sizes.back()},
                                              Dims{sizes.back(), 1}, y.offset());
  if (c[2]) {
    check(broadcasts_to(c[2].sizes(), flat.sizes()), Code::shape, "linear: bias of shape ",
          ShapeText{c[2].sizes()}, " does not broadcast to ", ShapeText{flat.sizes()},
          ": expected one element per row of weight ", weight);
    run_gemm_by_weight(op::linear, flat, rows, c[1], {.c = &c[2]});
  } else {
    run_gemm_by_weight(op::linear, flat, rows, c[1]);
  }
  return c.track(std::move(y),
                 LinearBackward{c.save(c[0]), c.save(c[1]), c[2] ? Dims(c[2].sizes()) : Dims{}});
}

}  // namespace flambeau::ops
