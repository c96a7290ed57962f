// See buckets.h.
#include "dist/buckets.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tensor/order.h"

namespace flambeau::dist {

Dims layout_of(const Tensor& parameter) {
  return is_dense(parameter) ? Dims(parameter.strides()) : contiguous_strides(parameter.sizes());
}

std::vector<std::vector<size_t>> assign_buckets(TensorsView parameters,
                                                std::span<const size_t> order,
                                                BucketLimits limits) {
  struct Open {
    Dtype dtype;
    Device device;
    size_t bytes = 0, limit;
    std::vector<size_t> members;
  };
  struct Full {
    size_t last;  // where its last parameter stands in the order
    std::vector<size_t> members;
  };
  std::vector<Open> open;
  std::vector<Full> full;
  std::vector<size_t> stands(parameters.size());
  for (size_t at = 0; at < order.size(); ++at) {
    const Tensor& p = parameters[order[at]];
    stands[order[at]] = at;
    auto found = std::ranges::find_if(
        open, [&](const Open& o) { return o.dtype == p.dtype() && o.device == p.device(); });
    if (found == open.end()) {
      open.push_back({p.dtype(), p.device(), 0, limits.first, {}});
      found = open.end() - 1;
    }
    found->members.push_back(order[at]);
    found->bytes += p.nbytes();
    if (found->bytes < found->limit) continue;
    full.push_back({at, std::exchange(found->members, {})});
    found->bytes = 0;
    found->limit = limits.further;
  }
  for (Open& o : open) {
    if (o.members.empty()) continue;
    const size_t last = stands[o.members.back()];
    full.push_back({last, std::move(o.members)});
  }
  std::ranges::sort(full, {}, &Full::last);
  std::vector<std::vector<size_t>> result;
  for (Full& f : full) result.push_back(std::move(f.members));
  return result;
}

Bucket::Bucket(TensorsView parameters, std::vector<size_t> positions)
    : members(std::move(positions)) {
  int64_t total = 0;
  for (const size_t i : members) total += parameters[i].numel();
  const Tensor& first = parameters[members[0]];
  set_flat(empty(Dims{total}, first.dtype(), first.device()), parameters);
}

void Bucket::set_flat(Tensor values, TensorsView parameters) {
  int64_t at = 0;
  std::vector<Tensor> made;
  for (const size_t i : members) {
    const Tensor& p = parameters[i];
    made.push_back(alias(values, p.sizes(), layout_of(p), values.offset() + at));
    at += p.numel();
  }
  check(at == values.numel() && values.is_contiguous(), Code::shape, "a bucket of ", at,
        " elements cannot hold ", values);
  flat = std::move(values);
  views = std::move(made);
}

}  // namespace flambeau::dist
