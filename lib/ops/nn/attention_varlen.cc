// Attention of sequences of any lengths that lie one after the other: each as attention has it, in
// place, once their places are known on the host. No query meets a key of another sequence, and no
// scores of all of them exist. A sequence's bits are those that it has alone.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "device/graph.h"
#include "kernels/attention/attention.h"
#include "ops/formula.h"
#include "ops/nn/attention_passes.h"
#include "ops/nn/attention_tiles.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

using T = const Tensor&;

struct Stretch {
  int64_t first, rows;
};

struct Sequence {
  Stretch q, k;
  KeyBand band;

  // As the kernels have it: all keys, or those up to a query's own place from the beginning.
  bool is_plain() const { return !band.bounded() || is_causal(); }
  bool is_causal() const { return band.left < 0 && band.right == 0 && band.shift == 0; }
};

using Sequences = std::vector<Sequence>;

struct Varlen {
  const char* op;
  Tensor q, k, v;
  double scale;
};

std::vector<Stretch> stretches_of(const char* op, const char* what, T starts, int64_t rows) {
  const std::vector<int64_t> at = read_integers(starts);
  check(at.front() == 0 && at.back() <= rows, Code::invalid_argument, op, ": ", what,
        " must begin with 0 and end with at most ", rows, ", the number of rows, but goes from ",
        at.front(), " to ", at.back());
  std::vector<Stretch> stretches;
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    check(at[i] <= at[i + 1], Code::invalid_argument, op, ": ", what,
          " must not fall, but goes from ", at[i], " to ", at[i + 1], " at place ", i + 1);
    stretches.push_back({at[i], at[i + 1] - at[i]});
  }
  stretches.push_back({at.back(), rows - at.back()});
  return stretches;
}

// A bound that hides no key of any query is none, so that such a sequence is as one without: the
// last query sees keys from its own, the last, back to the first, and the first query has as many
// queries after it as keys before the last.
KeyBand band_of(int64_t left, int64_t right, int64_t queries, int64_t keys) {
  return {left < 0 || left >= keys - 1 ? -1 : left, right < 0 || right >= queries - 1 ? -1 : right,
          keys - queries};
}

struct Places {
  T starts_q, starts_k, used;
  int64_t left, right;  // a negative number: no bound
};

void check_places_can_be_read(const char* op, Device device) {
  if (device.is_meta()) return;
  check(!is_capturing(current_stream(device)), Code::graph_capture, op,
        ": cannot be captured in a graph, for its launches follow from the places in cu_seq_q and "
        "cu_seq_k, which the host reads: call it before or after the capture, or capture "
        "scaled_dot_product_attention of sequences padded to one length, with attn_mask");
}

int64_t used_of(const char* op, const std::vector<int64_t>& counts, size_t i, int64_t rows) {
  check(counts[i] >= 0 && counts[i] <= rows, Code::invalid_argument, op, ": seqused_k[", i,
        "] must be from 0 to ", rows, ", the number of keys of its sequence, got ", counts[i]);
  return counts[i];
}

// None of tensors without contents. At the end are the rows that belong to no sequence: queries
// that see no key, and keys that nobody sees.
Sequences sequences_of(const Varlen& c, const Places& p) {
  if (c.q.device().is_meta()) return {};
  const std::vector<Stretch> of_q = stretches_of(c.op, "cu_seq_q", p.starts_q, c.q.size(0)),
                             of_k = stretches_of(c.op, "cu_seq_k", p.starts_k, c.k.size(0));
  const std::vector<int64_t> counts = p.used ? read_integers(p.used) : std::vector<int64_t>();
  Sequences sequences;
  for (size_t i = 0; i + 1 < of_q.size(); ++i) {
    Stretch keys = of_k[i];
    if (p.used) keys.rows = used_of(c.op, counts, i, keys.rows);
    sequences.push_back({of_q[i], keys, band_of(p.left, p.right, of_q[i].rows, keys.rows)});
  }
  if (of_q.back().rows) sequences.push_back({of_q.back(), {0, 0}, {}});
  if (of_k.back().rows) sequences.push_back({{0, 0}, of_k.back(), {}});
  return sequences;
}

