// Cross entropy of what a linear layer makes, whole or in chunks of rows. In chunks the logits of
// one chunk exist at a time, forwards and, made again, backwards; what is kept from the one to the
// other is the operands and a number for each row.
#include <bit>

#include "ops/autocast.h"
#include "ops/nn/cross_entropy.h"

namespace flambeau::ops {

namespace {

// A weight [..., F] as rows; -1 would say nothing where there are no features.
Tensor rows_of(const Tensor& w) {
  int64_t classes = 1;
  for (int64_t d = 0; d + 1 < w.dim(); ++d) classes *= w.size(d);
  return reshape(w, Dims{classes, w.size(w.dim() - 1)});
}

// Sizes of the logits, and the linear layer's weight and bias as those of rows.
struct Layer {
  Dims logits;
  Tensor weight, bias;

  Layer(const Tensor& input, const Tensor& w, const Tensor& b) {
    logits = Dims(input.sizes().first(size_t(input.dim() - 1)));
    for (int64_t d = 0; d + 1 < w.dim(); ++d) logits.push_back(w.size(d));
    weight = rows_of(w);
    if (b) bias = ravel(b);
  }

  // Of rows of the input, [n, F].
  Tensor operator()(const Tensor& rows) const {
    Dims sizes(logits);
    sizes[0] = rows.size(0);
    return reshape(linear(rows, weight, bias), sizes);
  }
};

// Adds a product to a sum over chunks, which is made in f32 where they have a half type.
void accumulate(Tensor& sum, const Tensor& part) {
  if (!sum) {
    sum = to_dtype(part, ce::compute_dtype(part.dtype()));
  } else if (modes.grad) {
    sum = add(sum, part);
  } else {
    add_(sum, part);
  }
}
void accumulate_product(Tensor& sum, const Tensor& a, const Tensor& b) {
  if (!modes.grad && sum && sum.dtype() == a.dtype()) {
    addmm_(sum, a, b);  // needs no memory of its own
  } else {
    accumulate(sum, matmul(a, b));
  }
}

struct LinearCrossEntropyBackward {
  Saved input, linear_weight, target, linear_bias, weight;
  Saved lse, total, share;  // lse: of class indices; share: 0-d, what a mean was divided by
  ce::Options o;
  int64_t rows;  // of a chunk
  Dtype dtype;   // of the logits
  static constexpr auto name = "LinearCrossEntropyBackward0";

  Tensors operator()(const Tensor& dy) const {
    const Tensor x = input, w = linear_weight, t = target, row_lse = optional(lse);
    const Layer layer(x, w, optional(linear_bias));
    Tensor g = to_dtype(dy, ce::compute_dtype(dtype));
    if (share.defined()) g = div(g, share);
    std::vector<Tensor> dx;
    Tensor dw, db;
    for (int64_t i = 0; i == 0 || i < x.size(0); i += rows) {
      const auto part = [&](const Tensor& whole) {
        return narrow(whole, 0, i, std::min(rows, x.size(0) - i));
      };
      const Tensor in = part(x), logits = layer(in);
      const Tensor each = g.dim() ? part(g) : g;
      const Tensor slope = of_chunk(each, logits, part(t), row_lse ? part(row_lse) : row_lse);
      const Tensor flat = reshape(slope, Dims{in.size(0), layer.weight.size(0)});
      if (wanted(0)) dx.push_back(matmul(flat, layer.weight));
      if (wanted(1)) accumulate_product(dw, transpose(flat, 0, 1), in);
      const int64_t first = 0;
      if (wanted(3)) accumulate(db, sum(flat, {&first, 1}));
    }
    return {dx.empty() ? Tensor() : cat(dx, 0), dw ? reshape(dw, w.sizes()) : dw, Tensor(),
            db ? reshape(db, linear_bias.unchecked().sizes()) : db, Tensor()};
  }

 private:
  static Tensor optional(const Saved& s) { return s.defined() ? s.get() : Tensor(); }

