// Elementwise arithmetic of two operands and its gradients. Gradients come back in the broadcast
// shape; the engine sums them to the operands' shapes.
#include "ops/elementwise/binary.h"

#include "base/error.h"
#include "graph/masked_gradient.h"
#include "ops/elementwise/beside_half.h"
#include "ops/elementwise/complex.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

template <Name N> struct AddBackward {
  double alpha;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    return {dy, !wanted(1) ? Tensor() : alpha == 1 ? dy : mul(dy, num(alpha))};
  }
  MaskedNode::Takes takes_mask(const Tensor&) const {
    return alpha == 1 ? MaskedNode::Takes::passes_on : MaskedNode::Takes::no;
  }
};

}  // namespace

}  // namespace flambeau::ops

namespace flambeau {

template <> class NodeOf<ops::AddBackward<"AddBackward0">> final
    : public MaskedNodeOf<ops::AddBackward<"AddBackward0">> {
 public:
  using MaskedNodeOf::MaskedNodeOf;
};

}  // namespace flambeau

namespace flambeau::ops {

namespace {

struct RsubBackward {
  double alpha;
  static constexpr auto name = "RsubBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {!wanted(0) ? Tensor() : alpha == 1 ? neg(dy) : mul(dy, num(-alpha)), dy};
  }
};

struct MulBackward {
  Saved a, b;
  static constexpr auto name = "MulBackward0";
  Tensors operator()(const Tensor& dy) const {
    return {wanted(0) ? mul(dy, b) : Tensor(), wanted(1) ? mul(dy, a) : Tensor()};
  }
};

struct Atan2Backward {
  Saved a, b;
  static constexpr auto name = "Atan2Backward0";
  Tensors operator()(const Tensor& dy) const {
    const Tensor y = a, x = b, scaled = div(dy, add(mul(y, y), mul(x, x)));
    return {wanted(0) ? mul(scaled, x) : Tensor(), wanted(1) ? neg(mul(scaled, y)) : Tensor()};
  }
};

// Of equal elements each gets half.
template <Name N> struct SharedBackward {
  Saved a, b;
  bool greatest;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    const Tensor x = a, y = b, shared = where(eq(x, y), mul(dy, num(0.5)), dy);
    const Tensor lost = greatest ? lt(x, y) : gt(x, y), won = greatest ? gt(x, y) : lt(x, y);
    return {wanted(0) ? drop_where(lost, shared) : Tensor(),
            wanted(1) ? drop_where(won, shared) : Tensor()};
  }
};

// The gradient goes to the element that was taken; of equal ones each gets half.
template <Name N> struct TakenBackward {
  Saved a, b;
  bool greatest;
  static constexpr const char* name = N.text;
  Tensors operator()(const Tensor& dy) const {
    const Tensor x = a, y = b;
    const Tensor equals = eq(x, y), shared = where(equals, mul(dy, num(0.5)), dy);
    const Tensor first = logical_or(greatest ? gt(x, y) : lt(x, y), isnan(y));
    return {wanted(0) ? keep_where(logical_or(first, equals), shared) : Tensor(),
            wanted(1) ? drop_where(first, shared) : Tensor()};
  }
};

void check_subtraction(const Tensor& input, const Tensor& other) {
  const bool a = input.dtype() == Dtype::boolean, b = other.dtype() == Dtype::boolean;
  check(!a || !b, Code::dtype,
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
        "`logical_xor()` operator instead.");
  check(!a && !b, Code::dtype,
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead.");
}

// c[a] + alpha * c[b]
Tensor sum(Call& c, size_t a, size_t b, double alpha) {
  if (is_beside_half(c, b, c[a].dtype()))
    return c.map(kPlusNumber, {c[a]}, {1, alpha * number_in_float(c[b])});
  if (is_beside_half(c, a, c[b].dtype()))
    return c.map(kPlusNumber, {c[b]}, {alpha, number_in_float(c[a])});
  const bool truth = c[a].dtype() == Dtype::boolean;  // has no differences
  return alpha == 1              ? c.map(kAdd, {c[a], c[b]})
         : alpha == -1 && !truth ? c.map(kSub, {c[a], c[b]})
                                 : c.map(kAddScaled, {c[a], c[b]}, {alpha});
}

template <class Backward> Tensor chosen(Form op, const Kernel& k, const Tensor& input,
                                        const Tensor& other, bool greatest) {
  Call c{op, {input, other}};
  c.promote();
  Backward gradient{c.save(c[0]), c.save(c[1]), greatest};
  return c.track(c.map(k, {c[0], c[1]}), std::move(gradient));
}

}  // namespace

Tensor add(const Tensor& input, const Tensor& other, double alpha, Into into) {
  Call c{op::add.to(into), {input, other}};
  check_factor("alpha", alpha, promote_beside(c));
  return c.track(sum(c, 0, 1, alpha), AddBackward<"AddBackward0">{alpha});
}

Tensor sub(const Tensor& input, const Tensor& other, double alpha, Into into) {
  check_subtraction(input, other);
  Call c{op::sub.to(into), {input, other}};
  check_factor("alpha", alpha, promote_beside(c));
  return c.track(sum(c, 0, 1, -alpha), AddBackward<"SubBackward0">{-alpha});
}

Tensor rsub(const Tensor& input, const Tensor& other, double alpha) {
  check_subtraction(input, other);
  Call c{op::rsub, {input, other}};
  check_factor("alpha", alpha, promote_beside(c));
  return c.track(sum(c, 1, 0, -alpha), RsubBackward{alpha});
}

Tensor rpow(const Tensor& input, const Tensor& other) {
  const Call c{op::rpow, {input, other}};
  return pow(c[1], c[0]);
}

Tensor mul(const Tensor& input, const Tensor& other, Into into) {
  if (has_complex(input, other)) [[unlikely]]
    return of_complex::mul(input, other, into);
  Call c{op::mul.to(into), {input, other}};
  promote_beside(c);
  MulBackward gradient{c.save(c[0], c.wants(1)), c.save(c[1], c.wants(0))};
  return c.track(map_beside(c, kMul, kTimesNumber, kTimesNumber), std::move(gradient));
}

Tensor atan2(const Tensor& input, const Tensor& other, Into into) {
  Call c{op::atan2.to(into), {input, other}};
  float_operands(c);
  Atan2Backward gradient{c.save(c[0]), c.save(c[1])};
  return c.track(c.map(kAtan2, {c[0], c[1]}), std::move(gradient));
}

Tensor maximum(const Tensor& input, const Tensor& other, Into into) {
  return chosen<SharedBackward<"MaximumBackward0">>(op::maximum.to(into), kMaximum, input, other,
                                                    true);
}
Tensor minimum(const Tensor& input, const Tensor& other, Into into) {
  return chosen<SharedBackward<"MinimumBackward0">>(op::minimum.to(into), kMinimum, input, other,
                                                    false);
}
Tensor fmax(const Tensor& input, const Tensor& other, Into into) {
  return chosen<TakenBackward<"FmaxBackward0">>(op::fmax.to(into), kFmax, input, other, true);
}
Tensor fmin(const Tensor& input, const Tensor& other, Into into) {
  return chosen<TakenBackward<"FminBackward0">>(op::fmin.to(into), kFmin, input, other, false);
}

}  // namespace flambeau::ops
