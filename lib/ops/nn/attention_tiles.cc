// Attention by tiles: some entries of the batch and some rows of queries at a time go through
// product, softmax and product, and backward computes their weights again, so that memory grows
// with the length and not with its square. A row sees all its keys at once, so neither a running
// maximum nor a saved sum is needed; a causal tile leaves out the keys after its last row. Half
// types are widened by tile. Where there is a kernel of its own (kernels/attention: on the host
// forward, on devices for half types and f32) that one is launched.
// Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021); Dao, Fu, Ermon, Rudra and
// Re, "FlashAttention" (2022).
#include "ops/nn/attention_tiles.h"

#include <algorithm>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "ops/nn/attention_cut.h"
#include "ops/random/draw.h"
#include "tensor/joined.h"

namespace flambeau::ops {

namespace {

constexpr Op kOp = op::scaled_dot_product_attention;

void weights_of(const Tensor& w, const Tensor& q, const Tensor& k, const Tensor& mask) {
  run_gemm(kOp, w, q, turned(k), {.c = mask ? &mask : nullptr});
  run_row(kOp, kSoftmax, w.dtype(), -1, {out_row(w), row(w)}, {1.0});
}

void forward_by_tiles(const Tensor& y, const Tensor& lq, const Tensor& lk, const Tensor& lv,
                      const Tensor& added, const AttentionOptions& o) {
  const Cut cut(lq, lk, o.causal);
  const Mask mask(cut, added, lq.device());
  const Scores scores(cut, lq);
  for (int64_t first = 0; first < cut.pieces; first += cut.piece) {
    const int64_t n = std::min(cut.piece, cut.pieces - first);
    const Tensor qs = mul(taken(cut, lq, first, n), num(o.scale)), ks = taken(cut, lk, first, n),
                 vs = taken(cut, lv, first, n), ys = place_of(cut, y, first, n);
    for (int64_t row = 0; row < cut.length; row += cut.rows) {
      const int64_t rows = std::min(cut.rows, cut.length - row), seen = cut.seen(row, rows);
      const Tensor tile = part(qs, 2, row, rows), w = scores.like(tile, seen);
      weights_of(w, tile, part(ks, 2, 0, seen), mask.tile(cut, first, n, row, rows));
      run_gemm(kOp, part(ys, 2, row, rows), w, part(vs, 2, 0, seen));
    }
    give_back(cut, y, first, n, ys);
  }
}

int64_t columns_of(const Tensor& q, const Tensor& v) { return std::max(q.size(-1), v.size(-1)); }

// `statistics` is for the gradient's kernel, or undefined.
Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
               const AttentionHow& o, const Tensor& statistics) {
  Dims sizes(q.sizes());
  sizes.back() = v.size(-1);
  // Laid out as torch's: in the order of q's dimensions, where its rows are dense.
  const Tensor* const order[] = {&q};
  const Dims strides =
      q.dim() == 4 && q.stride(3) == 1 ? dense_strides(order, sizes) : contiguous_strides(sizes);
  const Tensor result = flambeau::empty_strided(sizes, strides, q.dtype(), q.device());
  const Tensor y = lifted(result), lq = lifted(q);
  if (has_attention(q.device(), q.dtype(), columns_of(q, v))) {
    run_attention(kOp, {y, lq, lifted(k), lifted(v), mask_of(added, q.dtype()), statistics}, o);
  } else {
    const Tensor lk = lifted(k), lv = lifted(v), mask = added ? lifted(added) : added;
    const int64_t places = sharing(lq, lk);
    for (int64_t i = 0; i < places; ++i) {
      const auto own = [&](const Tensor& t) { return t ? of_place(t, places, i) : t; };
      forward_by_tiles(own(y), own(lq), lk, lv, own(mask), {o.scale, o.causal});
    }
  }
  return result;
}

// Gradients of one piece of the batch.
struct Piece {
  Tensor q{}, k{}, v{}, dy{}, dq{}, dk{}, dv{};  // q scaled
  bool begun = false;                            // dk and dv hold the sums of other heads of q
};

void backward_piece(const Cut& cut, const Piece& p, const Mask& mask, int64_t first,
                    const Scores& weights, const Scores& slopes, double scale) {
  const bool unseen = cut.seen(cut.length - cut.rows, cut.rows) < cut.keys;  // keys, by all queries
  if (unseen && !p.begun) {
    zero_(p.dk);
    zero_(p.dv);
  }
  const int64_t n = p.q.size(int64_t(cut.dim)), last = (cut.length - 1) / cut.rows * cut.rows;
  for (int64_t at = last; at >= 0; at -= cut.rows) {  // the first one done sees the most keys
    const int64_t rows = std::min(cut.rows, cut.length - at), seen = cut.seen(at, rows);
    const auto tile = [&](const Tensor& t) { return part(t, 2, at, rows); };
    const auto keys = [&](const Tensor& t) { return part(t, 2, 0, seen); };
    const Tensor q = tile(p.q), dy = tile(p.dy), k = keys(p.k), dk = keys(p.dk), dv = keys(p.dv);
    const Tensor w = weights.like(q, seen), s = slopes.like(q, seen);
    const bool first_sum = at == last && !p.begun;
    weights_of(w, q, k, mask.tile(cut, first, n, at, rows));
    run_gemm(kOp, dv, turned(w), dy, {.c = first_sum ? nullptr : &dv});
    run_gemm(kOp, s, dy, turned(keys(p.v)));
    run_row(kOp, kSoftmaxBackward, s.dtype(), -1, {out_row(s), row(s), row(w)});
    run_gemm(kOp, dk, turned(s), q, {.c = first_sum ? nullptr : &dk});
    run_gemm(kOp, tile(p.dq), s, k, {.alpha = scale});
  }
}

// Of one piece of k and v, all the heads of q that share them one after the other.
struct Shared {
  const Cut& cut;
  const std::vector<Mask>& masks;
  const Scores &weights, &slopes;
  double scale;