  Tensor of_chunk(const Tensor& g, const Tensor& logits, const Tensor& t,
                  const Tensor& row_lse) const {
    const Tensor w = optional(weight);
    if (row_lse) return ce::slope(g, logits, t, w, row_lse, optional(total), o);
    const Tensor wide = to_dtype(logits, g.dtype());
    const Tensor made = ce::probability_slope(g, wide, ce::weighted_probabilities(t, w, o), o.dim);
    return to_dtype(made, logits.dtype());
  }
};

// Losses of all rows, chunk after chunk; like RowLosses, without what probabilities have not.
ce::RowLosses of_chunks(Call& c, const Layer& layer, const Tensor& total, int64_t rows,
                        const ce::Options& o) {
  const Tensor &x = c[0], &t = c[2], &weight = c[4];
  const bool classes = !is_floating(t.dtype());
  std::vector<Tensor> loss, lse, share;
  for (int64_t i = 0; i == 0 || i < x.size(0); i += rows) {
    const int64_t n = std::min(rows, x.size(0) - i);
    const Tensor logits = layer(narrow(x, 0, i, n)), target = narrow(t, 0, i, n);
    if (!classes) {
      const Tensor weighted = ce::weighted_probabilities(target, weight, o);
      const Tensor wide = to_dtype(logits, ce::compute_dtype(logits.dtype()));
      loss.push_back(ce::of_probability_rows(wide, weighted, o.dim));
      continue;
    }
    ce::RowLosses part = ce::of_rows(c, logits, target, weight, total, o);
    loss.push_back(std::move(part.loss));
    lse.push_back(std::move(part.lse));
    if (part.share) share.push_back(std::move(part.share));
  }
  return {cat(loss, 0), lse.empty() ? Tensor() : cat(lse, 0),
          share.empty() ? Tensor() : cat(share, 0)};
}

// `input` is [N, F]. The rule of linear says what autocast makes of the operands; the loss is f32
// then, as that of cross_entropy.
Tensor chunked(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
               const Tensor& linear_bias, const Tensor& weight, int64_t rows, ce::Options o) {
  const bool cpu = input.device().is_cpu();
  const bool cast = modes.autocast && autocast_of(cpu).enabled && is_cast(input, cpu);
  const Call lower{op::linear, {input, linear_weight, linear_bias}, Devices::exact};
  Call c{op::linear_cross_entropy, {lower[0], lower[1], target, lower[2], weight}, Devices::exact};
  const Dtype dtype = c[0].dtype(), compute = ce::compute_dtype(dtype);
  const bool classes = !is_floating(target.dtype());
  if (classes) c.convert(2, Dtype::i64);
  if (weight) c.convert(4, compute);
  Tensor y, share;
  Saved lse, total;
  {
    const GradMode off(false);
    const Layer layer(c[0], c[1], c[3]);
    const Tensor sum_w = classes ? ce::total_weight(c, c[4], o) : Tensor();
    const ce::RowLosses made = of_chunks(c, layer, sum_w, rows, o);
    y = to_dtype(made.loss, compute);
    if (o.reduction == FLAM_REDUCTION_MEAN) {
      share = classes ? sum(made.share)
                      : full(Dims{}, num(double(made.loss.numel())), compute, c.device());
    }
    if (o.reduction != FLAM_REDUCTION_NONE) y = sum(y);
    if (share) y = div(y, share);
    y = to_dtype(y, cast ? Dtype::f32 : dtype);
    lse = c.save(made.lse);
    total = c.save(sum_w);
  }
  return c.track(std::move(y),
                 LinearCrossEntropyBackward{c.save(c[0]), c.save(c[1]), c.save(c[2]), c.save(c[3]),
                                            c.save(c[4]), std::move(lse), std::move(total),
                                            c.save(share), o, rows, dtype});
}

Dims logits_sizes(const Tensor& input, const Tensor& linear_weight, const Tensor& linear_bias) {
  check(input.dim() == 1 || input.dim() == 2, Code::shape,
        "expected input with dimensionality 1 or 2, got ", input.dim());
  check(linear_weight.dim() >= 2, Code::shape,
        "expected linear_weight with dimensionality at least 2, got ", linear_weight.dim());
  const int64_t features = linear_weight.size(linear_weight.dim() - 1);
  check(input.size(input.dim() - 1) == features, Code::shape,
        "expected equal input and linear_weight last dimensions (in_features), got ",
        input.size(input.dim() - 1), " and ", features, ", respectively");
  const DimsView outer = linear_weight.sizes().first(size_t(linear_weight.dim() - 1));
  check(!linear_bias || std::ranges::equal(linear_bias.sizes(), outer), Code::shape,
        "expected linear_bias shape ", ShapeText{outer}, ", got ",
        ShapeText{linear_bias ? linear_bias.sizes() : DimsView()});
  check(outer.size() == 1 || input.dim() == 2, Code::shape,
        "K-dimensional loss defined by linear_weight shape ", ShapeText{linear_weight.sizes()},
        " requires batched input, (N, ", features, "), got unbatched input with shape ",
        ShapeText{input.sizes()});
  Dims sizes;
  if (input.dim() == 2) sizes.push_back(input.size(0));
  for (const int64_t n : outer) sizes.push_back(n);
  return sizes;
}

// Rows of a chunk. What `divisor` asks for is a power of two.
int64_t rows_of_chunk(const Tensor& input, const Tensor& linear_weight, int64_t rows,
                      int64_t divisor) {
  check(rows >= 0 && divisor >= 0, Code::invalid_argument,
        "linear_cross_entropy: chunk_rows and chunk_divisor must not be negative, got ", rows,
        " and ", divisor);
  const int64_t count = input.dim() == 2 ? std::max<int64_t>(input.size(0), 1) : 1;
  if (rows > 0) return std::min(rows, count);
  const int64_t features = std::max<int64_t>(input.size(input.dim() - 1), 1);
  const int64_t logits = linear_weight.numel() / features;  // of a row
  const int64_t wider = std::max<int64_t>((logits + features - 1) / features, 1);
  const int64_t share = (count + wider - 1) / wider;
  return std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(share))) / divisor, 1, count);
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                            const Tensor& linear_bias, const Tensor& weight,
                            std::optional<int64_t> ignore_index, double label_smoothing,
                            int64_t chunk_rows, int64_t chunk_divisor, int32_t reduction) {
  const Call same_device{op::linear_cross_entropy,
                         {input, linear_weight, target, linear_bias, weight},
                         Devices::exact};
  check_reduction(op::linear_cross_entropy, reduction);
  ce::check_smoothing(label_smoothing);
  const Dims sizes = logits_sizes(input, linear_weight, linear_bias);
  const bool probabilities = ce::are_probabilities(sizes, target);
  check(!probabilities || !ignore_index, Code::invalid_argument,
        "ignore_index cannot be specified when target contains probabilities");
  const bool slopes = modes.grad && (requires_grad(target) || (weight && requires_grad(weight)));
  const ce::Options o{input.dim() == 1 ? 0 : 1, ignore_index.value_or(-100), reduction,
                      label_smoothing};
  const bool whole = chunk_rows == 0 && chunk_divisor == 0;
  const int64_t rows = whole ? 0 : rows_of_chunk(input, linear_weight, chunk_rows, chunk_divisor);
  if (whole || slopes || (probabilities && target.dtype() != input.dtype())) {
    const Tensor flat = rows_of(linear_weight);
    const Tensor logits = linear(input, flat, linear_bias ? ravel(linear_bias) : linear_bias);
    return cross_entropy(reshape(logits, sizes), target, weight, o.ignore_index, reduction,
                         label_smoothing);
  }
  if (!probabilities) ce::check_classes(sizes, target, weight, o.dim);
  if (input.dim() == 2) return chunked(input, linear_weight, target, linear_bias, weight, rows, o);
  const Tensor y = chunked(unsqueeze(input, 0), linear_weight, unsqueeze(target, 0), linear_bias,
                           weight, 1, {1, o.ignore_index, reduction, label_smoothing});
  return y.dim() ? reshape(y, Dims{}) : y;
}

}  // namespace flambeau::ops
