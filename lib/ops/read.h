// Reading elements on the host: waits for the device they are on.
#pragma once
#include <vector>

#include "ops/ops.h"

namespace flambeau::ops {

template <class T> T read_as(const Tensor& t) {
  const Tensor host = t.device().is_cpu() ? t : to_device(alias(t), kCpu, false);
  wait_for_host_access(host.storage()->block());
  return with_dtype(host.dtype(),
                    [&](auto tag) { return T(*host.data_as<typename decltype(tag)::type>()); });
}

// The value of a 0-d tensor.
inline double read_number(const Tensor& t) { return read_as<double>(t); }
// The same of one of integers: those that a double rounds are places out of bounds, and a rounded
// one may pass for another.
inline int64_t read_integer(const Tensor& t) { return read_as<int64_t>(t); }
// All of them, in their order.
inline std::vector<int64_t> read_integers(const Tensor& t) {
  const GradMode no_grad(false);
  const Tensor host = contiguous(to(t, kCpu, Dtype::i64));
  wait_for_host_access(host.storage()->block());
  return {host.data_as<int64_t>(), host.data_as<int64_t>() + host.numel()};
}
inline bool is_true(const Tensor& t) { return read_number(t) != 0; }

}  // namespace flambeau::ops