// Rows of [rows, heads, columns] as [1, heads, rows, columns], without history.
Tensor by_heads(T t, const Stretch& of) {
  const DimsView steps = t.strides();
  return alias(t, Dims{1, t.size(1), of.rows, t.size(2)}, Dims{0, steps[1], steps[0], steps[2]},
               t.offset() + of.first * steps[0]);
}

// Rows of [heads, rows] as [1, heads, rows, 1].
Tensor sums_of(T lse, const Stretch& of) {
  return alias(lse, Dims{1, lse.size(0), of.rows, 1}, Dims{0, lse.stride(0), lse.stride(1), 0},
               lse.offset() + of.first * lse.stride(1));
}

// What the kernels keep of a sequence's rows, dense [1, heads, rows, 2] in memory for all.
Tensor statistics_of(T all, int64_t heads, const Stretch& of) {
  const Dims sizes{1, heads, of.rows, 2};
  return alias(all, sizes, contiguous_strides(sizes), of.first * heads * 2);
}

// The largest score in units of log 2, and 1 over the sum of exponentials, or 0 of none.
Tensor logsumexp_of(T statistics) {
  const Tensor top = narrow(statistics, -1, 0, 1), share = narrow(statistics, -1, 1, 1);
  return masked_fill(sub(mul(top, num(std::log(2.0))), log(share)), eq(share, num(0.0)),
                     num(INFINITY));
}

int64_t widest(const Varlen& c) { return std::max(c.q.size(-1), c.v.size(-1)); }

bool keeps_statistics(const Varlen& c) {
  return has_attention(c.q.device(), c.q.dtype(), widest(c)) &&
         has_attention_backward(c.q.device(), c.q.dtype(), widest(c));
}

// With scores in f32, as the kernels have them.
PassHow how_of(const char* op, double scale, const Sequence& s) {
  return {.op = op, .scale = scale, .band = s.band, .wide = true};
}

// `statistics` and `lse` may be undefined: not wanted.
struct Made {
  Tensor y, statistics, lse;
};

void make_sequence(const Varlen& c, const Sequence& s, const Made& m) {
  const Tensor out = by_heads(m.y, s.q), q = by_heads(c.q, s.q), k = by_heads(c.k, s.k),
               v = by_heads(c.v, s.k), none;
  const Tensor sums = m.lse ? sums_of(m.lse, s.q) : none;
  if (out.numel() == 0) return;
  if (s.k.rows == 0) {
    zero_(out);
    if (sums) fill_(sums, num(INFINITY));
  } else if (s.is_plain() && has_attention(c.q.device(), c.q.dtype(), widest(c)) &&
             (!sums || m.statistics)) {
    const Tensor kept = m.statistics ? statistics_of(m.statistics, c.q.size(1), s.q) : none;
    run_attention(c.op, {out, q, k, v, none, kept}, {c.scale, s.is_causal()});
    if (sums) copy_(sums, logsumexp_of(kept));
  } else {
    attention_passes(out, {q, k, v, none}, how_of(c.op, c.scale, s), sums);
  }
}

struct VarlenAttnBackward {
  const char* op;
  Saved q, k, v;
  Saved y, statistics;  // where there is a kernel for the gradient
  double scale;
  Sequences sequences;
  static constexpr auto name = "VarlenAttnBackward0";

  Tensors operator()(T dy) const {
    const Varlen of{op, q, k, v, scale};
    Tensors grads = modes.grad && !sequences.empty() ? recorded(dy, of) : one_by_one(dy, of);
    grads.resize(6);  // places have none
    return grads;
  }

 private:
  Tensors one_by_one(T dy, const Varlen& of) const {
    Tensors grads{flambeau::empty_like(of.q), flambeau::empty_like(of.k),
                  flambeau::empty_like(of.v)};
    for (const Sequence& s : sequences) slope_sequence(dy, of, s, grads);
    return grads;
  }

