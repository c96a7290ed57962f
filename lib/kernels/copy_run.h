// Dense runs of bytes moved on the host, among them short ones: by vectors whose stores are aligned
// but for the first and the last, which overlap with others. Not memcpy: a long one that begins
// within a line is many times slower on some processors, and a short one is mostly its start.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <int64_t Bytes> FLAM_FN void copy_vectors(char* to, const char* from, int64_t bytes) {
  memcpy(to, from, Bytes);
  int64_t i = Bytes - int64_t(reinterpret_cast<uintptr_t>(to) % Bytes);
  for (; i + Bytes <= bytes; i += Bytes) memcpy(to + i, from + i, Bytes);
  memcpy(to + bytes - Bytes, from + bytes - Bytes, Bytes);
}

FLAM_FN void copy_run(char* to, const char* from, int64_t bytes) {
  if (bytes >= 64) {
    copy_vectors<64>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_vectors<16>(to, from, bytes);
  } else {
    memcpy(to, from, size_t(bytes));
  }
}

// Runs that begin so many bytes apart.
FLAM_FN void copy_runs(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows,
                       int64_t bytes) {
  if (bytes >= 64) {
    for (int64_t r = 0; r < rows; ++r)
      copy_vectors<64>(to + r * to_row, from + r * from_row, bytes);
  } else {
    for (int64_t r = 0; r < rows; ++r) copy_run(to + r * to_row, from + r * from_row, bytes);
  }
}

}  // namespace flambeau::FLAM_TARGET
