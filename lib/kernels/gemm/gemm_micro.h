// The innermost step of a matrix product: a tile of Rows x (Vectors * lanes) outputs in registers,
// one pass over k. Every element is one chain of multiply-adds from zero, and its initial value is
// added at the end: its bits do not depend on the tile it falls into, and where k is cut, chains
// are as short as the cuts.
#pragma once
#include "kernels/gemm/gemm_vector.h"

namespace flambeau::FLAM_TARGET {

// What the products of packed elements C are summed in.
template <class C> struct SumOf {
  using type = C;
};
template <class C> using Sum = typename SumOf<C>::type;

// Two steps of k in bfloat16 side by side, as the vector instruction for them takes them, which the
// processor must have.
enum class DotPair : uint32_t {};
template <> struct SumOf<DotPair> {
  using type = float;
};

template <class C> struct MicroArgs {
  int64_t k;
  int rows;
  const C* a;
  int64_t a_row, a_depth;
  const C* b;
  int64_t b_depth;  // a row of b is Vectors * lanes elements, readable to the end
  Sum<C>* out;
  int64_t out_row;
  const Sum<C>* init;  // null: none
  int64_t init_row;
  bool init_column;  // one initial value for each row
  bool relu;
  int last;  // columns of the last vector that exist
};

template <class C, int Rows, int Vectors> struct Tile {
  static constexpr int kWidth = kLanes<C>;
  Vector<C> v[Rows][Vectors];

  FLAM_FN void start() {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) v[i][j] = Vector<C>{};
    }
  }

  // Where the sums go, long before they get there.
  template <class Args> FLAM_FN void fetch(const Args& g) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
      for (int at = 0; at < Vectors * kVectorBytes; at += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(g.out + i * g.out_row) + at, 1);
    }
  }

  template <class Args> FLAM_FN void add_init(const Args& g) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const C* from = g.init + i * g.init_row;
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) {
        v[i][j] += g.init_column                         ? splat(*from)
                   : j + 1 < Vectors || g.last == kWidth ? load_vector(from + j * kWidth)
                                                         : load_part(from + j * kWidth, g.last);
      }
    }
  }

  template <class Args> FLAM_FN void finish(const Args& g) {
    if (g.init) add_init(g);
    if (g.relu) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < Vectors; ++j) v[i][j] = v[i][j] < 0 ? Vector<C>{} : v[i][j];
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      C* to = g.out + i * g.out_row;
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) {
        if (j + 1 < Vectors || g.last == kWidth) {
          store_vector(to + j * kWidth, v[i][j]);
        } else {
          store_part(to + j * kWidth, v[i][j], g.last);
        }
      }
    }
  }

  // a: the operand's element of this step in row 0; a_row apart from it the other rows'.
  FLAM_FN void step(const C* a, int64_t a_row, const C* b) {
    Vector<C> y[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) y[j] = load_vector(b + j * kWidth);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector<C> x = splat(a[i * a_row]);
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) v[i][j] = multiply_add<C>(x, y[j], v[i][j]);
    }
  }

#if FLAM_ISA_RANK == 2
  // The same of pairs of bfloat16.
  FLAM_FN void step(const DotPair* a, int64_t a_row, const DotPair* b) {
    Vector<uint32_t> y[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) memcpy(&y[j], b + j * kWidth, sizeof y[j]);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector<uint32_t> x = splat(uint32_t(a[i * a_row]));
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) v[i][j] = add_dots(v[i][j], x, y[j]);
    }
  }
#endif
};

// RowMajor: a's rows run along k (a_depth is 1); otherwise its columns are dense (a_row is 1).
template <class C, int Rows, int Vectors, bool RowMajor> void micro(const MicroArgs<C>& g) {
  Tile<Sum<C>, Rows, Vectors> tile;
  tile.start();
  constexpr int64_t kWorthFetching = 128;  // fewer steps end before it comes
  if (g.k >= kWorthFetching) tile.fetch(g);
  const C *a = g.a, *b = g.b;
  const int64_t a_row = RowMajor ? g.a_row : 1, a_depth = RowMajor ? 1 : g.a_depth,
                b_depth = g.b_depth;
  int64_t p = 0;
  // Of packed operands the distances are known: several steps need no instruction but their own,
  // which matters where two threads share what a core decodes.
  constexpr int kSteps = 4, kColumns = Vectors * kLanes<C>;
  if (!RowMajor && a_depth == Rows && b_depth == kColumns) {
    for (; p + kSteps <= g.k; p += kSteps, a += kSteps * Rows, b += kSteps * kColumns) {
#pragma GCC unroll 4
      for (int i = 0; i < kSteps; ++i) tile.step(a + i * Rows, 1, b + i * kColumns);
    }
  }
  for (; p < g.k; ++p) {
    tile.step(a, a_row, b);
    a += a_depth;
    b += b_depth;
  }
  tile.finish(g);
}

template <class C> using Micro = void (*)(const MicroArgs<C>&);

// Tile heights: the registers of the target, less those for b and a, in two vectors' width.
#if FLAM_ISA_RANK == 2
inline constexpr int kMicroRows = 14;
#elif FLAM_ISA_RANK == 1
inline constexpr int kMicroRows = 6;
#else
inline constexpr int kMicroRows = 4;
#endif
inline constexpr int kMicroVectors = 2;
template <class C> inline constexpr int kStripRows = kMicroRows;
template <class C> inline constexpr bool kWholeStrips = false;  // but for the last one
template <class C> inline constexpr int kMicroColumns = kMicroVectors * kLanes<C>;

template <class C, bool RowMajor, int Vectors, size_t... I>
constexpr Micro<C> micro_of(int rows, std::index_sequence<I...>) {
  constexpr Micro<C> table[] = {&micro<C, int(I) + 1, Vectors, RowMajor>...};
  return table[rows - 1];
}

// How strips of packed elements C are multiplied: a step for every number of rows and of vectors,
// and what a thread needs for the time of a tile.
template <class C> struct Steps {
  struct Session {};
  static Micro<C> find(int rows, int vectors, bool row_major) {
    using Heights = std::make_index_sequence<size_t(kMicroRows)>;
    if (vectors == 2) {
      return row_major ? micro_of<C, true, 2>(rows, Heights{})
                       : micro_of<C, false, 2>(rows, Heights{});
    }
    return row_major ? micro_of<C, true, 1>(rows, Heights{})
                     : micro_of<C, false, 1>(rows, Heights{});
  }
};

}  // namespace flambeau::FLAM_TARGET
