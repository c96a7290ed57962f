// Rows side by side on the host: those whose terms lie apart, and short ones. A tile of them is
// brought into columns, which are worked on as vectors, and its results are brought back.
#pragma once
#include <utility>

#include "base/thread_pool.h"
#include "kernels/fold/fold_wide.h"
#include "kernels/fold/turned_rows.h"
#include "kernels/row/row_host.h"
#include "kernels/row/row_totals.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kColumns = 64;

struct ColumnIndex {
  int64_t term;
  int column;
};

template <class V> struct ColumnValue {
  V v[kColumns];
  FLAM_FN V operator()(ColumnIndex i) const { return v[i.column]; }
};

template <class V> struct ColumnGiven {  // by an operand
  const V* p;
  FLAM_FN V operator()(ColumnIndex i) const { return p[i.column]; }
};

template <class T, int64_t Line> struct ColumnElements {  // Line 0: the same for all rows
  T* p;
  FLAM_FN explicit operator bool() const { return p; }
  FLAM_FN T* operator+(ColumnIndex i) const { return p + i.term * (Line ? Line : 1) + column(i); }
  FLAM_FN T& operator[](ColumnIndex i) const { return *(*this + i); }
  FLAM_FN T* term(ColumnIndex row, int64_t i) const { return *this + ColumnIndex{i, row.column}; }

 private:
  static FLAM_FN int column(ColumnIndex i) { return Line ? i.column : 0; }
};

template <class V> struct HostColumns {
  using Wide = double;
  template <class T> static constexpr bool keeps = true;
  const RowArgs& a;  // with the tile's operands
  int64_t n;
  V* memory;

  template <class T>
  FLAM_FN ColumnElements<V, kColumns> keep(ColumnElements<T, kColumns> y) const {
    if constexpr (std::is_same_v<T, V>) return y;
    if constexpr (!std::is_same_v<T, V>) return {memory};
  }

  template <class T> FLAM_FN ColumnElements<T, kColumns> row_of(int k) const {
    return {reinterpret_cast<T*>(a.data[k])};
  }
  template <class T> FLAM_FN ColumnElements<T, 0> shared_of(int k) const {
    return {reinterpret_cast<T*>(a.data[k])};
  }
  template <class T> FLAM_FN ColumnGiven<T> each_of(int k) const {
    return {reinterpret_cast<const T*>(a.data[k])};
  }
  template <class T, class U> FLAM_FN void add(int, ColumnIndex, U) const {}

  template <class F> FLAM_FN void for_rows(const F& f) const {
    for (int c = 0; c < kColumns; ++c) f(ColumnIndex{0, c});
  }
  template <class F> FLAM_FN auto value(const F& f) const {
    ColumnValue<decltype(f(ColumnIndex{}))> all;
    for_rows([&](ColumnIndex i) { all.v[i.column] = f(i); });
    return all;
  }
  template <class T, class F> FLAM_FN void put(int k, const F& f) const {
    if (a.data[k])
      for_rows([&](ColumnIndex i) { reinterpret_cast<T*>(a.data[k])[i.column] = T(f(i)); });
  }

  template <class F> FLAM_FN void each(const F& f) const {
    for (int64_t t = 0; t < n; ++t) {
#pragma GCC ivdep
      for (int c = 0; c < kColumns; ++c) f(ColumnIndex{t, c});
    }
  }

  template <class F> FLAM_FN ColumnValue<double> sum(const F& f) const {
    using Term = decltype(f(ColumnIndex{}));
    ColumnValue<double> all{};
    for (int64_t t = 0; t < n; ++t) {
      Term line[kColumns];
#pragma GCC ivdep
      for (int c = 0; c < kColumns; ++c) line[c] = f(ColumnIndex{t, c});
      if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<Term, float>) {
        add_lines<1>(Adding{}, reinterpret_cast<const char*>(line), all.v);
      } else {
        for (int c = 0; c < kColumns; ++c) all.v[c] += double(line[c]);
      }
    }
    return all;
  }

  template <class F, class G>
  FLAM_FN TwoSums<ColumnValue<double>> sums(const F& f, const G& g) const {
    return {sum(f), sum(g)};
  }

  template <class X> FLAM_FN ColumnValue<double> sum_of(const X& x) const {
    return sum([&](ColumnIndex i) { return load(x + i); });
  }
  template <class X>
  FLAM_FN ColumnValue<double> squares(const X& x, const ColumnValue<double>& centre) const {
    return sum([&](ColumnIndex i) {
      const double d = double(load(x + i)) - centre(i);
      return d * d;
    });
  }

  template <class X, class F>
  FLAM_FN void each_standard(const X& x, const ColumnValue<double>& mean,
                             const ColumnValue<double>& rstd, const F& f) const {
    each([&](ColumnIndex i) { f(i, V((double(load(x + i)) - mean(i)) * rstd(i))); });
  }

  template <class F> FLAM_FN ColumnValue<V> greatest(const F& f) const {
    ColumnValue<V> top;
    for (V& v : top.v) v = -V(__builtin_huge_val());
    each([&](ColumnIndex i) {
      const V x = f(i);
      top.v[i.column] = x > top.v[i.column] ? x : top.v[i.column];
    });
    return top;
  }

 private:
  template <int Rows, class M>
  static FLAM_FN void add_lines(const M& m, const char* line, double* sums) {
    fold_lines<Rows>(m, line, 0, kColumns, nullptr, sums);
  }
};