  void slope_sequence(T dy, const Varlen& of, const Sequence& s, const Tensors& grads) const {
    const Tensor dq = by_heads(grads[0], s.q), dk = by_heads(grads[1], s.k),
                 dv = by_heads(grads[2], s.k), none;
    if (dq.numel() == 0 || s.k.rows == 0) {
      for (const Tensor& t : {dq, dk, dv}) zero_(t);
      return;
    }
    const Tensor a = by_heads(of.q, s.q), b = by_heads(of.k, s.k), c = by_heads(of.v, s.k),
                 slope = by_heads(dy, s.q);
    if (statistics.defined() && s.is_plain()) {
      const Tensor out = y, kept = statistics_of(statistics, a.size(1), s.q);
      run_attention_backward(op, {by_heads(out, s.q), a, b, c, none, kept},
                             {slope, dq, dk, dv, none}, {scale, s.is_causal()});
    } else {
      attention_slope_passes({a, b, c, none}, {slope, dq, dk, dv, none}, how_of(op, scale, s));
    }
  }

  // Such that the gradients have gradients.
  Tensors recorded(T dy, const Varlen& of) const {
    const int64_t shared = of.q.size(1) / of.k.size(1);
    const Tensor keys = repeat_interleave(of.k, shared, int64_t{1}),
                 values = repeat_interleave(of.v, shared, int64_t{1});
    std::vector<Tensor> dq, dk, dv;
    for (const Sequence& s : sequences) {
      const auto rows = [](T t, const Stretch& some) {
        return transpose(narrow(t, 0, some.first, some.rows), 0, 1);
      };
      const Tensor q = rows(of.q, s.q), k = rows(keys, s.k), v = rows(values, s.k);
      const Tensor hidden =
          band_mask(s.band, Dims{s.q.rows, s.k.rows}, 0, of.q.dtype(), of.q.device());
      const Tensors g = attention_slopes(rows(dy, s.q), q, k, v, hidden, Tensor(), scale);
      dq.push_back(transpose(g[0], 0, 1));
      dk.push_back(transpose(g[1], 0, 1));
      dv.push_back(transpose(g[2], 0, 1));
    }
    const auto of_shared = [&](T t) {
      const Dims apart{t.size(0), of.k.size(1), shared, t.size(2)};
      const int64_t heads = 2;
      return sum(reshape(t, apart), {&heads, 1}, false);
    };
    return {cat(dq, 0), of_shared(cat(dk, 0)), of_shared(cat(dv, 0))};
  }
};

void check_integers(const char* op, const char* what, T t) {
  check(t.dtype() == Dtype::i32 || t.dtype() == Dtype::i64, Code::dtype, op, ": ", what,
        " must be int32 or int64, got ", t);
}

void check_places(const char* op, const char* what, T starts, T like) {
  check_integers(op, what, starts);
  check(
      starts.dim() == 1 && starts.numel() == like.numel() && starts.numel() > 0, Code::shape, op,
      ": cu_seq_q and cu_seq_k must be of one dimension and of the same size, one more than there "
      "are sequences, got ",
      like, " and ", starts);
}

void check_operands(const Varlen& c, bool shared_heads) {
  check(c.q.dim() == 3 && c.k.dim() == 3 && c.v.dim() == 3, Code::shape, c.op,
        ": query, key and value must be of [rows, heads, columns], got ", c.q, ", ", c.k, " and ",
        c.v);
  check(is_floating(c.q.dtype()) && c.k.dtype() == c.q.dtype() && c.v.dtype() == c.q.dtype(),
        Code::dtype, c.op, ": query, key and value must be of one floating dtype, got ", c.q, ", ",
        c.k, " and ", c.v);
  check(c.k.size(0) == c.v.size(0) && c.k.size(1) == c.v.size(1) && c.k.size(2) == c.q.size(2),
        Code::shape, c.op,
        ": key must have the rows and heads of value and the columns of query, got ", c.q, ", ",
        c.k, " and ", c.v);
  check(c.q.size(2) > 0 && c.v.size(2) > 0, Code::shape, c.op,
        ": query, key and value must have columns, got ", c.q, ", ", c.k, " and ", c.v);
  const int64_t heads = c.q.size(1), of_keys = c.k.size(1);
  check(shared_heads || heads == of_keys, Code::shape, c.op,
        ": Expect query and key/value to have the same number of heads but got Hq=", heads,
        " and Hkv=", of_keys, ". Try setting enable_gqa=True for GQA.");
  check(of_keys > 0 && heads % of_keys == 0, Code::shape, c.op,
        ": Expect number of query heads to be a multiple of kv heads for GQA but got Hq=", heads,
        " and Hkv=", of_keys, ".");
  check(c.scale > 0, Code::invalid_argument, c.op, ": scale must be greater than 0, got ", c.scale);
}

