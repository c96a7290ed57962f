// The blocked product: k in slabs of kSlabDepth, then tiles of the output in parallel. Of many rows
// a tile is a block of them, which it packs, by long rows of columns, which all threads have packed
// before; of few rows, or of a short k, a panel of columns, which it packs, by all rows. Operands
// that the innermost step can read where they lie are not packed. The operands are Source objects,
// so that a convolution can pack what is no matrix as it lies.
#pragma once
#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_micro.h"
#include "kernels/gemm/gemm_pack.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

// Of a slab: longer than a strip of b stays in the first-level cache, for b streams well, but sums
// that come and go more often do not.
inline constexpr int64_t kDepth = 512;
template <class C> inline constexpr int64_t kSlabDepth = kDepth;
inline constexpr int64_t kTileStrips = 8;  // of a task
template <class C> inline constexpr int64_t kTileRows = kTileStrips * kStripRows<C>;
template <class C> inline constexpr int64_t kTileColumns = 4 * kMicroColumns<C>;
// Of a tile that packs its rows: they are worth it, and finished sums are still in a cache.
template <class C> inline constexpr int64_t kLongColumns = 16 * kTileColumns<C>;

// Where the product goes: dense rows of the arithmetic type. Its first value is init's, if there is
// one.
template <class C> struct Target {
  C* out;
  int64_t out_row;
  const C* init;
  int64_t init_row;
  bool init_column, relu;
  // Called for every tile of finished sums, while the cache still has them; may be null.
  void (*finish)(const void* finisher, int64_t row, int64_t row_end, int64_t column,
                 int64_t column_end) = nullptr;
  const void* finisher = nullptr;
};

// From so many bytes on, rows share few places of the caches and pages.
inline constexpr int64_t kFarRows = 2048;

// A strided matrix of element type T as an operand; `along` runs over rows of a or columns of b.
template <class T> struct MatrixSource {
  using C = GemmCompute<T>;
  const T* data;
  int64_t along, depth;

  void pack(C* to, int64_t pitch, int64_t first, int width, int padded, int64_t p,
            int64_t k) const {
    pack_strip<T>(to, pitch, {data + first * along + p * depth, along, depth}, k, width, padded);
  }
  bool row_by_row() const { return along == 1 && depth * int64_t(sizeof(T)) >= kFarRows; }
  // Strides where it is read in place.
  int64_t row() const { return along; }
  int64_t step() const { return depth; }
  // Readable in place by the innermost step: null where the type or the strides forbid it.
  const C* in_place() const {
    if constexpr (std::is_same_v<T, C>) return data;
    if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(C))
      return reinterpret_cast<const C*>(data);
    return nullptr;
  }
};

// How rows of a, or columns of b, fall into strips. The last two of rows share what is left evenly,
// where an innermost step takes any number of them: a low strip has too few sums at once to hide
// what a multiply-add takes.
struct Strips {
  int64_t n, count, height;
  int64_t last;  // where the last one begins

  template <class C> static Strips rows(int64_t m) {
    Strips s = columns(m, kStripRows<C>);
    if (!kWholeStrips<C> && s.count > 1) s.last = m - (m - (s.count - 2) * s.height) / 2;
    return s;
  }
  static Strips columns(int64_t n, int64_t width) {
    const int64_t count = (n + width - 1) / width;
    return {n, count, width, (count - 1) * width};
  }
  int64_t first(int64_t s) const { return s + 1 < count ? s * height : s + 1 == count ? last : n; }
  // Those from begin to end, counted from where they begin.
  Strips part(int64_t begin, int64_t end) const {
    const int64_t from = first(begin);
    return {first(end) - from, end - begin, height, first(end - 1) - from};
  }
};

