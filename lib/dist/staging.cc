// See staging.h.
#include "dist/staging.h"

#include <algorithm>

#include "device/runtime.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

// The part of `whole` that a tensor of the list takes, in its shape.
Tensor part(const Tensor& whole, int64_t at, const Tensor& t) {
  return alias(whole, t.sizes(), contiguous_strides(t.sizes()), at);
}

// Whether a tensor's own memory can be handed over.
bool is_there(const Tensor& t, Staged::As as) {
  return (as == Staged::As::device || t.device().is_cpu()) && t.is_contiguous();
}

Tensor buffer(const Tensor& like, int64_t elements, Staged::As as) {
  if (like.device().is_cpu() || as == Staged::As::device)
    return empty(Dims{elements}, like.dtype(), like.device());
  return empty_pinned(Dims{elements}, Dims{1}, like.dtype());
}

}  // namespace

Staged::Staged(const std::vector<Tensor>& tensors, bool fill, As as) : tensors_(tensors) {
  if (tensors.empty()) return;
  const Tensor& first = tensors[0];
  const bool apart = as == As::host_parts;
  direct_ = (apart || tensors.size() == 1) &&
            std::ranges::all_of(tensors, [&](const Tensor& t) { return is_there(t, as); });
  if (direct_) {
    for (const Tensor& t : tensors)
      if (t.device().is_cpu()) wait_for_host_access(t.storage()->block());
    if (!apart) whole_ = first;
    for (size_t i = 0; apart && i < tensors.size(); i++) parts_.push_back(tensors[i].data());
    return;
  }
  int64_t total = 0;
  for (const Tensor& t : tensors) total += t.numel();
  whole_ = buffer(first, total, as);
  if (!fill) return;
  const GradMode off(false);
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    ops::copy_(part(whole_, at, t), t, true);
    at += t.numel();
  }
  if (as != As::device && !first.device().is_cpu()) synchronize(current_stream(first.device()));
}

void Staged::write_back() const {
  if (direct_) {
    for (const Tensor& t : tensors_) t.writes().add("c10d", "_");
    return;
  }
  const GradMode off(false);
  int64_t at = 0;
  for (const Tensor& t : tensors_) {
    ops::copy_(t, part(whole_, at, t), true);
    at += t.numel();
  }
}

}  // namespace flambeau::dist
