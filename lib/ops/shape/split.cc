// Taking a tensor apart: all parts are views recorded by one node, so that their gradients are
// joined once, without a copy where they lie beside each other.
#include "base/checked.h"
#include "ops/call.h"
#include "ops/ops.h"
#include "tensor/joined.h"

namespace flambeau::ops {

namespace {

// A missing gradient of a part is zeros.
std::vector<Tensor> filled(TensorsView dy, const std::vector<Dims>& sizes) {
  const Tensor* like = nullptr;
  for (const Tensor& g : dy) {
    if (g) like = &g;
  }
  std::vector<Tensor> out(dy.begin(), dy.end());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) out[i] = zeros(sizes[i], like->dtype(), like->device());
  }
  return out;
}

// Whether the pass alone holds these gradients: what is made of them in place shares their memory.
bool are_passing(TensorsView dy) {
  for (const Tensor& g : dy)
    if (!g || g.impl()->use_count() != 1) return false;
  return true;
}

struct SplitBackward {
  size_t dim;
  std::vector<Dims> sizes;
  static constexpr auto name = "SplitBackward0";
  Tensors operator()(TensorsView dy) const {
    const bool in_place = !modes.grad && are_passing(dy);
    const Tensor whole = in_place ? joined_in_place(dy, dim) : Tensor();
    return {whole ? whole : cat(filled(dy, sizes), int64_t(dim))};
  }
};
struct SplitWithSizesBackward : SplitBackward {
  static constexpr auto name = "SplitWithSizesBackward0";
};

struct UnbindBackward {
  size_t dim;
  std::vector<Dims> sizes;
  static constexpr auto name = "UnbindBackward0";
  Tensors operator()(TensorsView dy) const {
    const bool in_place = !modes.grad && are_passing(dy);
    const Tensor whole = in_place ? stacked_in_place(dy) : Tensor();
    return {whole ? whole : stack(filled(dy, sizes), int64_t(dim))};
  }

 private:
  Tensor stacked_in_place(TensorsView dy) const {
    std::vector<Tensor> parts;
    for (const Tensor& g : dy) {
      Dims one(g.sizes()), strides(g.strides());
      one.insert(dim, 1);
      strides.insert(dim, 1);
      parts.push_back(alias(g, one, strides, g.offset()));
    }
    return joined_in_place(parts, dim);
  }
};

template <class Backward>
std::vector<Tensor> record_parts(const Op& name, const Tensor& x, size_t dim,
                                 std::vector<Tensor> parts) {
  Backward f;
  f.dim = dim;
  for (Tensor& p : parts) {
    set_base(p, x, true);
    f.sizes.emplace_back(p.sizes());
  }
  if (!modes.grad || parts.empty() || !requires_grad(x)) return parts;
  Call c{name, {x}};
  c.track_all(parts, std::move(f));
  return parts;
}

template <class Backward>
std::vector<Tensor> split_parts(const Op& name, const Tensor& x, DimsView sizes, size_t d) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t n : sizes) {
    Dims shape(x.sizes());
    shape[d] = n;
    parts.push_back(alias(x, shape, x.strides(), x.offset() + start * x.strides()[d]));
    start += n;
  }
  return record_parts<Backward>(name, x, d, std::move(parts));
}

size_t split_dim(const Tensor& x, const char* op, int64_t dim) {
  check(x.dim() > 0, Code::shape, op, " expects at least a 1-dimensional tensor");
  return size_t(wrap_dim(dim, x.dim()));
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim) {
  const size_t d = split_dim(x, "split", dim);
  const int64_t n = x.sizes()[d];
  check(split_size >= 0, Code::invalid_argument,
        "split expects split_size be non-negative, but got split_size=", split_size);
  check(split_size > 0 || n == 0, Code::invalid_argument,
        "split_size can only be 0 if dimension size is 0, but got dimension size of ", n);
  check_count("split", "the number of parts", split_size ? (n - 1) / split_size + 1 : 1);
  Dims sizes;
  for (int64_t start = 0; start < n || sizes.empty(); start += split_size) {
    sizes.push_back(std::min(split_size, n - start));
  }
  return split_parts<SplitBackward>(op::split, x, sizes, d);
}

std::vector<Tensor> split_with_sizes(const Tensor& x, DimsView split_sizes, int64_t dim) {
  const size_t d = split_dim(x, "split", dim);
  int64_t total = 0;
  for (int64_t s : split_sizes) {
    check(s >= 0, Code::invalid_argument,
          "split_with_sizes expects split_sizes have only non-negative entries, "
          "but got split_sizes=",
          ShapeText{split_sizes});
    total = checked_add(total, s, "split_with_sizes: split_sizes");
  }
  check(total == x.sizes()[d], Code::invalid_argument,
        "split_with_sizes expects split_sizes to sum exactly to ", x.sizes()[d],
        " (input tensor's size at dimension ", dim,
        "), but got split_sizes=", ShapeText{split_sizes});
  return split_parts<SplitWithSizesBackward>(op::split_with_sizes, x, split_sizes, d);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  const size_t d = split_dim(x, "chunk", dim);
  check(chunks > 0, Code::invalid_argument,
        "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t n = x.sizes()[d];
  check_count("chunk", "chunks", n == 0 ? chunks : 1);  // one empty part each
  if (n == 0) return split_with_sizes(x, Dims(size_t(chunks), 0), dim);
  return split(x, (n - 1) / chunks + 1, dim);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  check(x.dim() > 0, Code::index, "Dimension specified as ", dim, " but tensor has no dimensions");
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  check_count("unbind", "the size of the dimension", x.sizes()[d]);
  Dims sizes(x.sizes()), strides(x.strides());
  sizes.erase(d);
  strides.erase(d);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.sizes()[d]; ++i) {
    parts.push_back(alias(x, sizes, strides, x.offset() + i * x.strides()[d]));
  }
  return record_parts<UnbindBackward>(op::unbind, x, d, std::move(parts));
}

}  // namespace flambeau::ops