  void backward(const Tensor& dy, const Tensor& q, const Tensor& dq, Piece p, int64_t first,
                int64_t n) const {
    const int64_t places = int64_t(masks.size());
    for (int64_t i = 0; i < places; ++i) {
      const Tensor result = of_place(dq, places, i);
      p.q = mul(taken(cut, of_place(q, places, i), first, n), num(scale));
      p.dy = taken(cut, of_place(dy, places, i), first, n);
      p.dq = place_of(cut, result, first, n);
      p.begun = i > 0;
      backward_piece(cut, p, masks[size_t(i)], first, weights, slopes, scale);
      give_back(cut, result, first, n, p.dq);
    }
  }
};

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

Tensors backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& added, const AttentionOptions& o) {
  Tensors grads = gradients_of(q, k, v);
  const Tensor lq = lifted(q), lk = lifted(k), lv = lifted(v), ly = lifted(dy);
  const Tensor dk = lifted(grads[1]), dv = lifted(grads[2]);
  const int64_t places = sharing(lq, lk);
  const Tensor one = of_place(lq, places, 0), all = added ? lifted(added) : added;
  const Cut cut(one, lk, o.causal);
  std::vector<Mask> masks;
  for (int64_t i = 0; i < places; ++i)
    masks.emplace_back(cut, all ? of_place(all, places, i) : all, q.device());
  const Scores weights(cut, one), slopes(cut, one);
  const Shared shared{cut, masks, weights, slopes, o.scale};
  for (int64_t first = 0; first < cut.pieces; first += cut.piece) {
    const int64_t n = std::min(cut.piece, cut.pieces - first);
    const Piece p{.k = taken(cut, lk, first, n),
                  .v = taken(cut, lv, first, n),
                  .dk = place_of(cut, dk, first, n),
                  .dv = place_of(cut, dv, first, n)};
    shared.backward(ly, lq, lifted(grads[0]), p, first, n);
    give_back(cut, dk, first, n, p.dk);
    give_back(cut, dv, first, n, p.dv);
  }
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

// What each weight is multiplied by, as forward drew it: values that are a unit matrix show weights
// that are equal; undefined where none is dropped. Only gradients of gradients have such a tensor.
Tensor drawn_again(const Tensor& q, const Tensor& k, const AttentionHow& how) {
  if (how.dropped == 0) return {};
  const GradMode no_grad(false);
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
    // Devices add in the type of k: sums of half types over heads would be rounded for each.
    const bool host = kernel_column(a.device()) == KernelColumn::host;
    if (!modes.grad && (host || !is_half(a.dtype())))
      return backward(dy, a, keys, values, mask, {options.scale, options.causal});
    const Tensor b = for_each_head(keys, a), c = for_each_head(values, a);
    Tensors grads = modes.grad ? recorded(dy, a, b, c, mask, drawn_again(a, keys, options))
                               : backward(dy, a, b, c, mask, {options.scale, options.causal});
    return {grads[0], of_shared_heads(grads[1], keys), of_shared_heads(grads[2], values),
            grads.size() > 3 ? grads[3] : Tensor()};
  }

 private:
  // Such that the gradients have gradients.
  Tensors recorded(const Tensor& dy, const Tensor& a, const Tensor& b, const Tensor& c,
                   const Tensor& mask, const Tensor& kept) const {
    const auto dropped = [&](const Tensor& t) { return kept ? mul(t, kept) : t; };
    const Tensor hidden =
        !options.causal ? mask : causal_mask(a.size(-2), b.size(-2), a.dtype(), a.device());
    const Tensor w = attention_weights(a, b, hidden, options.scale);
    const Tensor dw = dropped(matmul(dy, transpose(c, -2, -1)));
    const int64_t last = -1;
    const Tensor slope = mul(sub(dw, sum(mul(dw, w), {&last, 1}, true)), w);
    const Tensor scale = num(options.scale);
    return {mul(matmul(slope, b), scale), mul(matmul(transpose(slope, -2, -1), a), scale),
            matmul(transpose(dropped(w), -2, -1), dy),
            wanted(3) ? sum_to(slope, mask.sizes()) : Tensor()};
  }
};

}  // namespace

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
  const bool kernel = has_attention(q.device(), q.dtype(), columns_of(q, v)) &&
                      has_attention_backward(q.device(), q.dtype(), columns_of(q, v));
  if (dropped != 0 && !(kernel && dropped > 0 && dropped <= 1)) return false;
  return !added || (broadcasts_to(added.sizes(), scores) && (kernel || !requires_grad(added)));
}

Tensor attention_by_tiles(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
                          const AttentionOptions& options) {
  Call c{kOp, {q, k, v, added}, Devices::exact};
  const bool masked = added.defined() && c.needs_grad();
  AttentionHow how{options.scale, options.causal, options.dropped};
  if (options.dropped > 0) how.draw = draw_from(kOp, nullptr, q.device());
  AttentionBackward gradient{c.save(q), c.save(k), c.save(v), masked ? c.save(added) : Saved(),
                             {},        {},        how};
  Tensor statistics;
  if (c.needs_grad() && has_attention_backward(q.device(), q.dtype(), columns_of(q, v))) {
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
