// Reductions on the host. Rows keep several accumulators per vector register in flight and join
// them in a fixed order; columns keep one accumulator per output and walk the terms, so that both
// read memory in its order.
#pragma once
#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/fold/fold_short.h"
#include "kernels/fold/fold_wide.h"
#include "kernels/fold/widened.h"

namespace flambeau::FLAM_TARGET {

FLAM_FN_APART int64_t offset_of_run(const FoldArgs& a, int64_t term) {
  return fold_offset(a, term);
}

// Runs of the innermost reduced dimension that make up terms [begin, end): f(byte offset, first
// term, length).
template <class F>
FLAM_FN void each_run(const FoldArgs& a, int64_t begin, int64_t end, const F& f) {
  const int last = a.reduced - 1;
  const int64_t inner = last > 0 ? a.reduced_size[last] : 0;
  while (begin < end) {
    const int64_t left = inner ? inner - begin % inner : end - begin;
    const int64_t n = left < end - begin ? left : end - begin;
    f(last > 0 ? offset_of_run(a, begin) : begin * a.reduced_in[0], begin, n);
    begin += n;
  }
}

// Two vectors of bfloat16, by their even and their odd elements: in order they would need to be
// permuted, which takes longer than the sums.
struct EvenOdd {
  Vector<float> even, odd;
  FLAM_FN explicit EvenOdd(const BFloat16* x) {
    Vector<uint32_t> both;
    memcpy(&both, x, sizeof both);
    even = (Vector<float>)(both << 16);
    odd = (Vector<float>)(both & 0xffff0000u);
  }
};

template <class M, class T> struct RowFold {
  using Acc = typename M::Acc;
  static constexpr int kLanes = sizeof(Acc) > 8 ? 1 : (64 << FLAM_ISA_RANK) / int(sizeof(Acc));
  static constexpr int kVectorLanes = flambeau::FLAM_TARGET::kLanes<float>;
  static constexpr bool kFoldsVectors = std::is_same_v<Acc, float> && !M::centred &&
                                        requires(M m, Vector<float> x) { m.fold(x, x, x); };
  Acc lane[kLanes];

  FLAM_FN explicit RowFold(const M& m) {
    for (int l = 0; l < kLanes; ++l) lane[l] = m.zero();
  }

  FLAM_FN void add_dense(const M& m, const T* x, int64_t first, int64_t n, double centre) {
    if constexpr (kFoldsVectors) {
      const int64_t whole = n - n % kLanes;
      add_vectors(m, x, whole, centre);
      Widened<T, kLanes> widened;
      add_lanes(m, widened(x + whole, n - whole), first + whole, n - whole, centre);
    } else if constexpr (kWidens<T>) {
      constexpr int piece = 1024;  // whole lanes
      Widened<T, piece> widened;
      for (int64_t i = 0; i < n; i += piece) {
        const int64_t length = std::min<int64_t>(piece, n - i);
        add_lanes(m, widened(x + i, length), first + i, length, centre);
      }
    } else {
      add_lanes(m, x, first, n, centre);
    }
  }

  // As add_lanes, of whole lanes that are converted in registers.
  FLAM_FN void add_vectors(const M& m, const T* x, int64_t n, double centre) {
    constexpr int vectors = kLanes / kVectorLanes;
    const Vector<float> c = splat(float(centre));
    Vector<float> a[vectors];
    for (int v = 0; v < vectors; ++v) a[v] = load_vector(lane + v * kVectorLanes);
    for (int64_t i = 0; i < n; i += kLanes) {
      if constexpr (std::is_same_v<T, BFloat16>) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v += 2) {
          const EvenOdd x2(x + i + v * kVectorLanes);
          a[v] = m.fold(a[v], x2.even, c);
          a[v + 1] = m.fold(a[v + 1], x2.odd, c);
        }
      } else {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) a[v] = m.fold(a[v], load_as(x + i + v * kVectorLanes), c);
      }
    }
    for (int v = 0; v < vectors; ++v) store_vector(lane + v * kVectorLanes, a[v]);
  }

  template <class E>
  FLAM_FN void add_lanes(const M& m, const E* x, int64_t first, int64_t n, double centre) {
    int64_t i = 0;
    if (n >= kLanes) {
      Acc a[kLanes];  // a copy that the compiler can keep in registers
      for (int l = 0; l < kLanes; ++l) a[l] = lane[l];
      for (; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l)
          a[l] = m.step(a[l], load(x + i + l), centre, first + i + l);
      }
      for (int l = 0; l < kLanes; ++l) lane[l] = a[l];
    }
    for (int l = 0; i < n; ++i, ++l) lane[l] = m.step(lane[l], load(x + i), centre, first + i);
  }

  FLAM_FN void add_strided(const M& m, const char* p, int64_t stride, int64_t first, int64_t n,
                           double centre) {
    for (int64_t i = 0; i < n; ++i, p += stride) {
      Acc& a = lane[unsigned(i) % unsigned(kLanes)];
      a = m.step(a, load(reinterpret_cast<const T*>(p)), centre, first + i);
    }
  }

  template <int Half> FLAM_FN void join_halves(const M& m) {
    if constexpr (Half > 0) {
      for (int l = 0; l < Half; ++l) lane[l] = m.join(lane[l], lane[l + Half]);
      join_halves<Half / 2>(m);
    }
  }

  FLAM_FN Acc total(const M& m, int64_t terms) {
    const int used = terms < kLanes ? int(terms) : kLanes;
    if (used == kLanes) {
      join_halves<kLanes / 2>(m);
    } else {
      for (int l = 1; l < used; ++l) lane[0] = m.join(lane[0], lane[l]);
    }
    return lane[0];
  }
};