// Strips of a slab of an operand, for threads to pack. Where a strip's neighbours lie together, a
// few rows of all strips are one task: strip by strip, each row's pages and lines would be gone
// from the caches when the next strip wants their rest.
template <class S> struct SlabPacking {
  using C = typename S::C;
  static constexpr int64_t kFewRows = 8;
  const S& source;
  C* to;
  Strips strips;
  bool pads;  // strips to whole vectors
  int64_t p, depth;
  int64_t from = 0;  // where in the source the first strip begins

  int64_t tasks() const {
    return source.row_by_row() && strips.n > 0 ? (depth + kFewRows - 1) / kFewRows : strips.count;
  }
  int64_t work() const {
    return source.row_by_row() ? strips.n * kFewRows
                               : strips.n * depth / std::max<int64_t>(1, strips.count);
  }
  void run(int64_t task) const {
    if (!source.row_by_row()) return pack(task, 0, depth);
    const int64_t row = task * kFewRows;
    for (int64_t s = 0; s < strips.count; ++s) pack(s, row, std::min(kFewRows, depth - row));
  }

 private:
  void pack(int64_t s, int64_t row, int64_t rows) const {
    const int64_t first = strips.first(s), width = strips.first(s + 1) - first,
                  padded = pads ? (width + kLanes<C> - 1) / kLanes<C> * kLanes<C> : width;
    source.pack(to + first * depth + row * padded, padded, from + first, int(width), int(padded),
                p + row, rows);
  }
};

enum class BMode : int8_t { in_place, by_tile, shared };

struct BlockPlan {
  bool pack_a;
  BMode b;
  int64_t strips, columns;  // of a tile
  bool along = false;       // a strip's whole part of a tile, and then the next strip's
  bool own_rows = false;    // a tile packs its rows of a
};

// Of a short k the stores are the most. Long rows of the result, often as far apart as a cache has
// few places for, are written along, so that memory sees few streams, and long ones. Packed columns
// come from the second-level cache. There are as many panels as threads may share.
template <class C> int64_t panel_of(int64_t m, int64_t n, int64_t depth) {
  constexpr int64_t kPanels = 8, kCached = 1 << 17, kShort = 256, kRowsOfA = 1 << 15;  // bytes
  const int64_t bytes = std::max<int64_t>(1, depth) * int64_t(sizeof(C));
  if (bytes > kShort || m * bytes > kRowsOfA || n < kPanels * 4 * kTileColumns<C>) return 0;
  const int64_t panels = std::max(kPanels, n * bytes / kCached), each = (n + panels - 1) / panels;
  return (each + kMicroColumns<C> - 1) / kMicroColumns<C> * kMicroColumns<C>;
}

// Whether blocks of rows are enough for the threads. What a tile packs of them never leaves the
// second-level cache, and the last one holds nothing but columns and sums.
template <class C> bool has_row_blocks(int64_t m) {
  return m >= 2 * get_num_threads() * kTileRows<C>;
}

// In place only where the strips stay cached between their uses; a may be packed already.
template <class A, class B>
BlockPlan plan_blocks(int64_t m, int64_t n, int64_t k, const A& a, const B& b,
                      bool packed = false) {
  using C = typename A::C;
  const int64_t depth = std::min(k, kSlabDepth<C>);
  BlockPlan plan{true, BMode::shared, kTileStrips, kTileColumns<C>};
  const int64_t few = a.along * int64_t(sizeof(C)) < kFarRows ? 65536 : 8192;
  const bool small_a = m * k <= few || (m * k <= 32768 && n <= 2 * kMicroColumns<C>);
  if (!packed && a.in_place() && (a.along == 1 || a.depth == 1) && small_a) plan.pack_a = false;
  const bool small_b = depth * b.depth * int64_t(sizeof(C)) <= 65536;
  if (b.in_place() && b.along == 1 && (small_b || m <= 2 * kStripRows<C>)) {
    plan.b = BMode::in_place;
  } else if (const int64_t panel = panel_of<C>(m, n, depth)) {
    plan = {plan.pack_a, BMode::by_tile, Strips::rows<C>(m).count, panel, true};
  } else if (m <= kTileRows<C>) {
    plan.b = BMode::by_tile;
  } else if (has_row_blocks<C>(m)) {
    plan.columns = kLongColumns<C>;
    plan.own_rows = plan.pack_a && !packed;
  }
  return plan;
}