// ---- between a tensor and a tile ----------------------------------------------------------------

// f(rows of the tile before, byte offset, rows) for each part of rows [row, row + rows) that lies
// evenly.
template <class F>
inline void each_part(const RowArgs& a, int k, int64_t row, int rows, const F& f) {
  for (int done = 0; done < rows;) {
    const int64_t outer = (row + done) / a.inner, inner = row + done - outer * a.inner;
    const int64_t left = a.inner - inner;
    const int part = left < rows - done ? int(left) : rows - done;
    f(done, outer * a.far[k] + inner * a.stride[k], part);
    done += part;
  }
}

// The next tile's part of a line: the next line lies too far away for the processor to foresee.
inline void fetch_ahead(const char* line, int bytes) {
  for (int at = 0; at < bytes; at += 64) __builtin_prefetch(line + bytes + at, 0, 2);
}

// A whole line by vectors, as lines are too short for a call.
template <class U> FLAM_FN void copy_line(void* to, const void* from, int n) {
  constexpr size_t step = sizeof(Vector<float>);
  if (n < kColumns) return void(memcpy(to, from, size_t(n) * sizeof(U)));
  [&]<size_t... I>(std::index_sequence<I...>) {
    (memcpy(static_cast<char*>(to) + I * step, static_cast<const char*>(from) + I * step, step),
     ...);
  }(std::make_index_sequence<kColumns * sizeof(U) / step>{});
}

template <class U> void into_tile(const RowArgs& a, int k, int64_t row, int rows, char* tile) {
  U* to = reinterpret_cast<U*>(tile);
  each_part(a, k, row, rows, [&](int first, int64_t offset, int part) {
    const char* from = a.data[k] + offset;
    if (a.stride[k] == int64_t(sizeof(U))) {
      for (int64_t t = 0; t < a.n; ++t) {
        fetch_ahead(from + t * a.step[k], part * int(sizeof(U)));
        copy_line<U>(to + t * kColumns + first, from + t * a.step[k], part);
      }
      return;
    }
    for (int r = 0; r < part; r += kTurnedRows) {
      const int some = part - r < kTurnedRows ? part - r : kTurnedRows;
      turn_rows(to + first + r, kColumns, from + r * a.stride[k], a.stride[k], a.step[k], some,
                int(a.n));
    }
  });
}

template <class U>
void out_of_tile(const RowArgs& a, int k, int64_t row, int rows, const char* tile) {
  const U* from = reinterpret_cast<const U*>(tile);
  each_part(a, k, row, rows, [&](int first, int64_t offset, int part) {
    char* to = a.data[k] + offset;
    if (a.stride[k] == int64_t(sizeof(U))) {
      for (int64_t t = 0; t < a.n; ++t)
        copy_line<U>(to + t * a.step[k], from + t * kColumns + first, part);
      return;
    }
    for (int r = 0; r < part; r += kTurnedRows) {
      const int some = part - r < kTurnedRows ? part - r : kTurnedRows;
      turn_back(to + r * a.stride[k], a.stride[k], a.step[k], from + first + r, kColumns, some,
                int(a.n));
    }
  });
}

// One value of each row; the columns behind the last row repeat it.
inline void values_into_tile(const RowArgs& a, int k, int64_t row, int rows, char* tile) {
  for (int c = 0; c < kColumns; ++c) {
    const int64_t from = row + (c < rows ? c : rows - 1);
    memcpy(tile + c * a.bytes[k], a.data[k] + from * a.stride[k], size_t(a.bytes[k]));
  }
}

