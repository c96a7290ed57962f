// What a GPU's thread has of a row at a time: as many neighbours as make 16 bytes of the row's
// type, by whole accesses, where rows begin on such boundaries and are made of such pieces; else as
// many elements one from each of as many stretches of the row, so that threads side by side still
// access neighbours. Elements behind the row's end are 0 when they are read and not written.
#pragma once
#include "kernels/map/map_chunk.h"
#include "kernels/row/row_value.h"

namespace flambeau::FLAM_TARGET {

template <class T> inline constexpr int kPieceOf = 16 / int(sizeof(T));  // elements of a piece

// Where one lies: its e-th element is the row's `first + e * step`. All of a whole one is there or
// nothing.
template <class Int> struct PiecePlace {
  bool whole;
  Int first, step, n;
  __device__ __forceinline__ bool any() const { return first < n; }
  __device__ __forceinline__ Int at(int e) const { return first + e * step; }
  __device__ __forceinline__ bool holds(int e) const { return whole || at(e) < n; }
};

// kCount elements of U, which may be wider than the row's own.
template <class U, int kCount> struct RowPiece {
  static constexpr int kEach = kPieceOf<U> < kCount ? kPieceOf<U> : kCount;
  Chunk<U, kEach> part[kCount / kEach];

  template <class Int>
  static __device__ __forceinline__ RowPiece read(const U* row, const PiecePlace<Int>& place) {
    RowPiece piece{};
    if (!place.any()) return piece;
    if (place.whole) {
#pragma unroll
      for (int p = 0; p < kCount / kEach; ++p)
        piece.part[p] = Chunk<U, kEach>::from(row + place.first + p * kEach);
    } else {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        if (place.holds(e)) piece.part[e / kEach].put(e % kEach, load_global(row + place.at(e)));
      }
    }
    return piece;
  }

  __device__ __forceinline__ Compute<U> value(int e) const {
    const Chunk<U, kEach>& from = part[e / kEach];
    if constexpr (Chunk<U, kEach>::kHalves) {
      float low, high;
      widen_pair<U>(from.word[e % kEach / 2], low, high);
      return e % 2 ? high : low;
    } else {
      return from.element(e % kEach);
    }
  }
};

// Two f32 to halves, by the instruction where a GPU has it: of NaNs it makes one of its own.
template <class T, int kCount>
__device__ __forceinline__ Chunk<T, kCount> rounded_piece(const Compute<T> (&v)[kCount]) {
  Chunk<T, kCount> c{};
  if constexpr (Chunk<T, kCount>::kHalves) {
#pragma unroll
    for (int e = 0; e < kCount; e += 2) c.word[e / 2] = narrow_pair<T>(v[e], v[e + 1]);
  } else {
#pragma unroll
    for (int e = 0; e < kCount; ++e) c.put(e, v[e]);
  }
  return c;
}

// What a functor writes of a row: values, which are rounded when all are there.
template <class T> struct WrittenPiece {
  T* row = nullptr;
  Compute<T> v[kPieceOf<T>];

  template <class Int> __device__ __forceinline__ void write(const PiecePlace<Int>& place) const {
    if (!row || !place.any()) return;
    const auto rounded = rounded_piece<T>(v);
    if (place.whole) return rounded.to(row + place.first);
#pragma unroll
    for (int e = 0; e < kPieceOf<T>; ++e) {
      if (place.holds(e)) store_global(row + place.at(e), rounded.element(e));
    }
  }
};

// An element, as functors name it: of which of the thread's pieces, in it, and in what is written.
template <class T, class Int> struct PieceIndex {
  int slot, element;
  const PiecePlace<Int>& place;
  WrittenPiece<T>& written;
};

// An element that has been read.
template <class V> struct ReadElement {
  V v;
};
template <class V> FLAM_FN V load(ReadElement<V> x) { return x.v; }

// A row of which every thread holds all its pieces in registers from the beginning.
template <class T, int kSlots> struct HeldElements {
  const T* p;
  RowPiece<T, kPieceOf<T>> slot[kSlots];

  __device__ __forceinline__ explicit operator bool() const { return p; }
  template <class I> __device__ __forceinline__ ReadElement<Compute<T>> operator+(
      const I& i) const {
    return {slot[i.slot].value(i.element)};
  }
  __device__ __forceinline__ const T* term(int64_t, int64_t i) const { return p + i; }
};

// A row that is read piece by piece when the piece's first element is asked for, which always
// comes first.
template <class U, int kCount> struct PassedElements {
  const U* p;
  mutable RowPiece<U, kCount> piece{};

  __device__ __forceinline__ explicit operator bool() const { return p; }
  template <class I> __device__ __forceinline__ ReadElement<Compute<U>> operator+(
      const I& i) const {
    if (i.element == 0) piece = RowPiece<U, kCount>::read(p, i.place);
    return {piece.value(i.element)};
  }
  __device__ __forceinline__ const U* term(int64_t, int64_t i) const { return p + i; }
};

template <class T> struct WrittenElements {
  T* p;
  __device__ __forceinline__ explicit operator bool() const { return p; }
  template <class I, class V> __device__ __forceinline__ void set(const I& i, V v) const {
    i.written.row = p;
    i.written.v[i.element] = Compute<T>(v);
  }
  __device__ __forceinline__ T* term(int64_t, int64_t i) const { return p + i; }
};

// Values of a row that stay in registers between two steps of a functor.
template <class V, int kSlots, int kCount> struct KeptElements {
  mutable V v[kSlots * kCount];
  template <class I> __device__ __forceinline__ V& operator[](const I& i) const {
    return v[i.slot * kCount + i.element];
  }
};

}  // namespace flambeau::FLAM_TARGET
