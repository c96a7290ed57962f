// Attention without a matrix of all scores: by the kernels of kernels/attention where there are any
// (on the host forward, on devices for half types and f32), else by passes of products
// (attention_passes.h), which also drop weights on the host and make the gradients of masks there.
// What forward took, backward takes, for both drop the same weights.
#include "ops/nn/attention_tiles.h"

#include <algorithm>
#include <vector>

#include "kernels/attention/attention.h"
#include "ops/nn/attention_passes.h"
#include "tensor/joined.h"

namespace flambeau::ops {

namespace {

constexpr Op kOp = op::scaled_dot_product_attention;

int64_t columns_of(const Tensor& q, const Tensor& v) { return std::max(q.size(-1), v.size(-1)); }

// Whether devices' kernels, forward and backward, take such heads.
bool has_both(const Tensor& q, const Tensor& v) {
  return has_attention(q.device(), q.dtype(), columns_of(q, v)) &&
         has_attention_backward(q.device(), q.dtype(), columns_of(q, v));
}

PassHow passes_of(const AttentionHow& how) {
  return {kOp, how.scale, how.causal ? KeyBand{.right = 0} : KeyBand{}, how.dropped, how.draw};
}

// Laid out as torch's: in the order of q's dimensions, where its rows are dense.
Tensor result_of(const Tensor& q, const Tensor& v) {
  Dims sizes(q.sizes());
  sizes.back() = v.size(-1);
  const Tensor* const order[] = {&q};
  const Dims strides =
      q.dim() == 4 && q.stride(3) == 1 ? dense_strides(order, sizes) : contiguous_strides(sizes);
  return flambeau::empty_strided(sizes, strides, q.dtype(), q.device());
}

Tensor lifted_mask(const Tensor& added) { return added ? lifted(added) : added; }

// `statistics` is for the gradient's kernel, or undefined.
Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
               const AttentionHow& how, const Tensor& statistics) {
  const Tensor result = result_of(q, v), y = lifted(result), lq = lifted(q), lk = lifted(k),
               lv = lifted(v);
  const bool kernel =
      how.dropped > 0 ? has_both(q, v) : has_attention(q.device(), q.dtype(), columns_of(q, v));
  if (kernel) {
    run_attention(kOp, {y, lq, lk, lv, mask_of(added, q.dtype()), statistics}, how);
  } else {
    attention_passes(y, {lq, lk, lv, lifted_mask(added)}, passes_of(how));
  }
  return result;
}

// Uninitialised gradients of q, k and v, beside each other where these are parts of one projection,
// of which they are the gradient then without a copy; and one more.
Tensors gradients_of(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor of[] = {q, k, v};
  Tensors grads(4);
  for (size_t d = 0; d < q.sizes().size(); ++d) {
    const Tensor whole = joined_in_place(of, d);
    if (!whole) continue;
    const Tensor memory =
        flambeau::empty_strided(whole.sizes(), whole.strides(), q.dtype(), q.device());
    for (size_t i = 0; i < 3; ++i)
      grads[i] = alias(memory, of[i].sizes(), memory.strides(), of[i].offset() - q.offset());
    return grads;
  }
  for (size_t i = 0; i < 3; ++i) grads[i] = by_places(of[i].sizes(), q.dtype(), q.device());
  return grads;
}

// By passes; the mask's gradient where it is asked for.
Tensors backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& added, const AttentionHow& how, bool of_mask) {
  Tensors grads = gradients_of(q, k, v);
  const Tensor lq = lifted(q), lk = lifted(k), lv = lifted(v), mask = lifted_mask(added);
  const Dtype wide = is_half(q.dtype()) ? Dtype::f32 : q.dtype();
  const Tensor dmask = of_mask ? zeros(added.sizes(), wide, q.device()) : Tensor();
  attention_slope_passes(
      {lq, lk, lv, mask},
      {lifted(dy), lifted(grads[0]), lifted(grads[1]), lifted(grads[2]), lifted_mask(dmask)},
      passes_of(how));
  if (dmask) grads[3] = to_dtype(dmask, added.dtype());
  return grads;
}