// A row's greatest or least element and where it is: a piece of the row is looked through for its
// extreme alone, on lanes, and once more for the place where it has a stronger one.
template <class M, class T> struct PlacedRow {
  static constexpr int kLanes = 1;
  static constexpr int64_t kPiece = 512, kStep = 64;
  using Value = typename M::Value;
  typename M::Acc best;

  FLAM_FN explicit PlacedRow(const M& m) : best(m.zero()) {}

  FLAM_FN void add_dense(const M& m, const T* x, int64_t first, int64_t n, double centre) {
    for (int64_t begin = 0; begin < n; begin += kPiece) {
      const int64_t length = n - begin < kPiece ? n - begin : kPiece;
      const Value of_values{};
      RowFold<Value, T> row(of_values);
      row.add_dense(of_values, x + begin, 0, length, centre);
      const auto top = row.total(of_values, length);
      if (!m.surpasses(top, best)) continue;
      int64_t i = begin;
      const auto here = [&](int64_t at) { return m.same(load(x + at), top); };
      for (int found = 0; i + kStep <= begin + length; i += kStep) {
        for (int l = 0; l < kStep; ++l) found |= here(i + l);
        if (found) break;
      }
      while (!here(i)) ++i;
      best = {top, first + i};
    }
  }

  FLAM_FN void add_strided(const M& m, const char* p, int64_t stride, int64_t first, int64_t n,
                           double centre) {
    for (int64_t i = 0; i < n; ++i, p += stride)
      best = m.step(best, load(reinterpret_cast<const T*>(p)), centre, first + i);
  }

  FLAM_FN typename M::Acc total(const M&, int64_t) const { return best; }
};

template <class M, class T> constexpr auto row_of() {
  if constexpr (kFoldsWide<M, T>) {
    return TypeTag<WideRow<M>>{};
  } else if constexpr (requires { typename M::Value; }) {
    return TypeTag<PlacedRow<M, T>>{};
  } else {
    return TypeTag<RowFold<M, T>>{};
  }
}

// A row of fewer terms than there are lanes: what RowFold makes of it, without the lanes.
template <class M, class T>
FLAM_FN typename M::Acc fold_short(const M& m, const char* p, int64_t stride, int64_t first,
                                   int64_t n, double centre) {
  typename M::Acc acc = m.zero();
  for (int64_t i = 0; i < n; ++i, p += stride) {
    const auto term = m.step(m.zero(), load(reinterpret_cast<const T*>(p)), centre, first + i);
    acc = i ? m.join(acc, term) : term;
  }
  return acc;
}

template <bool Dense, class T, class Row, class M>
FLAM_FN typename M::Acc fold_runs(const M& m, const FoldArgs& a, const char* in, int64_t stride,
                                  double centre, int64_t begin, int64_t end) {
  Row row(m);
  each_run(a, begin, end, [&](int64_t offset, int64_t first, int64_t n) {
    const char* p = in + offset;
    if constexpr (Dense) {
      const T* x = reinterpret_cast<const T*>(p);
      if constexpr (kFoldsWide<M, T> && FLAM_ISA_RANK == 1) {  // twice the operations of AVX-512's
        row.add_ahead(m, x, n, centre);
      } else {
        row.add_dense(m, x, first, n, centre);
      }
    } else {
      row.add_strided(m, p, stride, first, n, centre);
    }
  });
  return row.total(m, end - begin);
}

