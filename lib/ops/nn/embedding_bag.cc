// Folds of looked-up vectors, bag by bag. Bags of one length are a matrix of lookups folded along
// its second dimension; bags by offsets are made into one, padded, so that one formula serves all
// three folds and their gradients.
#include <cmath>
#include <vector>

#include "base/error.h"
#include "flambeau/embedding.h"
#include "ops/formula.h"
#include "ops/index/indices.h"
#include "ops/read.h"

namespace flambeau::ops {

namespace {

struct Bags {
  Tensor at;       // [bags, longest], positions in the flat input
  Tensor present;  // bool [bags, longest]
};

// Offsets as positions; waits for their values, which say how long the longest bag is.
Bags bags_of(const Tensor& offsets, int64_t n, bool include_last_offset) {
  GradMode no_grad(false);
  const std::vector<int64_t> read = read_integers(offsets);
  const int64_t* start = read.data();
  const int64_t given = int64_t(read.size()), count = include_last_offset ? given - 1 : given;
  check(count >= 0, Code::shape, "include_last_offset: number of offsets should be at least 1");
  const auto end_of = [&](int64_t b) { return b + 1 < given ? start[b + 1] : n; };
  int64_t longest = 0;
  for (int64_t b = 0; b < count; ++b) {
    check((b > 0 || start[0] == 0) && start[b] <= end_of(b) && end_of(b) <= n,
          Code::invalid_argument,
          "embedding_bag: offsets must start at 0, not decrease, and not "
          "be greater than input's length ",
          n);
    longest = std::max(longest, end_of(b) - start[b]);
  }
  const Tensor at = flambeau::empty(Dims{count, longest}, Dtype::i64, kCpu);
  const Tensor present = flambeau::empty(Dims{count, longest}, Dtype::boolean, kCpu);
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t i = 0; i < longest; ++i) {
      const bool inside = start[b] + i < end_of(b);
      at.data_as<int64_t>()[b * longest + i] = inside ? start[b] + i : 0;
      present.data_as<bool>()[b * longest + i] = inside;
    }
  }
  return {to(at, offsets.device()), to(present, offsets.device())};
}

Tensor fold(const Tensor& vectors, const Tensor& present, int32_t mode) {
  const int64_t middle = 1;
  const DimsView over(&middle, 1);
  const Tensor mask = unsqueeze(present, 2);
  if (vectors.size(1) == 0) return sum(vectors, over);
  if (mode == FLAM_BAG_MAX) {
    const Tensor none = logical_not(any(mask, over));
    return drop_where(none, amax(where(mask, vectors, num(-INFINITY)), over));
  }
  const Tensor total = sum(keep_where(mask, vectors), over);
  if (mode == FLAM_BAG_SUM) return total;
  const Tensor count = clamp_min(sum(to_dtype(mask, vectors.dtype()), over), num(1.0));
  return div(total, count);
}

// The looked-up rows; an index beyond them, where the cpu sees it at once, is told of as PyTorch
// does.
Tensor rows_of(const Tensor& weight, const Tensor& indices, std::optional<int64_t> padding_idx) {
  try {
    return embedding(indices, weight, padding_idx);
  } catch (const Error& e) {
    if (e.code != Code::index) throw;
    throw Error(e.code,
                "embedding_bag: Expected idx >= 0 && idx < num_embeddings to be true: " + e.problem,
                e.facts, e.fix);
  }
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets, int32_t mode,
                     const Tensor& per_sample_weights, bool include_last_offset,
                     std::optional<int64_t> padding_idx) {
  const char* op = "embedding_bag";
  check(input.dim() == 1 || input.dim() == 2, Code::shape,
        "input has to be 1D or 2D Tensor, but got Tensor of dimension ", input.dim());
  check((input.dim() == 2) == !offsets, Code::invalid_argument, op,
        input.dim() == 2 ? ": if input is 2D, then offsets has to be None, as input is treated is "
                           "a mini-batch of fixed length sequences. However, found offsets"
                         : ": offsets has to be a 1D Tensor but got None");
  check(!per_sample_weights || mode == FLAM_BAG_SUM, Code::unsupported, op,
        ": per_sample_weights was not None. per_sample_weights is only supported for mode='sum'");
  if (per_sample_weights) {
    check(per_sample_weights.dtype() == weight.dtype(), Code::dtype, op,
          ": Expected tensor for argument 'weight' to have the same type as tensor for argument "
          "'per_sample_weights'; but ",
          weight, " does not equal ", per_sample_weights);
  }
  check(!per_sample_weights ||
            std::equal(input.sizes().begin(), input.sizes().end(),
                       per_sample_weights.sizes().begin(), per_sample_weights.sizes().end()),
        Code::shape, op, ": If per_sample_weights (", per_sample_weights,
        ") is not None, then it must have the same shape as the input (", input, ")");
  Tensor indices = input, factors = per_sample_weights, present;
  if (offsets) {
    const Bags bags = bags_of(offsets, input.numel(), include_last_offset);
    const auto in_bags = [&](const Tensor& t) {
      return t.numel() == 0 ? reshape(t, bags.at.sizes()) : take(t, bags.at);
    };
    indices = in_bags(input);
    if (factors) factors = in_bags(factors);
    present = bags.present;
  } else {
    present = ones(input.sizes(), Dtype::boolean, input.device());
  }
  if (padding_idx) {
    const int64_t rows = weight.size(0);
    check(*padding_idx >= -rows && *padding_idx < rows, Code::invalid_argument, op,
          ": padding_idx must be within the number of embeddings, ", -rows, " through ", rows - 1,
          ", but got ", *padding_idx);
    const int64_t row = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
    present = logical_and(present, ne(indices, num(row)));
  }
  const Tensor vectors = rows_of(weight, indices, padding_idx);
  if (!factors) return fold(vectors, present, mode);
  const Dtype wide = is_half(weight.dtype()) ? Dtype::f32 : weight.dtype();  // rounded once
  const Tensor scaled = mul(to_dtype(vectors, wide), unsqueeze(to_dtype(factors, wide), 2));
  return to_dtype(fold(scaled, present, mode), weight.dtype());
}

Tensor embedding_renorm_(const Tensor& weight, const Tensor& indices, double max_norm,
                         double norm_type) {
  check(weight.dim() == 2, Code::shape, "'weight' must be 2-D, got ", weight);
  const Call c{op::embedding_renorm_, {weight, indices}};
  GradMode no_grad(false);
  // Every copy of a row is scaled alike, so the order in which copies are written does not matter.
  const Tensor at = reshape(indices, Dims{-1});
  const Tensor rows = index_select(weight, 0, at);
  const int64_t last = 1;
  const Tensor length = norm(rows, norm_type, {&last, 1}, true);
  const Tensor scale =
      where(gt(length, num(max_norm)), div(num(max_norm), add(length, num(1e-7))), num(1.0));
  index_copy_(weight, 0, at, mul(rows, scale));
  return weight;
}

}  // namespace flambeau::ops