// By one launch, from what forward kept.
Tensors backward_of(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                    const Tensor& added, const Tensor& y, const Tensor& statistics,
                    const AttentionHow& o, bool of_mask) {
  Tensors grads = gradients_of(q, k, v);
  const Tensor dmask = of_mask ? flambeau::empty(added.sizes(), Dtype::f32, q.device()) : Tensor();
  run_attention_backward(
      kOp, {lifted(y), lifted(q), lifted(k), lifted(v), mask_of(added, q.dtype()), statistics},
      {lifted(dy), lifted(grads[0]), lifted(grads[1]), lifted(grads[2]),
       dmask ? lifted(dmask) : dmask},
      o);
  if (dmask) grads[3] = to_dtype(dmask, added.dtype());
  return grads;
}

// What each weight is multiplied by, as forward's kernel drew it: values that are a unit matrix
// show weights that are equal.
Tensor drawn_by_kernel(const Tensor& q, const Tensor& k, const AttentionHow& how) {
  constexpr int64_t narrow_head = 8, columns = 256;
  const auto nothing = [&](const Tensor& t) {
    Dims sizes(t.sizes());
    sizes.back() = narrow_head;
    return zeros(sizes, Dtype::f32, t.device());
  };
  const int64_t keys = k.size(-2);
  const Tensor lq = nothing(q), lk = nothing(k), unit = eye(keys, keys, Dtype::f32, q.device());
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < keys; first += columns) {
    const Tensor some = narrow(unit, 1, first, std::min(columns, keys - first));
    Dims sizes(k.sizes());
    sizes.back() = some.size(1);
    parts.push_back(forward(lq, lk, expand(some, sizes), Tensor(), how, Tensor()));
  }
  const double factor = how.dropped < 1 ? 1 / (1 - how.dropped) : 0;
  return mul(to_dtype(gt(cat(parts, -1), num(0.0)), q.dtype()), num(factor));
}

// The same of either way; undefined where none is dropped. Only gradients of gradients have such a
// tensor.
Tensor drawn_again(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionHow& how) {
  if (how.dropped == 0) return {};
  const GradMode no_grad(false);
  if (has_both(q, v)) return drawn_by_kernel(q, k, how);
  Dims sizes(q.sizes());
  sizes.back() = k.size(-2);
  const Tensor factors = zeros(sizes, q.dtype(), q.device());
  drawn_passes(lifted(factors), lifted(q), lifted(k), passes_of(how));
  return factors;
}

// A head of k or v for every head of q, where they are not shared in place.
Tensor for_each_head(const Tensor& t, const Tensor& q) {
  if (q.dim() < 3 || t.size(-3) == q.size(-3)) return t;
  return repeat_interleave(t, q.size(-3) / t.size(-3), int64_t{-3});
}

// The gradient of what for_each_head was given.
Tensor of_shared_heads(const Tensor& slope, const Tensor& t) {
  if (slope.dim() < 3 || t.size(-3) == slope.size(-3)) return slope;
  Dims sizes(slope.sizes());
  const size_t heads = sizes.size() - 3;
  sizes.insert(heads + 1, sizes[heads] / t.size(-3));
  sizes[heads] = t.size(-3);
  const int64_t shared = -3;
  return sum(reshape(slope, sizes), {&shared, 1}, false);
}