// Apart: what its loops keep ready would be made ready for every dense row.
template <class M, class T>
FLAM_FN_APART typename M::Acc fold_strided(const M& m, const FoldArgs& a, const char* in,
                                           int64_t stride, double centre, int64_t begin,
                                           int64_t end) {
  using Row = typename decltype(row_of<M, T>())::type;
  return fold_runs<false, T, Row>(m, a, in, stride, centre, begin, end);
}

template <class M, class T>
FLAM_FN typename M::Acc fold_row(const M& m, const FoldArgs& a, FoldPlace at, int64_t begin,
                                 int64_t end) {
  const double centre = a.centre ? a.centre[at.out] : 0;
  const int64_t stride = a.reduced ? a.reduced_in[a.reduced - 1] : 0;
  const char* in = a.in + at.in;
  using Row = typename decltype(row_of<M, T>())::type;
  if (a.reduced == 1 && end - begin < Row::kLanes)
    return fold_short<M, T>(m, in + begin * stride, stride, begin, end - begin, centre);
  if (stride != int64_t(sizeof(T))) return fold_strided<M, T>(m, a, in, stride, centre, begin, end);
  if constexpr (kFoldsWide<M, T>) {
    return with_wide([&](auto tag) __attribute__((always_inline)) {
      using Own = WideRow<M, typename decltype(tag)::type>;
      return fold_runs<true, T, Own>(m, a, in, stride, centre, begin, end);
    });
  } else {
    return fold_runs<true, T, Row>(m, a, in, stride, centre, begin, end);
  }
}

// Units are pieces of outputs, the first of each before the second of any.
template <class M, class T> void fold_rows(const M& m, const FoldArgs& a) {
  constexpr int64_t most = 64;
  using Acc = typename M::Acc;
  Acc* partial = reinterpret_cast<Acc*>(a.partial);
  const int last = a.kept - 1;
  const int64_t dense = a.kept ? a.kept_size[last] : 1;
  const FoldPlace step{a.kept ? a.kept_in[last] : 0, a.kept ? a.kept_out[last] : 0};
  const int64_t grain = kFoldGrain / (a.block + 16) + 1;
  parallel_for(a.outputs * a.blocks, grain, [&](int64_t begin, int64_t end) {
    Acc acc[most];
    for (int64_t u = begin, n; u < end; u += n) {
      const int64_t piece = u / a.outputs, output = u - piece * a.outputs;
      const int64_t first = piece * a.block;
      const int64_t stop = first + a.block < a.count ? first + a.block : a.count;
      n = std::min({most, end - u, dense - output % dense});
      const FoldPlace at = fold_place(a, output);
      for (int64_t k = 0; k < n; ++k)
        acc[k] = fold_row<M, T>(m, a, {at.in + k * step.in, at.out + k * step.out}, first, stop);
      if (a.blocks == 1) {
        fold_emit_many(m, a, at.out, step.out, acc, int(n));
      } else {
        memcpy(partial + u, acc, size_t(n) * sizeof(Acc));
      }
    }
  });
}

