// Arithmetic on sizes and counts that come from the caller. What leaves int64_t, or asks for more
// objects than a process can hold, is an error that names the argument and its value: a wrapped
// number would pass the checks after it, and a loop over the true one would not end.
#pragma once
#include <cstdint>

#include "base/error.h"

namespace flambeau {

// a * b and a + b; `what` names them, as in ("pixel_shuffle: upscale_factor", 5).
template <class... What> int64_t checked_mul(int64_t a, int64_t b, const What&... what) {
  int64_t result;
  check(!__builtin_mul_overflow(a, b, &result), Code::invalid_argument, what...,
        " is too large: ", a, " * ", b, " does not fit in 64 bits");
  return result;
}

template <class... What> int64_t checked_add(int64_t a, int64_t b, const What&... what) {
  int64_t result;
  check(!__builtin_add_overflow(a, b, &result), Code::invalid_argument, what...,
        " is too large: ", a, " + ", b, " does not fit in 64 bits");
  return result;
}

// Extents of windows and of what they cover: below this no sum of a few of them wraps. It is the
// limit of a tensor's elements, too.
inline constexpr int64_t kMostElements = int64_t(1) << 58;
inline void check_extent(const char* op, const char* argument, int64_t value) {
  check(value <= kMostElements, Code::invalid_argument, op, ": ", argument, " must be at most ",
        kMostElements, ", got ", value);
}

// Elements from the first tap of a window to its last.
inline int64_t window_reach(const char* op, int64_t kernel, int64_t dilation) {
  const int64_t steps =
      checked_mul(kernel - 1, dilation, op, ": kernel_size ", kernel, " with dilation ", dilation);
  check_extent(op, "kernel_size times dilation", steps);
  return steps + 1;
}

inline constexpr int64_t kMostDims = 64;  // of a tensor whose dimensions a number asks for

// Objects that a call makes one by one because a number says so: layers, parts, columns.
inline constexpr int64_t kMostObjects = 1 << 20;
inline void check_count(const char* op, const char* argument, int64_t value,
                        int64_t most = kMostObjects) {
  check(value <= most, Code::invalid_argument, op, ": ", argument, " must be at most ", most,
        ", got ", value);
}

}  // namespace flambeau
