// A row vector, or a few, times a matrix. Where the matrix's columns are dense along k, dot
// products of several columns at once; where its rows are dense, sums of scaled rows in a strip of
// registers. The memory's speed decides, so that nothing is packed.
#pragma once
#include "kernels/gemm/gemm_block.h"

namespace flambeau::FLAM_TARGET {

// A vector of a row's neighbours along k: widened, or as pairs of bfloat16 for the instruction that
// takes them.
template <class T, bool Pairs> struct DotStep {
  using C = GemmCompute<T>;
  static constexpr int kCount = kLanes<C> * (Pairs ? 2 : 1);
  static FLAM_FN auto load(const T* p) {
    if constexpr (Pairs) {
      return load_vector(reinterpret_cast<const uint32_t*>(p));
    } else {
      return load_wide(p);
    }
  }
  static FLAM_FN auto load_part(const T* p, int n) {
    if constexpr (Pairs) {
      Vector<uint32_t> v{};
      memcpy(&v, p, size_t(n) * sizeof(T));
      return v;
    } else {
      return load_part_as(p, n);
    }
  }
  template <class V> static FLAM_FN Vector<C> add(V x, V y, Vector<C> sums) {
#if FLAM_ISA_RANK == 2
    if constexpr (Pairs) return add_dots(sums, x, y);
#endif
    if constexpr (!Pairs) return multiply_add<C>(x, y, sums);
  }
};

template <class T> struct DotOperands {
  int64_t k;
  const T* x;
  int64_t x_row;
  const T* b;  // its columns run along k
  int64_t along;
};

// A piece of k that is summed from zero before it comes to the rest: no chain gets long.
inline constexpr int64_t kPiece = 8192;

// Rows of x by Count columns of b, each a sum over lanes: sums[row * Count + column]. Few sums are
// several chains each, which hides what a multiply-add takes.
template <class T, bool Pairs, int Rows, int Count>
void dot_columns(const DotOperands<T>& g, GemmCompute<T>* sums) {
  using C = GemmCompute<T>;
  using Step = DotStep<T, Pairs>;
  constexpr int lanes = Step::kCount, chains = Rows * Count < 8 ? 8 / (Rows * Count) : 1;
  Vector<C> acc[Rows][Count][chains], total[Rows][Count] = {};
  const auto step = [&](int c, auto load) {
    decltype(load(g.b)) y[Count];
#pragma GCC unroll 8
    for (int j = 0; j < Count; ++j) y[j] = load(g.b + j * g.along);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      const auto x = load(g.x + i * g.x_row);
#pragma GCC unroll 8
      for (int j = 0; j < Count; ++j) acc[i][j][c] = Step::add(x, y[j], acc[i][j][c]);
    }
  };
  const auto each = [](auto f) {
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < Count; ++j) f(i, j);
    }
  };
  for (int64_t p = 0, end; p < g.k; p = end) {
    end = std::min(g.k, p + kPiece);
    each([&](int i, int j) {
#pragma GCC unroll 8
      for (int c = 0; c < chains; ++c) acc[i][j][c] = Vector<C>{};
    });
    for (; p + lanes * chains <= end; p += lanes * chains) {
#pragma GCC unroll 8
      for (int c = 0; c < chains; ++c)
        step(c, [&](const T* row) { return Step::load(row + p + c * lanes); });
    }
    for (; p < end; p += lanes) {
      const int n = end - p < lanes ? int(end - p) : lanes;
      step(0, [&](const T* row) { return Step::load_part(row + p, n); });
    }
    each([&](int i, int j) {
#pragma GCC unroll 8
      for (int c = 0; c < chains; ++c) total[i][j] += acc[i][j][c];
    });
  }
  each([&](int i, int j) { sums[i * Count + j] = sum_of<C>(total[i][j]); });
}

// Sums of rows row .. row + rows, columns column .. column + count.
template <class C>
void put_sums(const Target<C>& t, int64_t row, int rows, int64_t column, int count, const C* sums) {
  for (int i = 0; i < rows; ++i) {
    const C* init = t.init ? t.init + (row + i) * t.init_row : nullptr;
    C* out = t.out + (row + i) * t.out_row + column;
    for (int j = 0; j < count; ++j) {
      C v = sums[i * count + j];
      if (init) v += init[t.init_column ? 0 : column + j];
      if (t.relu && v < 0) v = 0;
      out[j] = v;
    }
  }
}

// So many rows at once as registers hold sums for.
inline constexpr int kDotRows = FLAM_ISA_RANK == 2 ? 4 : 2;

template <class T, bool Pairs, int Rows>
void dot_rows(const DotOperands<T>& g, int64_t row, int64_t column, int64_t end,
              const Target<GemmCompute<T>>& t) {
  constexpr int group = 4;  // rows of a page each share a place of the cache, which holds eight
  GemmCompute<T> sums[Rows * group];
  const auto at = [&](int64_t j) {
    return DotOperands<T>{g.k, g.x + row * g.x_row, g.x_row, g.b + j * g.along, g.along};
  };
  for (; column + group <= end; column += group) {
    dot_columns<T, Pairs, Rows, group>(at(column), sums);
    put_sums(t, row, Rows, column, group, sums);
  }
  for (; column < end; ++column) {
    dot_columns<T, Pairs, Rows, 1>(at(column), sums);
    put_sums(t, row, Rows, column, 1, sums);
  }
}