// One tile of neighbouring outputs over terms [begin, end).
template <class M, class T>
FLAM_FN void fold_tile(const M& m, const FoldArgs& a, FoldPlace at, int width, int64_t begin,
                       int64_t end, typename M::Acc* __restrict acc) {
  using Acc = typename M::Acc;
  const int64_t step_out = a.kept_out[a.kept - 1];
  double centre[M::centred ? kFoldColumns : 1] = {};
  for (int c = 0; c < width; ++c) {
    acc[c] = m.zero();
    if constexpr (M::centred) centre[c] = a.centre[at.out + c * step_out];
  }
  Widened<T, kFoldColumns> line[4];
  const auto centre_of = [&](int c) { return M::centred ? centre[c] : 0.0; };
  const int64_t stride = a.reduced ? a.reduced_in[a.reduced - 1] : 0;
  each_run(a, begin, end, [&](int64_t offset, int64_t first, int64_t n) {
    const char* p = a.in + at.in + offset;
    int64_t i = 0;
    if constexpr (kFoldsWide<M, T>) {
      // Lines of one page are too many for the processor to foresee the next ones.
      if (2 * stride < 4096)
        for (; i + 16 <= n; i += 8, p += 8 * stride)
          fold_lines<8, true>(m, p, stride, width, centre, acc);
      for (; i + 8 <= n; i += 8, p += 8 * stride) fold_lines<8>(m, p, stride, width, centre, acc);
      for (; i < n; ++i, p += stride) fold_lines<1>(m, p, stride, width, centre, acc);
      return;
    }
    for (; i + 4 <= n; i += 4, p += 4 * stride) {  // four terms for one visit of the accumulators
      const auto x0 = line[0](reinterpret_cast<const T*>(p), width);
      const auto x1 = line[1](reinterpret_cast<const T*>(p + stride), width);
      const auto x2 = line[2](reinterpret_cast<const T*>(p + 2 * stride), width);
      const auto x3 = line[3](reinterpret_cast<const T*>(p + 3 * stride), width);
#pragma GCC ivdep
      for (int c = 0; c < width; ++c) {
        Acc t = m.step(acc[c], load(x0 + c), centre_of(c), first + i);
        t = m.step(t, load(x1 + c), centre_of(c), first + i + 1);
        t = m.step(t, load(x2 + c), centre_of(c), first + i + 2);
        acc[c] = m.step(t, load(x3 + c), centre_of(c), first + i + 3);
      }
    }
    for (; i < n; ++i, p += stride) {
      const auto x = line[0](reinterpret_cast<const T*>(p), width);
#pragma GCC ivdep
      for (int c = 0; c < width; ++c) acc[c] = m.step(acc[c], load(x + c), centre_of(c), first + i);
    }
  });
}

template <class M, class T> void fold_columns(const M& m, const FoldArgs& a) {
  using Acc = typename M::Acc;
  Acc* partial = reinterpret_cast<Acc*>(a.partial);
  const int64_t dense = a.kept_size[a.kept - 1], step_out = a.kept_out[a.kept - 1];
  const int64_t tiles = (dense + kFoldColumns - 1) / kFoldColumns, lines = a.outputs / dense;
  const int64_t grain = kFoldGrain / (a.block * kFoldColumns + 16) + 1;
  parallel_for(lines * tiles * a.blocks, grain, [&](int64_t begin, int64_t end) {
    Acc acc[kFoldColumns];
    for (int64_t u = begin; u < end; ++u) {
      const int64_t tile = u / a.blocks, first = (u - tile * a.blocks) * a.block;
      const int64_t stop = first + a.block < a.count ? first + a.block : a.count;
      const int64_t column = tile % tiles * kFoldColumns, output = tile / tiles * dense + column;
      const int width = int(dense - column < kFoldColumns ? dense - column : kFoldColumns);
      const FoldPlace at = fold_place(a, output);
      fold_tile<M, T>(m, a, at, width, first, stop, acc);
      if (a.blocks == 1) {
        fold_emit_many(m, a, at.out, step_out, acc, width);
      } else {
        for (int c = 0; c < width; ++c) partial[u % a.blocks * a.outputs + output + c] = acc[c];
      }
    }
  });
}

// The pieces of every output, joined in their order.
template <class M> void fold_pieces(const M& m, const FoldArgs& a) {
  using Acc = typename M::Acc;
  const Acc* partial = reinterpret_cast<const Acc*>(a.partial);
  const int last = a.kept - 1;
  const int64_t dense = a.kept ? a.kept_size[last] : 1, step = a.kept ? a.kept_out[last] : 1;
  for (int64_t o = 0; o < a.outputs;) {
    const int64_t left = dense - o % dense;
    const int n = int(left < kFoldColumns ? left : kFoldColumns);
    Acc acc[kFoldColumns];
    memcpy(acc, partial + o, size_t(n) * sizeof(Acc));
    for (int64_t b = 1; b < a.blocks; ++b) {
      const Acc* piece = partial + b * a.outputs + o;
      for (int k = 0; k < n; ++k) acc[k] = m.join(acc[k], piece[k]);
    }
    fold_emit_many(m, a, fold_place(a, o).out, step, acc, n);
    o += n;
  }
}

template <class M, class T> void fold_entry(void*, const void* p) {
  using Acc = typename M::Acc;
  static_assert(sizeof(Acc) <= 16 && std::is_trivially_copyable_v<Acc>);
  const FoldArgs& a = *static_cast<const FoldArgs*>(p);
  const M m = monoid_from<M>(a.params);
  a.columns        ? fold_columns<M, T>(m, a)
  : takes_short(a) ? fold_short_rows<M, T>(m, a)
                   : fold_rows<M, T>(m, a);
  if (a.blocks > 1) fold_pieces(m, a);
}

}  // namespace flambeau::FLAM_TARGET
