// Dense runs of bytes moved on the host, among them short ones: by vectors whose stores are aligned
// but for the first and the last, which overlap with others. Not memcpy: a long one that begins
// within a line is many times slower on some processors, and a short one is mostly its start.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// In an own struct, because a template argument drops the attributes of a vector type.
template <int64_t N> struct RegisterOf {
  typedef char type __attribute__((vector_size(N)));
};

// By the widest registers there are: by itself gcc takes those of 16 bytes for AVX2, too.
template <int64_t Bytes> FLAM_FN void move_bytes(char* to, const char* from) {
  constexpr int64_t widest = 16 << FLAM_ISA_RANK, width = Bytes < widest ? Bytes : widest;
  constexpr int count = int(Bytes / width);
  typename RegisterOf<width>::type v[count];
#pragma GCC unroll 16
  for (int k = 0; k < count; ++k) memcpy(&v[k], from + k * width, width);
#pragma GCC unroll 16
  for (int k = 0; k < count; ++k) memcpy(to + k * width, &v[k], width);
}

// Four vectors at a time, or one by one while what lies so far ahead is asked for.
template <int64_t Bytes, bool Ahead = false>
FLAM_FN void copy_vectors(char* to, const char* from, int64_t bytes, int64_t ahead = 0) {
  if (Ahead) __builtin_prefetch(from + ahead);
  move_bytes<Bytes>(to, from);
  int64_t i = Bytes - int64_t(reinterpret_cast<uintptr_t>(to) % Bytes);
  for (; !Ahead && i + 4 * Bytes <= bytes; i += 4 * Bytes) move_bytes<4 * Bytes>(to + i, from + i);
  for (; i + Bytes <= bytes; i += Bytes) {
    if (Ahead) __builtin_prefetch(from + i + ahead);
    move_bytes<Bytes>(to + i, from + i);
  }
  move_bytes<Bytes>(to + bytes - Bytes, from + bytes - Bytes);
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

// Runs that begin so many bytes apart. Short ones are asked for ahead: no processor foresees them.
FLAM_FN void copy_runs(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows,
                       int64_t bytes) {
  constexpr int64_t kShort = 2048, kAhead = 1024;
  int64_t r = 0;
  if (bytes >= 64 && bytes < kShort && from_row != bytes) {
    const int64_t ahead = std::max<int64_t>(1, kAhead / bytes);
    for (; r + ahead < rows; ++r)
      copy_vectors<64, true>(to + r * to_row, from + r * from_row, bytes, ahead * from_row);
  }
  for (; r < rows; ++r) copy_run(to + r * to_row, from + r * from_row, bytes);
}

}  // namespace flambeau::FLAM_TARGET
