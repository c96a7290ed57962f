// Launching kernels of the position.
#include "kernels/place.h"

#include <algorithm>

namespace flambeau {

void run_place(const char* op, const Kernel& kernel, const Tensor& out, const Tensor& in,
               std::initializer_list<double> real, std::initializer_list<int64_t> whole) {
  const KernelFn fn = kernel.find(op, out.device(), out.dtype());
  if (out.numel() == 0) return;
  PlaceArgs a{out.numel(), out.data_as<char>(), in ? in.data_as<char>() : nullptr, {}, {}};
  std::copy(real.begin(), real.end(), a.real);
  std::copy(whole.begin(), whole.end(), a.whole);
  if (out.device().is_cpu()) return fn(nullptr, &a);
  const Access accesses[] = {{a.out, out.nbytes(), true}, {a.in, in ? in.nbytes() : 0, false}};
  launch(current_stream(out.device()), op, fn, &a, sizeof a, {accesses, in ? 2u : 1u});
}

}  // namespace flambeau