template <class Word>
FLAM_FN_APART void tile_in(const RowArgs& a, RowArgs& tile, int64_t row, int rows) {
  for (int k = 0; k < a.operands; ++k) {
    if (!a.data[k] || a.output[k]) continue;
    if (a.role[k] == RowRole::each) values_into_tile(a, k, row, rows, tile.data[k]);
    if (a.role[k] == RowRole::row) into_tile<Word>(a, k, row, rows, tile.data[k]);
  }
}

template <class Word>
FLAM_FN_APART void tile_out(const RowArgs& a, const RowArgs& tile, int64_t row, int rows) {
  for (int k = 0; k < a.operands; ++k) {
    if (!a.data[k] || !a.output[k] || a.role[k] == RowRole::total) continue;
    if (a.role[k] == RowRole::row) {
      out_of_tile<Word>(a, k, row, rows, tile.data[k]);
    } else {
      const size_t bytes = size_t(a.bytes[k]);
      memcpy(a.data[k] + size_t(row) * bytes, tile.data[k], size_t(rows) * bytes);
    }
  }
}

// The bytes of a tile's operand.
inline size_t tile_bytes(const RowArgs& a, int k) {
  if (!a.data[k] || a.role[k] == RowRole::shared || a.role[k] == RowRole::total) return 0;
  const int64_t lines = a.role[k] == RowRole::row ? (a.n > 0 ? a.n : 1) : 1;
  return size_t(lines * kColumns * a.bytes[k] + 63) / 64 * 64;
}

// What a tile's rows add to sums over all.
template <class F, class T>
FLAM_FN void add_columns(const F& f, const RowTotals& totals, const HostColumns<Compute<T>>& r,
                         int rows, double* sums) {
  using V = Compute<T>;
  const auto term = f.added(r);
  totals.each(sums, [&](int k, double* sum) __attribute__((always_inline)) {
    const int of = r.a.of[k];
    const auto own = r.template row_of<const T>(of < 0 ? k : of);
    V line[kColumns];
    const auto of_line = [&](const auto& at) __attribute__((always_inline)) {
#pragma GCC ivdep
      for (int c = 0; c < kColumns; ++c) line[c] = at(c);
      if constexpr (std::is_same_v<V, float>) {
        WideRow<Adding> row(Adding{});
        row.add_dense(Adding{}, line, 0, rows, 0);
        return row.total(Adding{}, rows);
      } else {
        double all = 0;
        for (int c = 0; c < rows; ++c) all += line[c];
        return all;
      }
    };
    for (int64_t t = 0; t < r.n; ++t) {
      sum[t] += of < 0 ? of_line([&](int c) { return V(term(ColumnIndex{t, c})); })
                       : of_line([&](int c) { return V(load(own + ColumnIndex{t, c})); });
    }
  });
}

template <class F, class T> void row_tiles(const F& f, const RowArgs& a) {
  const size_t kept = keeps_halves<F> ? size_t(a.n * kColumns) * sizeof(float) : 0;
  size_t total = kept;
  for (int k = 0; k < a.operands; ++k) total += tile_bytes(a, k);
  const int64_t tiles = (a.rows + kColumns - 1) / kColumns;
  const RowTotals totals(a, kColumns);
  const auto work = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    const Scratch memory(total);
    double* const sums = adds_rows<F> ? totals.start(begin * kColumns) : nullptr;
    RowArgs tile = a;
    char* at = memory.as<char>() + kept;
    for (int k = 0; k < a.operands; ++k) {
      if (const size_t bytes = tile_bytes(a, k)) tile.data[k] = std::exchange(at, at + bytes);
    }
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t * kColumns;
      const int rows = int(a.rows - row < kColumns ? a.rows - row : kColumns);
      tile_in<T>(a, tile, row, rows);
      HostColumns<Compute<T>> r{tile, a.n, memory.as<Compute<T>>()};
      f(r);
      if constexpr (adds_rows<F>) add_columns<F, T>(f, totals, r, rows, sums);
      tile_out<T>(a, tile, row, rows);
    }
  };
  parallel_for(tiles,
               adds_rows<F> ? totals.rows_in_block() / kColumns : 16384 / (a.n * kColumns + 16) + 1,
               work);
  if constexpr (adds_rows<F>) totals.join<T>();
}

}  // namespace flambeau::FLAM_TARGET
