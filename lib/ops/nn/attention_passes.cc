// See attention_passes.h. A row sees all its keys at once, so neither a running maximum nor a saved
// sum is needed; a tile leaves out the keys that count for none of its rows. Half types are widened
// by tile on the host.
// Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021); Dao, Fu, Ermon, Rudra and
// Re, "FlashAttention" (2022).
#include "ops/nn/attention_passes.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"

namespace flambeau::ops {

namespace {

// Drops weights of tiles by their number; nothing where none is dropped.
class Dropping {
 public:
  Dropping(const Cut& cut, const PassHow& how) : cut_(cut), how_(how) {}

  bool any() const { return how_.dropped > 0; }
  // `to` may be `from`, as may every element be one.
  void apply(const Tensor& to, const Tensor& from, int64_t place, int64_t first,
             int64_t row) const {
    const int64_t piece =
                      place * ((cut_.pieces + cut_.piece - 1) / cut_.piece) + first / cut_.piece,
                  tile = piece * cut_.tiles() + row / cut_.rows;
    Draw draw = how_.draw;
    draw.state.offset += uint64_t(tile);
    run_random(how_.op, kDropout, to, draw, {how_.dropped}, {.input = from});
  }

 private:
  const Cut& cut_;
  const PassHow& how_;
};

void scores_of(const char* op, const Tensor& scores, const Tensor& q, const Tensor& k,
               const Tensor& mask) {
  run_gemm(op, scores, q, turned(k), {.c = mask ? &mask : nullptr});
}

void weigh(const char* op, const Tensor& w) {
  run_row(op, kSoftmax, w.dtype(), -1, {out_row(w), row(w)}, {1.0});
}

// +infinity where no key counts, as torch's kernels have it.
void sum_scores(const Tensor& to, const Tensor& scores) {
  const int64_t last = -1;
  const Tensor sums = logsumexp(scores, {&last, 1}, true);
  copy_(to, masked_fill(sums, eq(sums, num(-INFINITY)), num(INFINITY)));
}

// What tiles have in common, one after the other.
struct Memory {
  Mask& mask;
  const Scores &weights, &slopes;
};

// The heads of q that have one place among those that share a head of k and v.
struct Place {
  int64_t number;
  Tensor y, q, logsumexp;
};

void forward_of_place(const Cut& cut, const Place& p, const Tensor& k, const Tensor& v,
                      const Memory& memory, const PassHow& how) {
  const Dropping dropping(cut, how);
  for (int64_t first = 0; first < cut.pieces; first += cut.piece) {
    const int64_t n = std::min(cut.piece, cut.pieces - first);
    const Tensor qs = mul(taken(cut, p.q, first, n), num(how.scale)), ks = taken(cut, k, first, n),
                 vs = taken(cut, v, first, n), ys = place_of(cut, p.y, first, n);
    for (int64_t row = 0; row < cut.length; row += cut.rows) {
      const int64_t rows = std::min(cut.rows, cut.length - row), from = cut.first_seen(row),
                    seen = cut.end_seen(row, rows) - from;
      const Tensor tile = part(qs, 2, row, rows), y = part(ys, 2, row, rows);
      const Tensor sums =
          p.logsumexp ? part(part(p.logsumexp, cut.dim, first, n), 2, row, rows) : p.logsumexp;
      if (seen <= 0) {
        zero_(y);
        if (sums) fill_(sums, num(INFINITY));
        continue;
      }
      const Tensor w = memory.weights.like(tile, seen);
      scores_of(how.op, w, tile, part(ks, 2, from, seen),
                memory.mask.tile(p.number, first, n, row, rows));
      if (sums) sum_scores(sums, w);
      weigh(how.op, w);
      if (dropping.any()) dropping.apply(w, w, p.number, first, row);
      run_gemm(how.op, y, w, part(vs, 2, from, seen));
    }
    give_back(cut, p.y, first, n, ys);
  }
}

// Of one piece of the batch and one place of its heads, q scaled.
struct Piece {
  int64_t place, first;
  Tensor q{}, k{}, v{}, dy{}, dq{}, dk{}, dv{}, dmask{};
  bool begun = false;  // dk and dv hold the sums of other places
};

// What a tile's slopes of scores are to the mask: sums in its type, which are rounded once.
void add_mask_slopes(const Tensor& dmask, const Tensor& slopes) {
  add_(dmask, sum_to(to_dtype(slopes, dmask.dtype()), dmask.sizes()));
}

void backward_of_piece(const Cut& cut, const Piece& p, const Memory& memory, const PassHow& how) {
  // Only the first tile of unbounded ones sees all keys for certain.
  if (cut.band.bounded() && !p.begun) {
    zero_(p.dk);
    zero_(p.dv);
  }
  const int64_t n = p.q.size(int64_t(cut.dim));
  const Dropping dropping(cut, how);
  for (int64_t at = (cut.length - 1) / cut.rows * cut.rows; at >= 0; at -= cut.rows) {
    const int64_t rows = std::min(cut.rows, cut.length - at), from = cut.first_seen(at),
                  seen = cut.end_seen(at, rows) - from;
    const auto tile = [&](const Tensor& t) { return part(t, 2, at, rows); };
    const auto keys = [&](const Tensor& t) { return part(t, 2, from, seen); };
    if (seen <= 0) {
      zero_(tile(p.dq));
      continue;
    }
    const Tensor q = tile(p.q), dy = tile(p.dy), k = keys(p.k), dk = keys(p.dk), dv = keys(p.dv);
    const Tensor w = memory.weights.like(q, seen), s = memory.slopes.like(q, seen);
    const bool adds = p.begun || cut.band.bounded() || at + rows < cut.length;
    scores_of(how.op, w, q, k, memory.mask.tile(p.place, p.first, n, at, rows));
    weigh(how.op, w);
    if (dropping.any()) dropping.apply(s, w, p.place, p.first, at);
    run_gemm(how.op, dv, turned(dropping.any() ? s : w), dy, {.c = adds ? &dv : nullptr});
    run_gemm(how.op, s, dy, turned(keys(p.v)));
    if (dropping.any()) dropping.apply(s, s, p.place, p.first, at);
    run_row(how.op, kSoftmaxBackward, s.dtype(), -1, {out_row(s), row(s), row(w)});
    run_gemm(how.op, dk, turned(s), q, {.c = adds ? &dk : nullptr});
    run_gemm(how.op, tile(p.dq), s, k, {.alpha = how.scale});
    if (p.dmask) add_mask_slopes(tile(p.dmask), s);
  }
}

}  // namespace

uint64_t draws_of_passes(const Tensor& q, const Tensor& k, const KeyBand& band) {
  const int64_t places = sharing(q, k);
  return uint64_t(places * Cut(of_place(q, places, 0), k, band, false).all_tiles());
}

void attention_passes(const Tensor& y, const PassOperands& of, const PassHow& how,
                      const Tensor& logsumexp) {
  const int64_t places = sharing(of.q, of.k);
  const Tensor one = of_place(of.q, places, 0);
  const Cut cut(one, of.k, how.band, how.wide);
  Mask mask(cut, places, of.added, of.q.device());
  const Scores scores(cut, one);
  for (int64_t i = 0; i < places; ++i) {
    const auto own = [&](const Tensor& t) { return t ? of_place(t, places, i) : t; };
    forward_of_place(cut, {i, own(y), own(of.q), own(logsumexp)}, of.k, of.v,
                     {mask, scores, scores}, how);
  }
}

void drawn_passes(const Tensor& factors, const Tensor& q, const Tensor& k, const PassHow& how) {
  const int64_t places = sharing(q, k);
  const Cut cut(of_place(q, places, 0), k, how.band, how.wide);
  const Dropping dropping(cut, how);
  for (int64_t i = 0; i < places; ++i) {
    const Tensor own = of_place(factors, places, i);
    for (int64_t first = 0; first < cut.pieces; first += cut.piece) {
      const Tensor all = part(own, cut.dim, first, std::min(cut.piece, cut.pieces - first));
      for (int64_t row = 0; row < cut.length; row += cut.rows) {
        const int64_t rows = std::min(cut.rows, cut.length - row), from = cut.first_seen(row),
                      seen = cut.end_seen(row, rows) - from;
        if (seen <= 0) continue;
        const Tensor to = part(part(all, 2, row, rows), 3, from, seen);
        dropping.apply(to, ones(to.sizes(), to.dtype(), to.device()), i, first, row);
      }
    }
  }
}

void attention_slope_passes(const PassOperands& of, const PassSlopes& slopes, const PassHow& how) {
  const int64_t places = sharing(of.q, of.k);
  const Tensor one = of_place(of.q, places, 0);
  const Cut cut(one, of.k, how.band, how.wide);
  Mask mask(cut, places, of.added, of.q.device());
  const Scores weights(cut, one), of_weights(cut, one);
  for (int64_t first = 0; first < cut.pieces; first += cut.piece) {
    const int64_t n = std::min(cut.piece, cut.pieces - first);
    Piece p{.place = 0,
            .first = first,
            .k = taken(cut, of.k, first, n),
            .v = taken(cut, of.v, first, n),
            .dk = place_of(cut, slopes.dk, first, n),
            .dv = place_of(cut, slopes.dv, first, n)};
    for (; p.place < places; ++p.place) {
      const auto own = [&](const Tensor& t) { return of_place(t, places, p.place); };
      const Tensor dq = own(slopes.dq);
      p.q = mul(taken(cut, own(of.q), first, n), num(how.scale));
      p.dy = taken(cut, own(slopes.dy), first, n);
      p.dq = place_of(cut, dq, first, n);
      if (slopes.dmask) p.dmask = part(own(slopes.dmask), cut.dim, first, n);
      p.begun = p.place > 0;
      backward_of_piece(cut, p, {mask, weights, of_weights}, how);
      give_back(cut, dq, first, n, p.dq);
    }
    give_back(cut, slopes.dk, first, n, p.dk);
    give_back(cut, slopes.dv, first, n, p.dv);
  }
}

}  // namespace flambeau::ops
