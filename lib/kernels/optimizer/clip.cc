// Cuts a list into launches; see clip.h.
#include "kernels/optimizer/clip.h"

#include <algorithm>
#include <vector>

namespace flambeau {

constinit Kernel kSquareList{"norm"}, kRootList{"norm"};

void run_norms(const char* op, TensorsView tensors, const Tensor& norms) {
  const Device device = norms.device();
  const Dtype dtype = norms.dtype();
  const KernelFn square = kSquareList.find(op, device, dtype),
                 root = kRootList.find(op, device, dtype);
  for (size_t begin = 0; begin < tensors.size(); begin += kListTensors) {
    const TensorsView some =
        tensors.subspan(begin, std::min(size_t(kListTensors), tensors.size() - begin));
    NormListArgs a{};
    std::vector<Access> squares, roots;
    for (const Tensor& t : some) {
      ListEntry& entry = a.list.entry[a.list.tensors++];
      entry.grad = static_cast<char*>(t.data());
      entry.numel = t.numel();
      entry.first_chunk = a.list.chunks;
      a.list.chunks += int32_t((t.numel() + kListChunk - 1) / kListChunk);
      squares.push_back(reads(t));
    }
    const Tensor partial = empty(Dims{a.list.chunks}, Dtype::f64, device);
    a.partial = partial.data_as<double>();
    a.norms = static_cast<char*>(norms.data()) + begin * norms.element_size();
    squares.push_back(writes(partial));
    if (a.list.chunks > 0) launch_kernel(op, square, device, a, std::span<const Access>(squares));
    launch_kernel(op, root, device, a, {reads(partial), writes(norms)});
  }
}

}  // namespace flambeau
