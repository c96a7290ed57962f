// Rows side by side on the host, as a functor sees them: a line holds a term of each row, and every
// step serves all rows of it as vectors. A tile's lines are kColumns long; where a tensor's own are
// as long, they are worked on where they lie, up to kLongLine at once.
#pragma once
#include "kernels/fold/fold_wide.h"
#include "kernels/row/row_host.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kColumns = 64, kLongLine = 256;

struct ColumnIndex {
  int64_t term;
  int column;
};

template <class V, int Most> struct ColumnValue {
  V v[Most];
  FLAM_FN V operator()(ColumnIndex i) const { return v[i.column]; }
};

template <class V> struct ColumnGiven {  // by an operand
  const V* p;
  FLAM_FN V operator()(ColumnIndex i) const { return p[i.column]; }
};

template <class T> struct ColumnShared {  // the same for all rows
  T* p;
  FLAM_FN explicit operator bool() const { return p; }
  FLAM_FN T* operator+(ColumnIndex i) const { return p + i.term; }
  FLAM_FN T* term(ColumnIndex, int64_t i) const { return p + i; }
};

template <class T, int Most> struct ColumnElements {
  T* p;
  int64_t own;  // elements from line to line, which a tile knows
  FLAM_FN int64_t line() const { return Most == kColumns ? kColumns : own; }
  FLAM_FN T* operator+(ColumnIndex i) const { return p + i.term * line() + i.column; }
  FLAM_FN T& operator[](ColumnIndex i) const { return *(*this + i); }
  template <class V> FLAM_FN void set(ColumnIndex i, V v) const { *(*this + i) = narrow<T>(v); }
  FLAM_FN T* term(ColumnIndex row, int64_t i) const { return *this + ColumnIndex{i, row.column}; }
};

