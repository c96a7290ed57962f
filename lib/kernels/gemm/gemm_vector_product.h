// A row vector times a matrix. Where the matrix's columns are dense along k, dot products of
// several columns at once; where its rows are dense, sums of scaled rows in a strip of registers.
// The memory's speed decides.
#pragma once
#include "kernels/gemm/gemm_block.h"

namespace flambeau::FLAM_TARGET {

// Columns column .. column + Count of x @ b, each a sum over lanes; b's columns run along k.
template <class T, int Count>
void dot_columns(const T* x, const T* b, int64_t along, int64_t k, GemmCompute<T>* sums) {
  using C = GemmCompute<T>;
  constexpr int lanes = kLanes<C>, chains = Count < 4 ? 4 / Count : 1;
  Vector<C> acc[Count][chains] = {};
  int64_t p = 0;
  for (; p + lanes * chains <= k; p += lanes * chains) {
#pragma GCC unroll 4
    for (int c = 0; c < chains; ++c) {
      const Vector<C> v = load_as(x + p + c * lanes);
#pragma GCC unroll 8
      for (int j = 0; j < Count; ++j) {
        acc[j][c] = multiply_add<C>(v, load_as(b + j * along + p + c * lanes), acc[j][c]);
      }
    }
  }
  for (; p < k; p += lanes) {
    const int n = k - p < lanes ? int(k - p) : lanes;
    const Vector<C> v = load_part_as(x + p, n);
#pragma GCC unroll 8
    for (int j = 0; j < Count; ++j) {
      acc[j][0] = multiply_add<C>(v, load_part_as(b + j * along + p, n), acc[j][0]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < Count; ++j) {
    Vector<C> all = acc[j][0];
    for (int c = 1; c < chains; ++c) all += acc[j][c];
    sums[j] = sum_of<C>(all);
  }
}

template <class C> void put_sums(const Target<C>& t, int64_t column, const C* sums, int count) {
  for (int j = 0; j < count; ++j) {
    C v = sums[j];
    if (t.init) v += t.init[t.init_column ? 0 : column + j];
    if (t.relu && v < 0) v = 0;
    t.out[column + j] = v;
  }
}

template <class T>
void dot_product(int64_t n, int64_t k, const T* x, const T* b, int64_t along,
                 const Target<GemmCompute<T>>& t) {
  constexpr int group = 8;
  const int64_t grain = group * (1 + (1 << 15) / (group * (k + 1)));
  parallel_for(n, grain, [&](int64_t j, int64_t end) {
    GemmCompute<T> sums[group];
    for (; j + group <= end; j += group) {
      dot_columns<T, group>(x, b + j * along, along, k, sums);
      put_sums(t, j, sums, group);
    }
    for (; j < end; ++j) {
      dot_columns<T, 1>(x, b + j * along, along, k, sums);
      put_sums(t, j, sums, 1);
    }
  });
}

// out[first, first + n) += x @ b, Steps rows of b at a time, so that the strip of sums is read and
// written seldom while b streams by. Each sum is one chain in the order of k.
template <class T, int Steps>
void add_rows(const T* x, int64_t depth, const T* b, int64_t b_depth, int64_t n,
              GemmCompute<T>* sums) {
  using C = GemmCompute<T>;
  Vector<C> scale[Steps];
#pragma GCC unroll 8
  for (int s = 0; s < Steps; ++s) scale[s] = splat(gemm_load(x + s * depth));
  for (int64_t j = 0; j < n; j += kLanes<C>) {
    Vector<C> v = load_vector(sums + j);
    const int part = n - j < kLanes<C> ? int(n - j) : kLanes<C>;
#pragma GCC unroll 8
    for (int s = 0; s < Steps; ++s) {
      const T* row = b + s * b_depth + j;
      v = multiply_add<C>(scale[s], part == kLanes<C> ? load_as(row) : load_part_as(row, part), v);
    }
    store_vector(sums + j, v);
  }
}

template <class T>
void row_product(int64_t n, int64_t k, const MatrixSource<T>& a, const MatrixSource<T>& b,
                 const Target<GemmCompute<T>>& t) {
  using C = GemmCompute<T>;
  constexpr int64_t strip = 512;
  constexpr int steps = 8;
  parallel_for(
      (n + strip - 1) / strip, 1 + (1 << 16) / (strip * (k + 1)), [&](int64_t i, int64_t end) {
        alignas(64) C sums[strip];
        for (; i < end; ++i) {
          const int64_t first = i * strip, count = std::min(strip, n - first);
          for (int64_t j = 0; j < count; j += kLanes<C>) store_vector<C>(sums + j, Vector<C>{});
          for (int64_t j = 0; t.init && j < count; ++j) {
            sums[j] = t.init[t.init_column ? 0 : first + j];
          }
          int64_t p = 0;
          auto rows_from = [&](int64_t at) { return b.data + at * b.depth + first; };
          for (; p + steps <= k; p += steps) {
            add_rows<T, steps>(a.data + p * a.depth, a.depth, rows_from(p), b.depth, count, sums);
          }
          for (; p < k; ++p)
            add_rows<T, 1>(a.data + p * a.depth, a.depth, rows_from(p), b.depth, count, sums);
          for (int64_t j = 0; j < count; ++j)
            t.out[first + j] = t.relu && sums[j] < 0 ? C(0) : sums[j];
        }
      });
}

// False where neither form fits the strides.
template <class T>
bool vector_product(int64_t n, int64_t k, const MatrixSource<T>& a, const MatrixSource<T>& b,
                    const Target<GemmCompute<T>>& target) {
  if (b.along == 1) {
    row_product<T>(n, k, a, b, target);
  } else if (a.depth == 1 && b.depth == 1) {
    dot_product<T>(n, k, a.data, b.data, b.along, target);
  } else {
    return false;
  }
  return true;
}

}  // namespace flambeau::FLAM_TARGET
