// What a functor of rows sees of a single row: its elements by their index, and values of which it
// has one, which are asked with any index.
#pragma once
#include "kernels/row/row.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class V> struct SameValue {
  V v;
  template <class I> FLAM_FN V operator()(I) const { return v; }
};
template <class V> FLAM_FN SameValue<V> same_value(V v) { return {v}; }

template <class V> struct TwoSums {
  V first, second;
};

template <class T> struct RowElements {
  T* p;
  FLAM_FN explicit operator bool() const { return p; }
  FLAM_FN T* operator+(int64_t i) const { return p + i; }
  FLAM_FN T& operator[](int64_t i) const { return p[i]; }
  template <class V> FLAM_FN void set(int64_t i, V v) const { p[i] = narrow<T>(v); }
  FLAM_FN T* term(int64_t, int64_t i) const { return p + i; }  // of the row of the first index
};

// A functor's parameter: a double of RowArgs::params on the host; on GPUs, where doubles are slow,
// what it is used as.
#if defined(FLAM_DEVICE_SOURCE)
template <class V> using RowParam = V;
#else
template <class V> using RowParam = double;
#endif

// Of rows that are read once more for every loop, as GPUs do with long ones; and of those that keep
// options inside their loops cheap.
template <class R> inline constexpr bool kPassesRows = requires { requires R::kPasses; };
template <class R> inline constexpr bool kUnrollsRows = requires { requires R::kUnrolled; };

struct RowPlace {
  const RowArgs& a;
  int64_t row, n;

  template <class T> FLAM_FN T* place(int k) const {
    return reinterpret_cast<T*>(a.data[k] + row * a.stride[k]);
  }
  template <class T> FLAM_FN RowElements<T> row_of(int k) const {
    return {a.data[k] ? place<T>(k) : nullptr};
  }
  template <class T> FLAM_FN RowElements<T> shared_of(int k) const { return row_of<T>(k); }
  template <class T> FLAM_FN SameValue<T> each_of(int k) const {  // 0 where it was left out
    return {a.data[k] ? *place<T>(k) : T(0)};
  }
};

}  // namespace flambeau::FLAM_TARGET
