// Attention by tiles: some entries of the batch and some rows of queries at a time go through
// product, softmax and product, and backward computes their weights again, so that memory grows
// with the length and not with its square. A row sees all its keys at once, so neither a running
// maximum nor a saved sum is needed; a causal tile leaves out the keys after its last row. Half
// types are widened by tile. Tiles do not depend on the number of threads. The host goes forward in
// a kernel of its own (kernels/attention).
// Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021); Dao, Fu, Ermon, Rudra and
// Re, "FlashAttention" (2022).
#include "ops/nn/attention_tiles.h"

#include <cmath>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "ops/formula.h"
#include "ops/nn/rows.h"

namespace flambeau::ops {

namespace {

constexpr Op kOp = op::scaled_dot_product_attention;
// Scores of a tile: such that the host's caches hold them, and such that a device is busy.
constexpr int64_t kHostScores = 1 << 18, kDeviceScores = 1 << 26;
constexpr int64_t kRows = 64;  // fewer leave products inefficient

// As [batch, heads, rows, columns], without history.
Tensor lifted(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  while (sizes.size() < 4) {
    sizes.insert(0, 1);
    strides.insert(0, 0);
  }
  return alias(t, sizes, strides, t.offset());
}

// Entries [first, first + n) of a dimension; all where t repeats its only one.
Tensor part(const Tensor& t, size_t d, int64_t first, int64_t n) {
  if (t.sizes()[d] == 1) return t;
  Dims sizes(t.sizes());
  sizes[d] = n;
  return alias(t, sizes, t.strides(), t.offset() + first * t.strides()[d]);
}

Tensor turned(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  std::swap(sizes[2], sizes[3]);
  std::swap(strides[2], strides[3]);
  return alias(t, sizes, strides, t.offset());
}

// Uninitialised, as a projection of several heads wants it: heads of one place of the sequence lie
// side by side.
Tensor by_places(DimsView sizes, Dtype dtype, Device device) {
  if (sizes.size() < 4) return flambeau::empty(sizes, dtype, device);
  const int64_t h = sizes[1], l = sizes[2], e = sizes[3];
  return flambeau::empty_strided(sizes, Dims{l * h * e, e, h * e, 1}, dtype, device);
}

// How a launch is cut. Gradients are summed over the tiles of one piece of the batch.
struct Cut {
  Dtype dtype;     // computed in
  size_t dim;      // of the batch that is cut
  int64_t pieces;  // its size
  int64_t piece, rows, length, keys;
  bool causal;

  Cut(const Tensor& q, const Tensor& k, bool is_causal)
      : dtype(q.dtype()),
        dim(q.size(0) > 1 ? 0 : 1),
        pieces(q.size(int64_t(dim))),
        length(q.size(2)),
        keys(k.size(2)),
        causal(is_causal) {
    const bool host = kernel_column(q.device()) == KernelColumn::host;
    const int64_t heads = q.size(0) * q.size(1) / pieces;
    if (is_half(dtype) && host) dtype = Dtype::f32;
    const int64_t budget =
        std::max<int64_t>((host ? kHostScores : kDeviceScores) / heads / keys, 1);
    rows = std::min(length, std::max(kRows, causal && host ? kRows : budget));
    piece = std::min(pieces, std::max<int64_t>(budget / rows, 1));
  }
  int64_t seen(int64_t row, int64_t n) const { return causal ? std::min(row + n, keys) : keys; }
};

// One piece of an operand, in the type that is computed in.
Tensor taken(const Cut& cut, const Tensor& t, int64_t first, int64_t n) {
  const Tensor own = part(t, cut.dim, first, n);
  if (own.dtype() == cut.dtype) return own;
  const Tensor wide = flambeau::empty(own.sizes(), cut.dtype, t.device());
  run_cast(wide, own);
  return wide;
}

// Where a piece of a result is written: in place, or widened and to be given back.
Tensor place_of(const Cut& cut, const Tensor& t, int64_t first, int64_t n) {
  const Tensor own = part(t, cut.dim, first, n);
  return t.dtype() == cut.dtype ? own : flambeau::empty(own.sizes(), cut.dtype, t.device());
}

void give_back(const Cut& cut, const Tensor& t, int64_t first, int64_t n, const Tensor& from) {
  if (t.dtype() != cut.dtype) run_cast(part(t, cut.dim, first, n), from);
}

// What is added to the scores of each tile, by dimension 2 its rows.
struct Mask {
  Tensor added;
  int64_t last_row = 0;  // of a causal one, where its last tile begins

