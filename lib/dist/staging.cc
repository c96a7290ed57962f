// See staging.h.
#include "dist/staging.h"

#include "device/runtime.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

// The part of `whole` that a tensor of the list takes, in its shape.
Tensor part(const Tensor& whole, int64_t at, const Tensor& t) {
  return alias(whole, t.sizes(), contiguous_strides(t.sizes()), at);
}

}  // namespace

Staged::Staged(const std::vector<Tensor>& tensors, bool fill) : tensors_(tensors) {
  if (tensors.empty()) return;
  const Tensor& first = tensors[0];
  if (tensors.size() == 1 && first.device().is_cpu() && first.is_contiguous()) {
    whole_ = first;
    direct_ = true;
    if (first.storage()->block()) wait_for_host_access(first.storage()->block());
    return;
  }
  int64_t total = 0;
  for (const Tensor& t : tensors) total += t.numel();
  whole_ = first.device().is_cpu() ? empty(Dims{total}, first.dtype(), kCpu)
                                   : empty_pinned(Dims{total}, Dims{1}, first.dtype());
  if (!fill) return;
  const GradMode off(false);
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    ops::copy_(part(whole_, at, t), t, true);
    at += t.numel();
  }
  if (!first.device().is_cpu()) synchronize(current_stream(first.device()));
}

void Staged::write_back() const {
  if (direct_) {
    tensors_[0].writes().add("c10d", "_");
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