template <class V, int Most> struct HostColumns {
  using Wide = double;
  template <class T> static constexpr bool keeps = true;
  template <class U> using Value = ColumnValue<U, Most>;
  const RowArgs& a;  // with the operands of these rows
  int64_t n;
  V* memory;
  int columns;

  template <class T> FLAM_FN ColumnElements<V, Most> keep(ColumnElements<T, Most> y) const {
    if constexpr (std::is_same_v<T, V>) return y;
    if constexpr (!std::is_same_v<T, V>) return {memory, width()};
  }

  template <class T> FLAM_FN ColumnElements<T, Most> row_of(int k) const {
    return {reinterpret_cast<T*>(a.data[k]), a.step[k] / int64_t(sizeof(T))};
  }
  template <class T> FLAM_FN ColumnShared<T> shared_of(int k) const {
    return {reinterpret_cast<T*>(a.data[k])};
  }
  template <class T> FLAM_FN ColumnGiven<T> each_of(int k) const {
    return {reinterpret_cast<const T*>(a.data[k])};
  }

  template <class F> FLAM_FN void for_rows(const F& f) const {
    const int w = width();
    for (int c = 0; c < w; ++c) f(ColumnIndex{0, c});
  }
  template <class F> FLAM_FN auto value(const F& f) const {
    Value<decltype(f(ColumnIndex{}))> all;
    for_rows([&](ColumnIndex i) { all.v[i.column] = f(i); });
    return all;
  }
  template <class T, class F> FLAM_FN void put(int k, const F& f) const {
    if (a.data[k])
      for_rows([&](ColumnIndex i) { reinterpret_cast<T*>(a.data[k])[i.column] = T(f(i)); });
  }

  template <class F> FLAM_FN void each(const F& f) const {
    const int w = width();
    for (int64_t t = 0; t < n; ++t) {
#pragma GCC ivdep
      for (int c = 0; c < w; ++c) f(ColumnIndex{t, c});
    }
  }

  // As in a row by itself, terms of a long one that are computed in float meet by fours before they
  // become double; a row whose sums leave float's range, or are none, is added term by term.
  template <class F> FLAM_FN Value<double> sum(const F& f) const {
    using Term = decltype(f(ColumnIndex{}));
    if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<Term, float>) {
      if (n >= HostRow<V>::kPiece) {
        const Value<double> all = sum_by_fours(f);
        if (are_finite(all)) return all;
        const Value<double> each = sum_from(0, zeros(), f);
        return value([&](ColumnIndex i) { return all(i) - all(i) == 0 ? all(i) : each(i); });
      }
    }
    return sum_from(0, zeros(), f);
  }

  template <class F, class G>
  FLAM_FN TwoSums<Value<double>> sums(const F& f, const G& g) const {
    return {sum(f), sum(g)};
  }

  template <class T> FLAM_FN Value<double> sum_of(const ColumnElements<T, Most>& x) const {
    if constexpr (std::is_same_v<T, const float>) {
      Value<double> all = zeros();
      const int64_t stride = x.line() * int64_t(sizeof(T));
      const char* p = reinterpret_cast<const char*>(x.p);
      int64_t t = 0;
      for (; t + 8 <= n; t += 8) add_lines<8>(p + t * stride, stride, all);
      for (; t < n; ++t) add_lines<1>(p + t * stride, stride, all);
      return all;
    } else {
      return sum([&](ColumnIndex i) { return double(load(x + i)); });
    }
  }
  template <class X>
  FLAM_FN Value<double> squares(const X& x, const Value<double>& centre) const {
    return sum([&](ColumnIndex i) {
      const double d = double(load(x + i)) - centre(i);
      return d * d;
    });
  }

  template <class X, class F>
  FLAM_FN void each_standard(const X& x, const Value<double>& mean, const Value<double>& rstd,
                             const F& f) const {
    each([&](ColumnIndex i) { f(i, V((double(load(x + i)) - mean(i)) * rstd(i))); });
  }

  template <class F> FLAM_FN Value<V> greatest(const F& f) const {
    Value<V> top = value([](ColumnIndex) { return -V(__builtin_huge_val()); });
    each([&](ColumnIndex i) {
      const V x = f(i);
      top.v[i.column] = x > top.v[i.column] ? x : top.v[i.column];
    });
    return top;
  }

 private:
  FLAM_FN int width() const { return Most == kColumns ? kColumns : columns; }
  FLAM_FN Value<double> zeros() const {
    return value([](ColumnIndex) { return 0.0; });
  }
  FLAM_FN bool are_finite(const Value<double>& all) const {
    int64_t others = 0;
    for_rows([&](ColumnIndex i) { others |= !(all(i) - all(i) == 0); });
    return !others;
  }

  template <class F>
  FLAM_FN Value<double> sum_from(int64_t t, Value<double> all, const F& f) const {
    using Term = decltype(f(ColumnIndex{}));
    for (; t < n; ++t)
      add_line<Term>(all,
                     [&](int c) __attribute__((always_inline)) { return f(ColumnIndex{t, c}); });
    return all;
  }
  template <class F> FLAM_FN Value<double> sum_by_fours(const F& f) const {
    Value<double> all = zeros();
    int64_t t = 0;
    for (; t + 4 <= n; t += 4) {
      add_line<float>(all, [&](int c) __attribute__((always_inline)) {
        const auto at = [&](int r)
                            __attribute__((always_inline)) { return f(ColumnIndex{t + r, c}); };
        return (at(0) + at(1)) + (at(2) + at(3));
      });
    }
    return sum_from(t, all, f);
  }

  template <int Lines>
  FLAM_FN void add_lines(const char* line, int64_t stride, Value<double>& sums) const {
    fold_lines<Lines>(Adding{}, line, stride, width(), nullptr, sums.v);
  }
  template <class Term, class F> FLAM_FN void add_line(Value<double>& sums, const F& f) const {
    const int w = width();
    Term line[Most];
#pragma GCC ivdep
    for (int c = 0; c < w; ++c) line[c] = f(c);
    if constexpr (FLAM_ISA_RANK > 0 && std::is_same_v<Term, float>) {
      add_lines<1>(reinterpret_cast<const char*>(line), 0, sums);
    } else {
      for (int c = 0; c < w; ++c) sums.v[c] += double(line[c]);
    }
  }
};

}  // namespace flambeau::FLAM_TARGET