  Mask(const Cut& cut, const Tensor& mask, Device device) {
    if (cut.causal) {
      last_row = (cut.length - 1) / cut.rows * cut.rows;
      const Tensor later =
          triu(ones(Dims{cut.rows, last_row + cut.rows}, Dtype::boolean, device), last_row + 1);
      added = lifted(masked_fill(zeros(later.sizes(), cut.dtype, device), later, num(-INFINITY)));
    } else if (mask) {
      added = lifted(to_dtype(mask, cut.dtype));
    }
  }
  Tensor tile(const Cut& cut, int64_t first, int64_t n, int64_t row, int64_t rows) const {
    if (!added) return added;
    if (!cut.causal) return part(part(added, cut.dim, first, n), 2, row, rows);
    return part(part(added, 2, 0, rows), 3, last_row - row, cut.seen(row, rows));
  }
};

// Dense memory for the scores of any tile.
struct Scores {
  Tensor memory;
  Scores(const Cut& cut, const Tensor& q)
      : memory(flambeau::empty(
            Dims{cut.piece * (q.size(0) * q.size(1) / cut.pieces) * cut.rows * cut.keys}, cut.dtype,
            q.device())) {}
  Tensor like(const Tensor& q, int64_t keys) const {
    const Dims sizes{q.size(0), q.size(1), q.size(2), keys};
    return alias(memory, sizes, contiguous_strides(sizes), 0);
  }
};

void weights_of(const Tensor& w, const Tensor& q, const Tensor& k, const Tensor& mask) {
  run_gemm(kOp, w, q, turned(k), {.c = mask ? &mask : nullptr});
  run_row(kOp, kSoftmax, w.dtype(), -1, {out_row(w), row(w)}, {1.0});
}

// A head of k or v for every head of q.
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

Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
               const AttentionOptions& o) {
  Dims sizes(q.sizes());
  sizes.back() = v.size(-1);
  // Laid out as torch's: in the order of q's dimensions, where its rows are dense.
  const Tensor* const order[] = {&q};
  const Dims strides =
      q.dim() == 4 && q.stride(3) == 1 ? dense_strides(order, sizes) : contiguous_strides(sizes);
  const Tensor result = flambeau::empty_strided(sizes, strides, q.dtype(), q.device());
  const Tensor y = lifted(result), lq = lifted(q);
  if (kernel_column(q.device()) == KernelColumn::host) {
    const Dtype dtype = is_half(q.dtype()) ? Dtype::f32 : q.dtype();
    const Tensor mask = added ? lifted(to_dtype(added, dtype)) : added;
    run_attention(kOp, {y, lq, lifted(k), lifted(v), mask}, o.scale, o.causal);
  } else {
    forward_by_tiles(y, lq, lifted(for_each_head(k, q)), lifted(for_each_head(v, q)), added, o);
  }
  return result;
}

// Gradients of one piece of the batch.
struct Piece {
  Tensor q, k, v, dy, dq, dk, dv;  // q scaled
};

void backward_piece(const Cut& cut, const Piece& p, const Mask& mask, int64_t first,
                    const Scores& weights, const Scores& slopes, double scale) {
  if (cut.seen(cut.length - cut.rows, cut.rows) < cut.keys) {  // keys that no query sees
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
    weights_of(w, q, k, mask.tile(cut, first, n, at, rows));
    run_gemm(kOp, dv, turned(w), dy, {.c = at == last ? nullptr : &dv});
    run_gemm(kOp, s, dy, turned(keys(p.v)));
    run_row(kOp, kSoftmaxBackward, s.dtype(), -1, {out_row(s), row(s), row(w)});
    run_gemm(kOp, dk, turned(s), q, {.c = at == last ? nullptr : &dk});
    run_gemm(kOp, tile(p.dq), s, k, {.alpha = scale});
  }
}

Tensors backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& added, const AttentionOptions& o) {
  Tensors grads(3);
  const Tensor* const of[] = {&q, &k, &v};
  for (size_t i = 0; i < 3; ++i) grads[i] = by_places(of[i]->sizes(), q.dtype(), q.device());
  const Tensor lq = lifted(q), lk = lifted(k), lv = lifted(v), ly = lifted(dy);
  const Tensor dq = lifted(grads[0]), dk = lifted(grads[1]), dv = lifted(grads[2]);
  const Cut cut(lq, lk, o.causal);
  const Mask mask(cut, added, q.device());
  const Scores weights(cut, lq), slopes(cut, lq);
  for (int64_t first = 0; first < cut.pieces; first += cut.piece) {
    const int64_t n = std::min(cut.piece, cut.pieces - first);
    const Piece p{mul(taken(cut, lq, first, n), num(o.scale)),
                  taken(cut, lk, first, n),
                  taken(cut, lv, first, n),
                  taken(cut, ly, first, n),
                  place_of(cut, dq, first, n),
                  place_of(cut, dk, first, n),
                  place_of(cut, dv, first, n)};
    backward_piece(cut, p, mask, first, weights, slopes, o.scale);
    give_back(cut, dq, first, n, p.dq);
    give_back(cut, dk, first, n, p.dk);
    give_back(cut, dv, first, n, p.dv);
  }
  return grads;
}

