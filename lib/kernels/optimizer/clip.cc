// Cuts a list into launches; see clip.h.
#include "kernels/optimizer/clip.h"

#include <algorithm>
#include <vector>

#include "kernels/tickets.h"

namespace flambeau {

constinit Kernel kNormList{"norm"};

void run_norms(const char* op, TensorsView tensors, const Tensor& total, const Tensor& factor,
               double most) {
  const Device device = total.device();
  const KernelFn fn = kNormList.find(op, device, total.dtype());
  std::vector<const Tensor*> all;
  for (const Tensor& t : tensors)
    if (t.numel() > 0) all.push_back(&t);
  const Tensor norms = empty(Dims{int64_t(all.size())}, total.dtype(), device);
  for (size_t begin = 0; begin < all.size(); begin += kNormTensors) {
    const size_t end = std::min(begin + kNormTensors, all.size());
    NormListArgs a{};
    std::vector<Access> accesses;
    for (size_t i = begin; i < end; ++i) {
      const Tensor& t = *all[i];
      a.entry[a.tensors++] = {static_cast<const char*>(t.data()), t.numel(), a.chunks};
      a.chunks += int32_t((t.numel() + kListChunk - 1) / kListChunk);
      accesses.push_back(reads(t));
    }
    const Tensor partial = empty(Dims{a.chunks}, Dtype::f64, device);
    a.first = int32_t(begin);
    a.tickets = ticket_stream(device);
    a.partial = partial.data_as<double>();
    a.norms = static_cast<char*>(norms.data());
    accesses.push_back(writes(partial));
    accesses.push_back(writes(norms));
    if (end == all.size()) {
      a.total = static_cast<char*>(total.data());
      a.factor = factor.defined() ? factor.data_as<float>() : nullptr;
      a.most = most;
      accesses.push_back(writes(total));
      accesses.push_back(writes(factor));
    }
    launch_kernel(op, fn, device, a, std::span<const Access>(accesses));
  }
}

}  // namespace flambeau