template <class A, class B> class BlockedProduct {
 public:
  using C = typename A::C;
  BlockedProduct(int64_t m, int64_t n, int64_t k, const A& a, const B& b,
                 const Target<Sum<C>>& target, const C* packed_a = nullptr)
      : m_(m),
        n_(n),
        k_(k),
        a_(a),
        b_(b),
        target_(target),
        plan_(plan_blocks(m, n, k, a, b, packed_a != nullptr)),
        packed_a_(packed_a),
        strips_(Strips::rows<C>(m)) {}

  void run() {
    const int64_t depth = std::min(k_, kSlabDepth<C>);
    const int64_t columns = (n_ + kLanes<C> - 1) / kLanes<C> * kLanes<C>;
    const int64_t rows = (m_ + kRows - 1) / kRows * kRows;
    const bool packs_a = plan_.pack_a && !plan_.own_rows && !packed_a_;
    const Scratch a_slab(packs_a ? size_t(rows * depth) * sizeof(C) : 0);
    const Scratch b_slab(plan_.b == BMode::shared ? size_t(columns * depth) * sizeof(C) : 0);
    a_slab_ = a_slab.template as<C>();
    b_slab_ = b_slab.template as<C>();
    for (int64_t p = 0; p == 0 || p < k_; p += kSlabDepth<C>)
      slab(p, std::min(k_ - p, kSlabDepth<C>));
  }

 private:
  static constexpr int64_t kRows = kStripRows<C>, kColumns = kMicroColumns<C>;
  struct PackedRows {
    const C* packed;
    int64_t first;
  };

  void slab(int64_t p, int64_t depth) {
    if (packed_a_) a_slab_ = const_cast<C*>(packed_a_) + m_ * p;
    const bool packs_a = plan_.pack_a && !plan_.own_rows && !packed_a_,
               packs_b = plan_.b == BMode::shared;
    const SlabPacking<A> a{a_, a_slab_, packs_a ? strips_ : Strips{}, false, p, depth};
    const Strips across = Strips::columns(packs_b ? n_ : 0, kColumns);
    const SlabPacking<B> b{b_, b_slab_, across, true, p, depth};
    const int64_t of_a = a.tasks();
    parallel_for(of_a + b.tasks(), grain(std::max(a.work(), b.work()), 1 << 15),
                 [&](int64_t i, int64_t end) {
                   for (; i < end; ++i) i < of_a ? a.run(i) : b.run(i - of_a);
                 });
    const int64_t rows = (strips_.count + plan_.strips - 1) / plan_.strips;
    const int64_t columns = (n_ + plan_.columns - 1) / plan_.columns;
    const int64_t tile_work =
        std::min(m_, plan_.strips * kRows) * std::min(n_, plan_.columns) * (depth + 1);
    parallel_for(rows * columns, grain(tile_work, 1 << 18), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) tile(i % rows * plan_.strips, i / rows * plan_.columns, p, depth);
    });
  }

  static int64_t grain(int64_t work, int64_t wanted) {
    return work >= wanted ? 1 : (wanted + work) / (work + 1);
  }
  static int64_t padded(int64_t width) { return (width + kLanes<C> - 1) / kLanes<C> * kLanes<C>; }

  // So many of a tile's n columns as it packs at once.
  int64_t packed_columns(int64_t n) const {
    if (plan_.along) return padded(n);
    const bool in_place = plan_.b == BMode::in_place && n % kLanes<C> == 0;
    return plan_.b == BMode::shared || in_place ? 0 : kColumns;
  }

  template <class S> static void pack_own(const SlabPacking<S>& packing) {
    for (int64_t i = 0; i < packing.tasks(); ++i) packing.run(i);
  }

  void tile(int64_t strip, int64_t column, int64_t p, int64_t depth) const {
    const int64_t strip_end = std::min(strips_.count, strip + plan_.strips),
                  n = std::min(plan_.columns, n_ - column), size = depth * packed_columns(n);
    constexpr int64_t kOnStack = 256 * kColumns;  // a thread's stack may be small
    alignas(64) C near[kOnStack];
    const Scratch far(size > kOnStack ? size_t(size) * sizeof(C) : 0);
    C* const local = size > kOnStack ? far.template as<C>() : near;
    if (plan_.along) {
      pack_own(SlabPacking<B>{b_, local, Strips::columns(n, kColumns), true, p, depth, column});
    }
    const Scratch rows(plan_.own_rows ? size_t(plan_.strips * kRows * depth) * sizeof(C) : 0);
    PackedRows a{a_slab_, 0};
    if (plan_.own_rows) {
      a = {rows.template as<C>(), strips_.first(strip)};
      pack_own(SlabPacking<A>{a_, rows.template as<C>(), strips_.part(strip, strip_end), false, p,
                              depth, a.first});
    }
    [[maybe_unused]] const typename Steps<C>::Session session;
    const int64_t height = plan_.along ? 1 : strip_end - strip;
    for (int64_t s = strip; s < strip_end; s += height) {
      for (int64_t j = 0; j < n; j += kColumns) {
        const int width = int(std::min(kColumns, n - j));
        MicroArgs<C> g;
        g.k = depth;
        g.last = width % kLanes<C> ? width % kLanes<C> : kLanes<C>;
        columns_of_tile(g, local, column, j, width, p, depth);
        rows_of_tile(g, a, s, s + height, column + j, int(padded(width)) / kLanes<C>, p, depth);
      }
    }
    if (target_.finish && p + depth >= k_) {
      target_.finish(target_.finisher, strips_.first(strip), strips_.first(strip_end), column,
                     column + n);
    }
  }

  // Where columns column + j .. + width of a tile lie; in place those of no whole vector cannot.
  void columns_of_tile(MicroArgs<C>& g, C* local, int64_t column, int64_t j, int width, int64_t p,
                       int64_t depth) const {
    g.b_depth = padded(width);
    if (plan_.b == BMode::shared) {
      g.b = b_slab_ + (column + j) * depth;
    } else if (plan_.along) {
      g.b = local + j * depth;
    } else if (plan_.b == BMode::in_place && g.last == kLanes<C>) {
      g.b = b_.in_place() + column + j + p * b_.depth;
      g.b_depth = b_.depth;
    } else {
      b_.pack(local, g.b_depth, column + j, width, int(g.b_depth), p, depth);
      g.b = local;
    }
  }

  void rows_of_tile(MicroArgs<C>& g, const PackedRows& a, int64_t strip, int64_t strip_end,
                    int64_t column, int vectors, int64_t p, int64_t depth) const {
    const bool first = p == 0;
    g.out_row = target_.out_row;
    g.init_row = first ? target_.init_row : target_.out_row;
    g.init_column = first && target_.init_column;
    g.relu = target_.relu && p + depth >= k_;
    const bool row_major = !plan_.pack_a && a_.along != 1;
    for (int64_t i = strips_.first(strip); strip < strip_end; ++strip) {
      const int height = int(strips_.first(strip + 1) - i);
      g.rows = height;
      g.a = plan_.pack_a ? a.packed + (i - a.first) * depth
                         : a_.in_place() + i * a_.row() + p * a_.step();
      g.a_row = plan_.pack_a ? 1 : a_.row();
      g.a_depth = plan_.pack_a ? height : a_.step();
      g.out = target_.out + i * target_.out_row + column;
      const Sum<C>* init = first ? target_.init : target_.out;
      g.init = init ? init + i * g.init_row + (g.init_column ? 0 : column) : nullptr;
      Steps<C>::find(height, vectors, row_major)(g);
      i += height;
    }
  }

  const int64_t m_, n_, k_;
  const A& a_;
  const B& b_;
  const Target<Sum<C>>& target_;
  const BlockPlan plan_;
  const C* const packed_a_;
  const Strips strips_;
  C *a_slab_ = nullptr, *b_slab_ = nullptr;
};

// All of a, slab after slab, for products that share it: m * k elements.
template <class A> void pack_whole(typename A::C* to, const A& a, int64_t m, int64_t k) {
  for (int64_t p = 0; p < k; p += kDepth) {
    const SlabPacking<A> slab{a,     to + m * p, Strips::rows<typename A::C>(m),
                              false, p,          std::min(kDepth, k - p)};
    parallel_for(slab.tasks(), 1 + (1 << 15) / slab.work(), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) slab.run(i);
    });
  }
}

}  // namespace flambeau::FLAM_TARGET