struct AttentionBackward {
  Saved q, k, v, added;
  AttentionOptions options;
  static constexpr auto name = "ScaledDotProductFlashAttentionForCpuBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor a = q, keys = k, values = v, mask = added.defined() ? added.get() : Tensor();
    const Tensor b = for_each_head(keys, a), c = for_each_head(values, a);
    Tensors grads = modes.grad ? recorded(dy, a, b, c, mask) : backward(dy, a, b, c, mask, options);
    return {grads[0], of_shared_heads(grads[1], keys), of_shared_heads(grads[2], values)};
  }

 private:
  // Such that the gradients have gradients.
  Tensors recorded(const Tensor& dy, const Tensor& a, const Tensor& b, const Tensor& c,
                   const Tensor& mask) const {
    const Tensor hidden =
        !options.causal ? mask : causal_mask(a.size(-2), b.size(-2), a.dtype(), a.device());
    const Tensor w = attention_weights(a, b, hidden, options.scale);
    const Tensor dw = matmul(dy, transpose(c, -2, -1));
    const int64_t last = -1;
    const Tensor slope = mul(sub(dw, sum(mul(dw, w), {&last, 1}, true)), w);
    const Tensor scale = num(options.scale);
    return {mul(matmul(slope, b), scale), mul(matmul(transpose(slope, -2, -1), a), scale),
            matmul(transpose(w, -2, -1), dy)};
  }
};

}  // namespace

bool takes_tiles(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
                 bool shared_heads) {
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
  return !added || (broadcasts_to(added.sizes(), scores) && !requires_grad(added));
}

Tensor attention_by_tiles(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added,
                          const AttentionOptions& options) {
  Call c{kOp, {q, k, v, added}, Devices::exact};
  const bool masked = added.defined() && c.needs_grad();
  AttentionBackward gradient{c.save(q), c.save(k), c.save(v), masked ? c.save(added) : Saved(),
                             options};
  return c.track(forward(q, k, v, added, options), std::move(gradient));
}

}  // namespace flambeau::ops
