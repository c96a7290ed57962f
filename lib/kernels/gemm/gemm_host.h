// The matrix product of the host. One matrix: turned so that its output's rows are dense, then a
// vector product or a blocked one, straight into the output where its type and strides allow, else
// through a matrix of the arithmetic type, which is scaled, added to c, activated and converted
// tile by tile as its sums get ready. Products of bfloat16 take the processor's own instructions.
#pragma once
#include "kernels/gemm/gemm_pieces.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/gemm_tiny.h"
#include "kernels/gemm/gemm_vector_product.h"

namespace flambeau::FLAM_TARGET {

template <class T> struct MatrixView {
  T* data;
  int64_t row, col;
};

template <class T> struct HostProduct {
  int64_t m, n, k;
  MatrixView<const T> a, b, c;
  MatrixView<T> out;
  const GemmCompute<T>* packed_a = nullptr;  // by pack_whole, where other products share it
};

template <class T> HostProduct<T> transposed(const HostProduct<T>& g) {
  auto turn = [](auto v) { return decltype(v){v.data, v.col, v.row}; };
  return {g.n, g.m, g.k, turn(g.b), turn(g.a), turn(g.c), turn(g.out)};
}

// Whether the transposed product has dense rows where this one's are not.
template <class T> bool runs_transposed(const HostProduct<T>& g) {
  return g.out.row == 1 && (g.out.col != 1 || (g.n == 1 && g.m > 1));
}

inline HalvesView halves_of(const BFloat16* data, int64_t along, int64_t depth, int64_t k) {
  return {reinterpret_cast<const uint16_t*>(data), along, depth, k};
}

// False where the processor has no instructions for pairs.
inline bool multiply_pairs(const HostProduct<BFloat16>& g, const Target<float>& target) {
#if FLAM_ISA_RANK == 2
  const HalvesView a = halves_of(g.a.data, g.a.row, g.a.col, g.k),
                   b = halves_of(g.b.data, g.b.col, g.b.row, g.k);
  if (isa_rank() >= kIsaTiles) {
    using Pair = TilePair<AmxTiles>;
    const TileRows<AmxTiles> rows{a};
    const PairSource<Pair> columns{b};
    BlockedProduct<TileRows<AmxTiles>, PairSource<Pair>>(g.m, g.n, tile_depth(g.k), rows, columns,
                                                         target)
        .run();
  } else if (isa_rank() >= kIsaPairs) {
    const PairRows rows{{a}};
    const PairSource<DotPair> columns{b};
    BlockedProduct<PairRows, PairSource<DotPair>>(g.m, g.n, (g.k + 1) / 2, rows, columns, target)
        .run();
  }
  return isa_rank() >= kIsaPairs;
#else
  (void)g, (void)target;
  return false;
#endif
}

template <class T>
void multiply_short(const HostProduct<T>& g, const Target<GemmCompute<T>>& target) {
  const MatrixSource<T> a{g.a.data, g.a.row, g.a.col}, b{g.b.data, g.b.col, g.b.row};
  if (vector_product<T>(g.m, g.n, g.k, a, b, target)) {
    if (target.finish) target.finish(target.finisher, 0, g.m, 0, g.n);
    return;
  }
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (multiply_pairs(g, target)) return;
  }
  BlockedProduct<MatrixSource<T>, MatrixSource<T>>(g.m, g.n, g.k, a, b, target, g.packed_a).run();
}

// One after the other where each keeps all threads busy, else shared out.
template <class T>
void multiply_pieces(const HostProduct<T>& g, const Target<GemmCompute<T>>& target) {
  using C = GemmCompute<T>;
  const int64_t pieces = (g.k + kLongSum - 1) / kLongSum;
  const int64_t grain = g.m <= kTileRows<C> && g.n <= kTileColumns<C> ? 1 : pieces;
  sum_pieces(g.m, g.n, pieces, grain, target, [&](int64_t i, const Target<C>& sums) {
    const int64_t p = i * kLongSum;
    HostProduct<T> piece = g;
    piece.a.data += p * g.a.col;
    piece.b.data += p * g.b.row;
    piece.k = std::min(kLongSum, g.k - p);
    if (g.packed_a) piece.packed_a += g.m * p;
    multiply_short(piece, sums);
  });
}

template <class T>
void multiply_into(const HostProduct<T>& g, const Target<GemmCompute<T>>& target) {
  if constexpr (std::is_floating_point_v<GemmCompute<T>>) {
    if (g.k > kLongSum) return multiply_pieces(g, target);
  }
  multiply_short(g, target);
}

