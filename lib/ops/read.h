// Reading one element on the host: waits for the device it is on.
#pragma once
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
inline bool is_true(const Tensor& t) { return read_number(t) != 0; }

}  // namespace flambeau::ops