struct AttentionBackward {
  Saved q, k, v, added;
  Saved y, statistics;  // where there is a kernel for the gradient
  AttentionHow options;
  static constexpr auto name = "ScaledDotProductFlashAttentionForCpuBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor a = q, keys = k, values = v, mask = added.defined() ? added.get() : Tensor();
    if (!modes.grad && statistics.defined())
      return backward_of(dy, a, keys, values, mask, y, statistics, options, wanted(3));
    if (!modes.grad) return backward(dy, a, keys, values, mask, options, wanted(3));
    const Tensor b = for_each_head(keys, a), c = for_each_head(values, a);
    const Tensor hidden =
        !options.causal ? mask : causal_mask(a.size(-2), b.size(-2), a.dtype(), a.device());
    const Tensor kept = drawn_again(a, keys, values, options);
    const Tensors grads = attention_slopes(dy, a, b, c, hidden, kept, options.scale);
    return {grads[0], of_shared_heads(grads[1], keys), of_shared_heads(grads[2], values),
            wanted(3) ? sum_to(grads[3], mask.sizes()) : Tensor()};
  }
};

}  // namespace

Tensors attention_slopes(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                         const Tensor& added, const Tensor& kept, double scale) {
  const auto dropped = [&](const Tensor& t) { return kept ? mul(t, kept) : t; };
  const Tensor w = attention_weights(q, k, added, scale);
  const Tensor dw = dropped(matmul(dy, transpose(v, -2, -1)));
  const int64_t last = -1;
  const Tensor slope = mul(sub(dw, sum(mul(dw, w), {&last, 1}, true)), w);
  return {mul(matmul(slope, k), num(scale)), mul(matmul(transpose(slope, -2, -1), q), num(scale)),
          matmul(transpose(dropped(w), -2, -1), dy), slope};
}

bool takes_tiles(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
                 double dropped, bool shared_heads) {
  if (q.dim() > 4 || q.dim() != k.dim() || q.dim() != v.dim()) return false;
  Dims scores(q.sizes());
  for (int64_t d = 0; d < q.dim() - 2; ++d) {
    if (k.size(d) != v.size(d)) return false;
    const bool shared = shared_heads && d == q.dim() - 3 && k.size(d) && q.size(d) % k.size(d) == 0;
    if (k.size(d) != q.size(d) && !shared) return false;
  }
  if (k.dtype() != q.dtype() || v.dtype() != q.dtype()) return false;
  if (k.size(-1) != q.size(-1) || v.size(-2) != k.size(-2) || !is_floating(q.dtype())) return false;
  if (q.numel() == 0 || k.numel() == 0 || v.numel() == 0) return false;
  scores.back() = k.size(-2);
  return dropped >= 0 && dropped <= 1 && (!added || broadcasts_to(added.sizes(), scores));
}

Tensor attention_by_tiles(const Tensor& q, const Tensor& given_k, const Tensor& given_v,
                          const Tensor& added, const AttentionOptions& options) {
  // Passes on devices add in the type of k: sums of half types over heads would be rounded for
  // each.
  const bool rounds = is_half(q.dtype()) && kernel_column(q.device()) != KernelColumn::host &&
                      !has_both(q, given_v);
  const Tensor k = rounds ? for_each_head(given_k, q) : given_k,
               v = rounds ? for_each_head(given_v, q) : given_v;
  Call c{kOp, {q, k, v, added}, Devices::exact};
  const bool masked = added.defined() && c.needs_grad();
  AttentionHow how{options.scale, options.causal, options.dropped};
  if (options.dropped > 0) {
    const uint64_t draws =
        has_both(q, v) ? 1 : draws_of_passes(lifted(q), lifted(k), passes_of(how).band);
    how.draw = draw_from(kOp, nullptr, q.device(), draws);
  }
  AttentionBackward gradient{c.save(q), c.save(k), c.save(v), masked ? c.save(added) : Saved(),
                             {},        {},        how};
  Tensor statistics;
  if (c.needs_grad() && has_both(q, v)) {
    const Tensor rows = lifted(q);
    statistics =
        flambeau::empty(Dims{rows.size(0), rows.size(1), rows.size(2), 2}, Dtype::f32, q.device());
  }
  const Tensor y = forward(q, k, v, added, how, statistics);
  if (statistics) {
    gradient.y = c.save_output(y);
    gradient.statistics = c.save(statistics);
  }
  return c.track(y, std::move(gradient));
}

}  // namespace flambeau::ops
