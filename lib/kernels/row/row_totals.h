// Sums over all rows on the host: of what a functor adds for each element of a row (its `added`),
// and of an operand's own rows. They are taken while the rows are in the cache, several at a visit
// of the sums. Blocks of rows, which shapes alone choose, have sums of their own, in double, which
// are joined in their order, so that no number of threads changes a bit.
#pragma once
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/row/row_host.h"
#include "kernels/row/row_widened.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

template <class F> inline constexpr bool adds_rows = requires { requires F::adds_rows; };

class RowTotals {
 public:
  RowTotals(const RowArgs& args, int64_t rows_at_once)
      : a(args),
        block((rows_of_block(args) + rows_at_once - 1) / rows_at_once * rows_at_once),
        blocks((args.rows + block - 1) / block),
        memory(size_t(blocks * wanted() * args.n) * sizeof(double)) {}

  int64_t rows_in_block() const { return block; }
  bool any() const { return wanted() > 0; }

  // That of a row, with sums of zero.
  double* start(int64_t row) const {
    double* sums = of_block(row / block);
    if (const int64_t bytes = wanted() * a.n * int64_t(sizeof(double)))
      memset(static_cast<void*>(sums), 0, size_t(bytes));
    return sums;
  }

  // f(operand, sums of it) for each that is wanted.
  template <class F> FLAM_FN void each(double* sums, const F& f) const {
    int64_t before = 0;
    for (int k = 0; k < a.operands; ++k) {
      if (a.role[k] != RowRole::total || !a.data[k]) continue;
      f(k, sums ? sums + before : nullptr);  // without rows there are none
      before += a.n;
    }
  }

  template <class T> void join() const {
    parallel_for(a.n, 65536 / (blocks + 1) + 1, [&](int64_t begin, int64_t end) {
      each(memory.as<double>(), [&](int k, double* sums) {
        for (int64_t b = 1; b < blocks; ++b) {
          const double* more = sums + b * wanted() * a.n;
          for (int64_t i = begin; i < end; ++i) sums[i] += more[i];
        }
        T* out = reinterpret_cast<T*>(a.data[k]);
        for (int64_t i = begin; i < end; ++i) out[i] = narrow<T>(blocks ? sums[i] : 0.0);
      });
    });
  }

 private:
  int64_t wanted() const {
    int64_t n = 0;
    for (int k = 0; k < a.operands; ++k) n += a.role[k] == RowRole::total && a.data[k];
    return n;
  }
  double* of_block(int64_t b) const { return memory.as<double>() + b * wanted() * a.n; }

  // Enough terms to be worth a thread, and not so few rows that sums outweigh them.
  static int64_t rows_of_block(const RowArgs& a) {
    const auto part = [&](int64_t of) { return (a.rows + of - 1) / of; };
    const int64_t few = part(16) < 16 ? part(16) : 16, least = part(256) > few ? part(256) : few;
    const int64_t enough = 65536 / (a.n + 1) + 1;
    return least > enough ? least : enough;
  }

  const RowArgs& a;
  int64_t block, blocks;
  Scratch memory;
};

inline constexpr int64_t kTotalPiece = 64;

// sums[i] += what lines `stride` bytes apart hold there.
template <int Lines, class T>
FLAM_FN void add_lines(const T* line, int64_t stride, int64_t width, double* sums) {
  const char* first = reinterpret_cast<const char*>(line);
  if constexpr (std::is_same_v<T, float>) {
    fold_lines<Lines>(Adding{}, first, stride, width, nullptr, sums);
  } else {
    for (int r = 0; r < Lines; ++r) {
      const T* x = reinterpret_cast<const T*>(first + r * stride);
#pragma GCC ivdep
      for (int64_t l = 0; l < width; ++l) sums[l] += double(load(x + l));
    }
  }
}

// Elements [i, i + width) of what `Rows` rows add, given by a closure for each; in `Lines` lines,
// half as many where terms are rounded themselves and may meet in pairs before they become double.
template <int Rows, int Lines, class V, class F>
FLAM_FN void add_terms(const F* term, int64_t i, int64_t width, double* sums) {
  V line[Lines][kTotalPiece];
  for (int r = 0; r < Lines; ++r) {
#pragma GCC ivdep
    for (int64_t l = 0; l < width; ++l) {
      if constexpr (Lines == Rows) line[r][l] = term[r](i + l);
      if constexpr (Lines < Rows) line[r][l] = term[r](i + l) + term[r + Lines](i + l);
    }
  }
  add_lines<Lines>(line[0], sizeof line[0], width, sums);
}

// What `Rows` rows that lie dense, from `row` on, add to all totals.
template <int64_t Rows, class F, class T>
FLAM_FN void add_rows(const F& f, const RowArgs& a, int64_t row, const RowTotals& totals,
                      double* sums) {
  static_assert(Rows == 1 || Rows == 4);
  const auto place = [&](int r) { return HostRow<Compute<T>>{{a, row + r % Rows, a.n}, nullptr}; };
  const auto of_row = [&](int r) { return f.added(place(r)); };
  const decltype(of_row(0)) terms[] = {of_row(0), of_row(1), of_row(2), of_row(3)};
  const auto part = [&](int64_t i, int64_t width) __attribute__((always_inline)) {
    totals.each(sums, [&](int k, double* sum) __attribute__((always_inline)) {
      if (a.of[k] < 0) return add_terms<Rows, (Rows + 1) / 2, Compute<T>>(terms, i, width, sum + i);
      const int own = a.of[k];
      add_lines<Rows>(place(0).template place<const T>(own) + i, a.stride[own], width, sum + i);
    });
  };
  int64_t i = 0;
  for (; i + kTotalPiece <= a.n; i += kTotalPiece) part(i, kTotalPiece);
  if (i < a.n) part(i, a.n - i);
}

inline constexpr int64_t kRowsAtOnce = 4;

// The rows of a functor that adds to totals, one by one; those of a group then once more.
template <class F, class Rows, class T> void rows_with_totals(const F& f, const RowArgs& a) {
  using E = typename Rows::Element;
  const RowTotals totals(a, kRowsAtOnce);
  const auto work = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    double* const sums = totals.start(begin);
    Rows rows(a, kRowsAtOnce);
    for (int64_t i = begin, count; i < end; i += count) {
      count = std::min(end - i, kRowsAtOnce);
      rows.read(i, count);
      for (int64_t k = i; k < i + count; ++k) {
        HostRow<Compute<E>> r{{rows.args, k, a.n}, nullptr};
        f(r);
      }
      if (totals.any() && count == kRowsAtOnce) {
        add_rows<kRowsAtOnce, F, E>(f, rows.args, i, totals, sums);
      } else if (totals.any()) {
        for (int64_t k = i; k < i + count; ++k) add_rows<1, F, E>(f, rows.args, k, totals, sums);
      }
      rows.write(i, count);
    }
  };
  parallel_for(a.rows, totals.any() ? totals.rows_in_block() : 16384 / (a.n + 16) + 1, work);
  totals.join<T>();
}

}  // namespace flambeau::FLAM_TARGET
