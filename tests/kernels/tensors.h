// Small tensors for kernel tests: made from and read back as plain vectors, on the cpu.
#pragma once
#include <cstring>
#include <random>
#include <vector>

#include "tensor/tensor.h"

namespace flambeau {

template <class T> Tensor tensor_of(const std::vector<T>& values, Dims sizes = {}) {
  if (sizes.empty()) sizes = Dims{int64_t(values.size())};
  Tensor t = empty(sizes, dtype_of<T>, kCpu);
  if (!values.empty()) std::memcpy(t.data(), values.data(), values.size() * sizeof(T));
  return t;
}

// Row-major values of a tensor of any strides.
template <class T> std::vector<T> values_of(const Tensor& t) {
  std::vector<T> out;
  const int64_t n = t.numel();
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, at = 0;
    for (int64_t d = t.dim(); d-- > 0;) {
      at += rest % t.sizes()[size_t(d)] * t.strides()[size_t(d)];
      rest /= t.sizes()[size_t(d)];
    }
    out.push_back(t.data_as<T>()[at]);
  }
  return out;
}

template <class T> std::vector<T> randoms(size_t n, double low, double high, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<T> out(n);
  for (T& v : out) v = T(float(draw(engine)));
  return out;
}

inline Tensor transposed(const Tensor& t, size_t a, size_t b) {
  Dims sizes(t.sizes()), strides(t.strides());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return alias(t, sizes, strides, t.offset());
}

}  // namespace flambeau