// From sums to the output.
template <class T> struct Finisher {
  using C = GemmCompute<T>;
  const HostProduct<T>& g;
  const C* sums;
  C alpha, beta;
  Activation activation;

  static void tile(const void* self, int64_t row, int64_t row_end, int64_t column,
                   int64_t column_end) {
    const auto& f = *static_cast<const Finisher*>(self);
    for (; row < row_end; ++row) f.part_of_row(row, column, column_end - column);
  }

 private:
  void part_of_row(int64_t row, int64_t column, int64_t n) const {
    const C* from = sums + row * g.n + column;
    const T* c = g.c.data + row * g.c.row + column * g.c.col;
    T* to = g.out.data + row * g.out.row + column * g.out.col;
    const bool dense = g.out.col == 1;
    if constexpr (std::is_same_v<T, BFloat16> && FLAM_ISA_RANK == 2) {
      const bool plain_c = !g.c.data || g.c.col == 0 || g.c.col == 1;
      if (dense && plain_c && isa_rank() >= kIsaPairs) return round_row(from, c, to, n);
    }
    if (!g.c.data && dense) {
      for (int64_t j = 0; j < n; ++j) to[j] = gemm_finish<T>(alpha * from[j], activation);
    } else if (dense && g.c.col == 1) {
      for (int64_t j = 0; j < n; ++j)
        to[j] = gemm_finish<T>(alpha * from[j] + beta * gemm_load(c + j), activation);
    } else {
      for (int64_t j = 0; j < n; ++j) {
        C v = alpha * from[j];
        if (g.c.data) v += beta * gemm_load(c + j * g.c.col);
        to[j * g.out.col] = gemm_finish<T>(v, activation);
      }
    }
  }

  void round_row(const C* from, const T* c, T* to, int64_t n) const {
#if FLAM_ISA_RANK == 2
    for (int64_t j = 0; j < n; j += kLanes<C>) {
      const int part = n - j < kLanes<C> ? int(n - j) : kLanes<C>;
      Vector<C> v = splat(alpha) * load_part(from + j, part);
      if (g.c.data) {
        const Vector<C> x = g.c.col == 0        ? splat(gemm_load(c))
                            : part == kLanes<C> ? load_as(c + j)
                                                : load_part_as(c + j, part);
        v += splat(beta) * x;
      }
      if (activation == Activation::relu) v = v < 0 ? Vector<C>{} : v;
      store_rounded(to + j, v, part);
    }
#else
    (void)from, (void)c, (void)to, (void)n;
#endif
  }
};

template <class T> void multiply_matrix(HostProduct<T> g, const GemmArgs& args) {
  using C = GemmCompute<T>;
  const bool relu = args.activation == Activation::relu;
  if (runs_transposed(g)) g = transposed(g);
  if constexpr (std::is_same_v<T, C>) {
    const bool plain_c = !g.c.data || (args.beta == 1 && (g.c.col == 1 || g.c.col == 0));
    if ((g.out.col == 1 || g.n == 1) && args.alpha == 1 && plain_c) {
      const bool column = g.c.data && g.c.col == 0;
      return multiply_into(g, {g.out.data, g.out.row, g.c.data, g.c.row, column, relu});
    }
  }
  const Scratch sums(size_t(g.m * g.n) * sizeof(C));
  const Finisher<T> finisher{g, sums.as<C>(), gemm_scalar<C>(args.alpha), gemm_scalar<C>(args.beta),
                             args.activation};
  multiply_into(g, {sums.as<C>(), g.n, nullptr, 0, false, false, &Finisher<T>::tile, &finisher});
}

template <class T> HostProduct<T> product_of(const GemmArgs& g, int64_t batch) {
  auto view = [&](const GemmOperand& o) -> MatrixView<T> {
    T* data = reinterpret_cast<T*>(o.data);
    return {data ? data + gemm_batch_offset(g, o, batch) : nullptr, o.row, o.col};
  };
  auto input = [&](const GemmOperand& o) -> MatrixView<const T> {
    const MatrixView<T> v = view(o);
    return {v.data, v.row, v.col};
  };
  return {g.m, g.n, g.k, input(g.a), input(g.b), input(g.c), view(g.out)};
}

// Whether all products of a batch have one a, and packing it once pays: where each would pack it,
// or where they have enough columns.
template <class T> bool shares_rows(const GemmArgs& args) {
  constexpr int64_t many = 1 << 20, columns = 512;  // of elements packed
  const auto repeats = [](int64_t stride) { return stride == 0; };
  const HostProduct<T> g = product_of<T>(args, 0);
  if (!std::is_same_v<T, GemmCompute<T>> || args.batches == 1 || g.m <= 8 || g.m * g.k > many ||
      !std::all_of(args.a.batch, args.a.batch + args.batch_ndim, repeats) || runs_transposed(g)) {
    return false;
  }
  const MatrixSource<T> a{g.a.data, g.a.row, g.a.col}, b{g.b.data, g.b.col, g.b.row};
  return args.batches * g.n >= columns || plan_blocks(g.m, g.n, g.k, a, b).pack_a;
}

template <class T> void gemm_entry(void*, const void* p) {
  using C = GemmCompute<T>;
  const GemmArgs& g = *static_cast<const GemmArgs*>(p);
  constexpr int64_t large = 1 << 22;  // such matrices are shared out one by one, smaller ones whole
  const int64_t work = g.m * g.n * (g.k + 1);
  if (is_tiny(g)) {
    return parallel_for(g.batches, 1 + (1 << 16) / work,
                        [&](int64_t batch, int64_t end) { TinyProduct<T>(g).run(batch, end); });
  }
  const int64_t grain = work >= large ? g.batches : 1 + (1 << 18) / work;
  const bool shares = shares_rows<T>(g);
  const Scratch packed(shares ? size_t(g.m * g.k) * sizeof(C) : 0);
  if (shares) {
    const auto a = product_of<T>(g, 0).a;
    pack_whole(packed.as<C>(), MatrixSource<T>{a.data, a.row, a.col}, g.m, g.k);
  }
  parallel_for(g.batches, grain, [&](int64_t batch, int64_t end) {
    for (; batch < end; ++batch) {
      HostProduct<T> product = product_of<T>(g, batch);
      product.packed_a = packed.as<C>();
      multiply_matrix(product, g);
    }
  });
}

}  // namespace flambeau::FLAM_TARGET