void check_used(const char* op, T used, int64_t sequences, bool needs_grad) {
  check(!needs_grad, Code::invalid_argument, op, ": seqused_k is an inference-only parameter.");
  check_integers(op, "seqused_k", used);
  check(used.dim() == 1 && used.numel() == sequences, Code::shape, op,
        ": seqused_k must have an entry for each of ", sequences, " sequences, got ", used);
}

struct VarlenOptions {
  std::optional<double> scale;
  int64_t left, right;
  bool shared_heads, lse;
};

Made run_varlen(const Op& op, std::initializer_list<Operand> operands, const VarlenOptions& o) {
  Call c{op, operands};
  const Varlen of{op.name, c[0], c[1], c[2],
                  o.scale.value_or(1 / std::sqrt(double(c[0].dim() ? c[0].size(-1) : 1)))};
  check_operands(of, o.shared_heads);
  check_places(op.name, "cu_seq_q", c[3], c[3]);
  check_places(op.name, "cu_seq_k", c[4], c[3]);
  if (c[5]) check_used(op.name, c[5], c[3].numel() - 1, c.needs_grad());
  check_places_can_be_read(op.name, of.q.device());
  const Sequences sequences = sequences_of(of, {c[3], c[4], c[5], o.left, o.right});
  const int64_t rows = of.q.size(0), heads = of.q.size(1);
  Made m{flambeau::empty(Dims{rows, heads, of.v.size(2)}, of.q.dtype(), of.q.device()), {}, {}};
  if (keeps_statistics(of) && (o.lse || c.needs_grad()))
    m.statistics = flambeau::empty(Dims{rows * heads * 2}, Dtype::f32, of.q.device());
  if (o.lse) m.lse = flambeau::empty(Dims{heads, rows}, Dtype::f32, of.q.device());
  VarlenAttnBackward gradient{
      of.op, c.save(of.q), c.save(of.k), c.save(of.v),
      {},    {},           of.scale,     c.needs_grad() ? sequences : Sequences()};
  {
    const GradMode no_grad(false);
    for (const Sequence& s : sequences) make_sequence(of, s, m);
  }
  if (m.statistics && c.needs_grad()) {
    gradient.y = c.save_output(m.y);
    gradient.statistics = c.save(m.statistics);
  }
  m.y = c.track(m.y, std::move(gradient));
  return m;
}

}  // namespace

Tensor varlen_attn(T query, T key, T value, T cu_seq_q, T cu_seq_k, std::optional<double> scale,
                   int64_t window_left, int64_t window_right, bool enable_gqa, T seqused_k) {
  return run_varlen(op::varlen_attn, {query, key, value, cu_seq_q, cu_seq_k, seqused_k},
                    {scale, window_left, window_right, enable_gqa, false})
      .y;
}

std::tuple<Tensor, Tensor> varlen_attn_lse(T query, T key, T value, T cu_seq_q, T cu_seq_k,
                                           std::optional<double> scale, int64_t window_left,
                                           int64_t window_right, bool enable_gqa, T seqused_k) {
  const Made m = run_varlen(op::varlen_attn_lse, {query, key, value, cu_seq_q, cu_seq_k, seqused_k},
                            {scale, window_left, window_right, enable_gqa, true});
  return {m.y, m.lse};
}

}  // namespace flambeau::ops
