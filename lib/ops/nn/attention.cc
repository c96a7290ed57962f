// Attention: scores, softmax and a weighted sum, by tiles, or composed of products where weights
// are wanted, or batches repeat themselves; and the form with several heads and projections.
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "ops/complex_gate.h"
#include "ops/formula.h"
#include "ops/nn/attention_tiles.h"

namespace flambeau::ops {

namespace {

using Two = std::tuple<Tensor, Tensor>;

// True where a later key is.
Tensor later(int64_t length, int64_t keys, Device device) {
  return triu(ones(Dims{length, keys}, Dtype::boolean, device), 1);
}

// bool (true: the key counts for nothing) as what is added to scores.
Tensor additive(const Tensor& hidden, Dtype dtype) {
  return masked_fill(zeros(hidden.sizes(), dtype, hidden.device()), hidden, num(-INFINITY));
}

// Rows whose every key is masked have weights 0, as in torch.
Tensor safe_softmax(const Tensor& scores) {
  const int64_t last = -1;
  const Tensor none = all(eq(detach(scores), num(-INFINITY)), {&last, 1}, true);
  const Tensor weights = softmax(masked_fill(scores, none, num(0.0)), -1);
  return masked_fill(weights, none, num(0.0));
}

Tensor weights_of(const Tensor& q, const Tensor& k, const Tensor& added, double scale, bool safe) {
  // Both factors get the root, which keeps half types in range.
  const double root = std::sqrt(std::abs(scale));
  const Tensor left = mul(q, num(scale < 0 ? -root : root));
  Tensor scores = matmul(left, transpose(mul(k, num(root)), -2, -1));
  if (added) scores = add(scores, added);
  return safe && added ? safe_softmax(scores) : softmax(scores, -1);
}

// Half types are rounded once; where weights are dropped they stay as they are, which is training,
// where products in half types are what makes it fast.
Two attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added, double dropped,
           double scale, bool safe) {
  if (is_half(q.dtype()) && dropped == 0) {
    const auto wide = [](const Tensor& t) { return t ? to_dtype(t, Dtype::f32) : t; };
    const auto [y, weights] = attend(wide(q), wide(k), wide(v), wide(added), 0, scale, safe);
    return {to_dtype(y, q.dtype()), to_dtype(weights, q.dtype())};
  }
  Tensor weights = weights_of(q, k, added, scale, safe);
  if (dropped > 0) weights = dropout(weights, dropped, true);
  return {matmul(weights, v), weights};
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const Tensor& added, double scale) {
  return weights_of(q, k, added, scale, true);
}

Tensor causal_mask(int64_t length, int64_t keys, Dtype dtype, Device device) {
  return additive(later(length, keys, device), dtype);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  check(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, Code::shape,
        "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
        "dimensional, but got Query dim: ",
        query.dim(), ", Key dim: ", key.dim(), " and Value dim: ", value.dim(), " instead.");
  if (attn_mask && is_complex(attn_mask.dtype()))
    check_takes_complex(op::scaled_dot_product_attention, attn_mask.dtype());
  check(!(is_causal && attn_mask), Code::invalid_argument,
        "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  const Call c{op::scaled_dot_product_attention, {query, key, value}};
  check(c[0].dtype() == c[1].dtype() && c[1].dtype() == c[2].dtype(), Code::dtype,
        "Expected query, key, and value to have the same dtype, but got query.dtype: ",
        name_of(query.dtype()), " key.dtype: ", name_of(key.dtype()),
        " and value.dtype: ", name_of(value.dtype()), " instead.");
  Tensor k = c[1], v = c[2];
  if (enable_gqa) {
    auto divides = [&](const Tensor& t) {
      return t.dim() >= 3 && t.size(-3) > 0 && query.size(-3) % t.size(-3) == 0;
    };
    check(query.dim() >= 3 && divides(key) && divides(value), Code::shape,
          "scaled_dot_product_attention: Number of heads in key and value must divide "
          "the number of heads in query");
  }
  const Dtype dtype = c[0].dtype();
  Tensor added = attn_mask;
  if (added && added.dtype() == Dtype::boolean) {
    added = additive(logical_not(added), dtype);
  } else if (added) {
    added = to_dtype(added, dtype);
  }
  const double factor = scale.value_or(1 / std::sqrt(double(query.size(-1))));
  if (takes_tiles(c[0], k, v, added, dropout_p, enable_gqa)) {
    return attention_by_tiles(c[0], k, v, added, {factor, is_causal, dropout_p});
  }
  if (enable_gqa) {
    k = repeat_interleave(k, query.size(-3) / key.size(-3), int64_t{-3});
    v = repeat_interleave(v, query.size(-3) / value.size(-3), int64_t{-3});
  }
  if (is_causal) added = causal_mask(query.size(-2), key.size(-2), dtype, query.device());
  return std::get<0>(attend(c[0], k, v, added, dropout_p, factor, true));
}

namespace {

struct Heads {
  const Tensor &query, &key, &value;
  int64_t heads;
  const Tensor &in_weight, &in_bias, &q_weight, &k_weight, &v_weight, &bias_k, &bias_v, &out_weight,
      &out_bias, &padding, &mask;
  double dropped;
  bool training, zero, causal;
  bool weighed;  // the weights are wanted
};

struct Projected {
  Tensor q, k, v;  // [length, n, e]
};

// What the query lacks comes before what its size is divided by.
void check_embedding(const Heads& a) {
  const int64_t e = a.query.size(-1);
  if (a.in_weight) {
    check(a.in_weight.dim() == 2 && a.in_weight.size(0) == 3 * e && a.in_weight.size(1) == e,
          Code::shape, "multihead_attention: was expecting embedding dimension of ",
          a.in_weight.size(-1), ", but got ", e);
  }
  check(a.heads > 0 && e % a.heads == 0, Code::invalid_argument, "embed_dim ", e,
        " not divisible by num_heads ", a.heads);
}

Projected project(const Heads& a) {
  const int64_t e = a.query.size(-1);
  if (a.in_weight) {
    if (a.query.is_same(a.key) && a.key.is_same(a.value)) {
      const std::vector<Tensor> parts = chunk(linear(a.query, a.in_weight, a.in_bias), 3, -1);
      return {parts[0], parts[1], parts[2]};
    }
  } else {
    check(a.q_weight && a.k_weight && a.v_weight, Code::invalid_argument,
          "multihead_attention: in_proj_weight or all of q, k and v_proj_weight must be given");
  }
  const auto weight = [&](const Tensor& own, int64_t i) {
    return a.in_weight ? narrow(a.in_weight, 0, i * e, e) : own;
  };
  const auto bias = [&](int64_t i) {
    return a.in_bias ? narrow(a.in_bias, 0, i * e, e) : Tensor();
  };
  return {linear(a.query, weight(a.q_weight, 0), bias(0)),
          linear(a.key, weight(a.k_weight, 1), bias(1)),
          linear(a.value, weight(a.v_weight, 2), bias(2))};
}

// [length, n, e] as [n, heads, length, e / heads].
Tensor split_heads(const Tensor& t, int64_t heads) {
  const Dims order{1, 2, 0, 3};
  return permute(reshape(t, Dims{t.size(0), t.size(1), heads, t.size(2) / heads}), order);
}

Tensor as_added(const Tensor& mask, Dtype dtype) {
  return mask.dtype() == Dtype::boolean ? additive(mask, dtype) : to_dtype(mask, dtype);
}

// What is added to scores [n, heads, length, keys]; `extra` keys at the end are never hidden.
Tensor added_of(const Heads& a, const Tensor& q, int64_t keys, int64_t extra) {
  const int64_t n = q.size(0), length = q.size(2);
  Tensor added;
  if (a.mask || a.causal) {
    const Tensor m = as_added(a.mask ? a.mask : later(length, keys, q.device()), q.dtype());
    const bool fits =
        m.size(-2) == length && m.size(-1) == keys && (m.dim() == 2 || m.size(0) == n * a.heads);
    check(fits, Code::shape, "The shape of the ", m.dim(), "D attn_mask is torch.Size(",
          ShapeText{m.sizes()}, "), but should be (",
          m.dim() == 3 ? cat_text(n * a.heads, ", ") : "", length, ", ", keys, ").");
    added = m.dim() == 2 ? m : reshape(m, Dims{n, a.heads, length, keys});
  }
  if (a.padding) {
    const Tensor p = as_added(a.padding, q.dtype());
    check(p.numel() == n * keys, Code::shape, "expecting key_padding_mask shape of (", n, ", ",
          keys, "), but got ", ShapeText{a.padding.sizes()});
    const Tensor wide = reshape(p, Dims{n, 1, 1, keys});
    added = added ? add(added, wide) : wide;
  }
  return added && extra ? pad(added, Dims{0, extra}) : added;
}

Tensor with_row(const Tensor& t, const Tensor& row) {
  const Tensor both[] = {t, expand(row, Dims{1, t.size(1), t.size(2)})};
  return cat(both, 0);
}

Two mix(const Heads& a, const Tensor& q, const Tensor& k, const Tensor& v, int64_t keys,
        int64_t extra) {
  const double scale = 1 / std::sqrt(double(q.size(-1))), dropped = a.training ? a.dropped : 0;
  const bool causal = a.causal && !a.mask && !a.padding && !extra && !a.weighed;
  const Tensor added = causal ? Tensor() : added_of(a, q, keys, extra);
  if (!a.weighed && takes_tiles(q, k, v, added, dropped)) {
    return {attention_by_tiles(q, k, v, added, {scale, causal, dropped}), Tensor()};
  }
  return attend(q, k, v, added_of(a, q, keys, extra), dropped, scale, false);
}

Two heads_of_batch(const Heads& a) {
  const int64_t e = a.query.size(2), n = a.query.size(1);
  check_embedding(a);
  check(a.key.size(0) == a.value.size(0) && a.key.size(1) == n && a.value.size(1) == n, Code::shape,
        "key shape torch.Size(", ShapeText{a.key.sizes()},
        ") does not match value shape torch.Size(", ShapeText{a.value.sizes()},
        ") or the batch of ", n);
  Projected p = project(a);
  const int64_t keys = a.key.size(0);
  int64_t extra = 0;
  if (a.bias_k && a.bias_v) {
    p.k = with_row(p.k, a.bias_k);
    p.v = with_row(p.v, a.bias_v);
    ++extra;
  }
  if (a.zero) {
    const Tensor nothing = zeros(Dims{1, 1, e}, p.k.dtype(), p.k.device());
    p.k = with_row(p.k, nothing);
    p.v = with_row(p.v, nothing);
    ++extra;
  }
  const Tensor q = split_heads(p.q, a.heads), k = split_heads(p.k, a.heads),
               v = split_heads(p.v, a.heads);
  const auto [mixed, weights] = mix(a, q, k, v, keys, extra);
  const Dims order{2, 0, 1, 3};
  Tensor y = reshape(permute(mixed, order), Dims{a.query.size(0), n, e});
  if (a.out_weight) y = linear(y, a.out_weight, a.out_bias);
  return {y, weights};
}

void check_masks(const Heads& a) {
  const bool batched = a.query.dim() == 3;
  const char* const given = batched ? "For batched (3-D) `query`" : "For unbatched (2-D) `query`";
  check(!a.padding || a.padding.dim() == (batched ? 2 : 1), Code::shape, given,
        ", expected `key_padding_mask` to be `None` or ", batched ? "2-D" : "1-D", " but found ",
        a.padding ? a.padding.dim() : 0, "-D tensor instead");
  check(!a.mask || a.mask.dim() == 2 || a.mask.dim() == 3, Code::shape, given,
        ", expected `attn_mask` to be `None`, 2-D or 3-D but found ", a.mask ? a.mask.dim() : 0,
        "-D tensor instead");
  if (!batched && a.mask && a.mask.dim() == 3) {
    const Dims wanted{a.heads, a.query.size(0), a.key.size(0)};
    check(std::equal(wanted.begin(), wanted.end(), a.mask.sizes().begin()), Code::shape,
          "Expected `attn_mask` shape to be (", a.heads, ", ", wanted[1], ", ", wanted[2],
          ") but got torch.Size(", ShapeText{a.mask.sizes()}, ")");
  }
  const auto added = [](const Tensor& t, const char* name) {
    check(!t || t.dtype() == Dtype::boolean || is_floating(t.dtype()), Code::invalid_argument,
          "only bool and floating types of ", name, " are supported");
  };
  added(a.padding, "key_padding_mask");
  added(a.mask, "attn_mask");
}

Two heads(const Heads& a) {
  const Call c{op::multihead_attention,
               {a.query, a.key, a.value, a.in_weight, a.in_bias, a.q_weight, a.k_weight, a.v_weight,
                a.bias_k, a.bias_v, a.out_weight, a.out_bias, a.padding, a.mask}};
  check(a.query.dim() == 2 || a.query.dim() == 3, Code::shape,
        "query should be unbatched 2D or batched 3D tensor but received ", a.query.dim(),
        "-D query tensor");
  check(a.key.dim() == a.query.dim() && a.value.dim() == a.query.dim(), Code::shape, "For ",
        a.query.dim() == 3 ? "batched (3-D)" : "unbatched (2-D)",
        " `query`, expected `key` and `value` to be ", a.query.dim(), "-D but found ", a.key.dim(),
        "-D and ", a.value.dim(), "-D tensors respectively");
  check_masks(a);
  if (a.query.dim() == 3) return heads_of_batch(a);
  const Tensor q = unsqueeze(a.query, 1);
  const Tensor k = a.key.is_same(a.query) ? q : unsqueeze(a.key, 1);
  const Tensor v = a.value.is_same(a.key) ? k : unsqueeze(a.value, 1);
  const auto [y, weights] = heads_of_batch(
      {q,          k,          v,          a.heads,  a.in_weight,  a.in_bias,  a.q_weight,
       a.k_weight, a.v_weight, a.bias_k,   a.bias_v, a.out_weight, a.out_bias, a.padding,
       a.mask,     a.dropped,  a.training, a.zero,   a.causal,     a.weighed});
  return {squeeze(y, Dims{1}), weights ? squeeze(weights, Dims{0}) : weights};
}

}  // namespace

Two multihead_attention_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                int64_t num_heads, const Tensor& in_proj_weight,
                                const Tensor& in_proj_bias, const Tensor& q_proj_weight,
                                const Tensor& k_proj_weight, const Tensor& v_proj_weight,
                                const Tensor& bias_k, const Tensor& bias_v,
                                const Tensor& proj_weight, const Tensor& proj_bias,
                                const Tensor& key_padding_mask, const Tensor& attn_mask,
                                double dropout, bool training, bool add_zero_attn, bool is_causal) {
  return heads({query,        key,           value,         num_heads,        in_proj_weight,
                in_proj_bias, q_proj_weight, k_proj_weight, v_proj_weight,    bias_k,
                bias_v,       proj_weight,   proj_bias,     key_padding_mask, attn_mask,
                dropout,      training,      add_zero_attn, is_causal,        true});
}

Tensor multihead_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                           int64_t num_heads, const Tensor& in_proj_weight,
                           const Tensor& in_proj_bias, const Tensor& q_proj_weight,
                           const Tensor& k_proj_weight, const Tensor& v_proj_weight,
                           const Tensor& bias_k, const Tensor& bias_v, const Tensor& proj_weight,
                           const Tensor& proj_bias, const Tensor& key_padding_mask,
                           const Tensor& attn_mask, double dropout, bool training,
                           bool add_zero_attn, bool is_causal) {
  return std::get<0>(
      heads({query,        key,           value,         num_heads,        in_proj_weight,
             in_proj_bias, q_proj_weight, k_proj_weight, v_proj_weight,    bias_k,
             bias_v,       proj_weight,   proj_bias,     key_padding_mask, attn_mask,
             dropout,      training,      add_zero_attn, is_causal,        false}));
}

}  // namespace flambeau::ops
