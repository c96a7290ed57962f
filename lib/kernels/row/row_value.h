// What a functor of rows sees of a single row: its elements by their index, and values of which it
// has one, which are asked with any index.
#pragma once
#include "kernels/row/row.h"
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

template <class V> struct SameValue {
  V v;
  FLAM_FN V operator()(int64_t) const { return v; }
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
  FLAM_FN T* term(int64_t, int64_t i) const { return p + i; }  // of the row of the first index
};

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
  template <class T> FLAM_FN SameValue<T> each_of(int k) const { return {*place<T>(k)}; }
};

}  // namespace flambeau::FLAM_TARGET
