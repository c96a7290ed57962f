// Sixteen rows of a tensor as columns: what walks the terms of a row one by one then serves all of
// them with each step.
#pragma once
#include "kernels/gemm/gemm_vector.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kTurnedRows = 16;

// A square of vectors in log2(lanes) perfect shuffles, each of which rotates the bits of an
// element's address (row, lane) by one; then f(lane, vector).
template <int Stage, class F>
FLAM_FN void turn_square(const Vector<float> (&v)[kLanes<float>], const F& f) {
  constexpr int n = kLanes<float>;
  if constexpr (Stage < n) {
    Vector<float> w[n];
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; ++i) {
      interleave<float>(v[i], v[i + n / 2], w[2 * i], w[2 * i + 1],
                        std::make_index_sequence<size_t(n)>{});
    }
    turn_square<2 * Stage>(w, f);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) f(i, v[i]);
  }
}

// Sixteen rows of 32-bit elements, dense inside; how many of n terms were turned.
template <class T>
FLAM_FN int turn_squares(T* turned, int64_t line, const char* from, int64_t row_stride, int n) {
  constexpr int lanes = kLanes<float>;
  int i = 0;
  for (; FLAM_ISA_RANK == 2 ? i < n : i + lanes <= n; i += lanes) {
    const int terms = n - i < lanes ? n - i : lanes;
    for (int r = 0; r < kTurnedRows; r += lanes) {
      Vector<float> v[lanes];
#pragma GCC unroll 16
      for (int l = 0; l < lanes; ++l) {
        const float* p = reinterpret_cast<const float*>(from + (r + l) * row_stride) + i;
        v[l] = FLAM_ISA_RANK == 2 ? load_part(p, terms) : load_vector(p);
      }
      turn_square<1>(v, [&](int l, const Vector<float>& column) {
        if (l < terms) memcpy(turned + (i + l) * line + r, &column, sizeof column);
      });
    }
  }
  return i < n ? i : n;
}

// turned[i * line + r] becomes term i of row r.
template <class T>
FLAM_FN void turn_rows(T* turned, int64_t line, const char* from, int64_t row_stride,
                       int64_t term_stride, int rows, int n) {
  int first = 0;
  if constexpr (sizeof(T) == 4) {
    if (rows == kTurnedRows && term_stride == 4)
      first = turn_squares(turned, line, from, row_stride, n);
  }
  for (int r = 0; r < rows; ++r) {
    const char* p = from + r * row_stride + first * term_stride;
    for (int i = first; i < n; ++i, p += term_stride)
      turned[i * line + r] = *reinterpret_cast<const T*>(p);
  }
}

// And back.
template <class T>
FLAM_FN void turn_back(char* to, int64_t row_stride, int64_t term_stride, const T* turned,
                       int64_t line, int rows, int n) {
  int first = 0;
  if constexpr (sizeof(T) == 4 && FLAM_ISA_RANK == 2) {
    for (; rows == kTurnedRows && term_stride == 4 && first < n; first += kTurnedRows) {
      const int terms = n - first < kTurnedRows ? n - first : kTurnedRows;
      Vector<float> v[kTurnedRows];
#pragma GCC unroll 16
      for (int i = 0; i < kTurnedRows; ++i) {
        const T* p = turned + (first + (i < terms ? i : 0)) * line;
        v[i] = load_vector(reinterpret_cast<const float*>(p));
      }
      turn_square<1>(v, [&](int r, const Vector<float>& row) {
        store_part(reinterpret_cast<float*>(to + r * row_stride) + first, row, terms);
      });
    }
  }
  for (int r = 0; r < rows; ++r) {
    char* p = to + r * row_stride + first * term_stride;
    for (int i = first; i < n; ++i, p += term_stride)
      *reinterpret_cast<T*>(p) = turned[i * line + r];
  }
}

}  // namespace flambeau::FLAM_TARGET
