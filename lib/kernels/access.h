// The bytes of a tensor that a launch touches, as the happens-before checker of sim wants to know
// them, and the launch itself: at once on the cpu, through the current stream elsewhere.
#pragma once
#include <initializer_list>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline Access access_of(const Tensor& t, bool write) {
  if (!t.defined() || t.numel() == 0) return {nullptr, 0, write};
  int64_t low = 0, high = 1;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t reach = (t.sizes()[size_t(d)] - 1) * t.strides()[size_t(d)];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t bytes = int64_t(t.element_size());
  return {static_cast<char*>(t.data()) + low * bytes, size_t((high - low) * bytes), write};
}
inline Access reads(const Tensor& t) { return access_of(t, false); }
inline Access writes(const Tensor& t) { return access_of(t, true); }

template <class Args>
void launch_kernel(const char* op, KernelFn fn, Device device, const Args& args,
                   std::span<const Access> accesses) {
  static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= 4000);
  if (device.is_cpu()) return fn(nullptr, &args);
  launch(current_stream(device), op, fn, &args, sizeof args, accesses);
}
template <class Args>
void launch_kernel(const char* op, KernelFn fn, Device device, const Args& args,
                   std::initializer_list<Access> accesses) {
  launch_kernel(op, fn, device, args, std::span(accesses.begin(), accesses.size()));
}

}  // namespace flambeau