// A few columns for all rows of x, before the next: so b comes from memory once.
template <class T, bool Pairs>
void dot_product(int64_t m, int64_t n, const DotOperands<T>& g, const Target<GemmCompute<T>>& t) {
  constexpr int64_t group = 8;
  const int64_t grain = group * (1 + (1 << 15) / (group * m * (g.k + 1)));
  parallel_for(n, grain, [&](int64_t first, int64_t last) {
    for (; first < last; first += group) {
      const int64_t end = std::min(first + group, last);
      int64_t row = 0;
      for (; row + kDotRows <= m; row += kDotRows)
        dot_rows<T, Pairs, kDotRows>(g, row, first, end, t);
      if (kDotRows > 2 && row + 2 <= m) {
        dot_rows<T, Pairs, 2>(g, row, first, end, t);
        row += 2;
      }
      if (row < m) dot_rows<T, Pairs, 1>(g, row, first, end, t);
    }
  });
}

// out[first, first + n) += x @ b, Steps rows of b at a time, so that the strip of sums is read and
// written seldom while b streams by.
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
      v = multiply_add<C>(scale[s], part == kLanes<C> ? load_wide(row) : load_part_as(row, part),
                          v);
    }
    store_vector(sums + j, v);
  }
}

// Where each sum of a strip is one chain: as kPiece, which lanes share.
inline constexpr int64_t kRowPiece = 512;

template <class T>
void row_product(int64_t n, int64_t k, const MatrixSource<T>& a, const MatrixSource<T>& b,
                 const Target<GemmCompute<T>>& t) {
  using C = GemmCompute<T>;
  constexpr int64_t strip = 512;
  constexpr int steps = 8;
  parallel_for(
      (n + strip - 1) / strip, 1 + (1 << 16) / (strip * (k + 1)), [&](int64_t i, int64_t end) {
        alignas(64) C sums[strip], total[strip];
        for (; i < end; ++i) {
          const int64_t first = i * strip, count = std::min(strip, n - first);
          for (int64_t j = 0; j < count; ++j)
            total[j] = t.init ? t.init[t.init_column ? 0 : first + j] : C(0);
          auto rows_from = [&](int64_t at) { return b.data + at * b.depth + first; };
          for (int64_t p = 0, to; p < k; p = to) {
            to = std::min(k, p + kRowPiece);
            for (int64_t j = 0; j < count; j += kLanes<C>) store_vector<C>(sums + j, Vector<C>{});
            for (; p + steps <= to; p += steps)
              add_rows<T, steps>(a.data + p * a.depth, a.depth, rows_from(p), b.depth, count, sums);
            for (; p < to; ++p)
              add_rows<T, 1>(a.data + p * a.depth, a.depth, rows_from(p), b.depth, count, sums);
            for (int64_t j = 0; j < count; ++j) total[j] += sums[j];
          }
          for (int64_t j = 0; j < count; ++j)
            t.out[first + j] = t.relu && total[j] < 0 ? C(0) : total[j];
        }
      });
}

template <class T>
void dots(int64_t m, int64_t n, const DotOperands<T>& g, const Target<GemmCompute<T>>& t) {
  if constexpr (std::is_same_v<T, BFloat16> && FLAM_ISA_RANK == 2) {
    if (isa_rank() >= kIsaPairs) return dot_product<T, true>(m, n, g, t);
  }
  dot_product<T, false>(m, n, g, t);
}

inline constexpr int64_t kFewVectors = 8, kLongVectors = 256;

// A few columns, which would leave lanes idle: they are copied to run along k, and the product is
// made turned, as dot products with a's rows where these lie.
template <class T>
void column_product(int64_t m, int64_t n, int64_t k, const MatrixSource<T>& a,
                    const MatrixSource<T>& b, const Target<GemmCompute<T>>& t) {
  using C = GemmCompute<T>;
  const int64_t pitch = k + 64 / int64_t(sizeof(T));  // powers of two would share places of a cache
  const Scratch copy(size_t(n * pitch) * sizeof(T)), turned(size_t(n * m) * sizeof(C));
  T* const columns = copy.as<T>();
  C* const sums = turned.as<C>();
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < n; ++j) columns[j * pitch + p] = b.data[j * b.along + p * b.depth];
  }
  dots<T>(n, m, {k, columns, pitch, a.data, a.along}, {sums, m, nullptr, 0, false, false});
  for (int64_t i = 0; i < m; ++i) {
    const C* init = t.init ? t.init + i * t.init_row : nullptr;
    for (int64_t j = 0; j < n; ++j) {
      const C v = sums[j * m + i] + (init ? init[t.init_column ? 0 : j] : C(0));
      t.out[i * t.out_row + j] = t.relu && v < 0 ? C(0) : v;
    }
  }
}

// False where no form fits the strides, or where b is used often enough to be packed.
template <class T>
bool vector_product(int64_t m, int64_t n, int64_t k, const MatrixSource<T>& a,
                    const MatrixSource<T>& b, const Target<GemmCompute<T>>& target) {
  const bool few_columns = n > 1 && n <= kFewVectors && a.depth == 1 && k >= kLongVectors;
  // A column may lie so that both of its steps are 1.
  const bool along_k = a.depth == 1 && (b.depth == 1 || k == 1);
  if (m == 1 && b.along == 1 && !few_columns && !(n == 1 && along_k)) {
    row_product<T>(n, k, a, b, target);
    return true;
  }
  if (a.depth != 1) return false;
  if (few_columns && (m > kFewVectors || (b.depth != 1 && (m == 1 || n <= 4)))) {
    column_product<T>(m, n, k, a, b, target);
    return true;
  }
  if (b.depth != 1 || (m > 1 && (k < kLongVectors || m > kFewVectors))) return false;
  dots<T>(m, n, {k, a.data, a.along, b.data, b.along}, target);
  return true;
}

}  // namespace flambeau::FLAM_TARGET
