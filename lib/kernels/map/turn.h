// Squares of a matrix turned on the host: a line of the cache of every column becomes one of every
// row. Lines are copied side by side first, for a matrix' own lie where the cache has few places,
// unless they are few themselves; from there pieces of 16 bytes, which every processor permutes at
// once, are turned in registers. Squares follow one another along the rows that are written: below
// one another they would need more of those few places than there are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kTurnPieces = 1 << FLAM_ISA_RANK;  // of 16 bytes, in a register

template <int N> struct TurnWords {
  typedef uint64_t type __attribute__((vector_size(16 * N)));
};

// N pieces, `step` bytes apart.
template <int N> FLAM_FN void load_pieces(const char* from, int64_t step,
                                          typename TurnWords<N>::type& to) {
  if constexpr (N == 1) {
    memcpy(&to, from, sizeof to);
  } else {
    typename TurnWords<N / 2>::type low, high;
    load_pieces<N / 2>(from, step, low);
    load_pieces<N / 2>(from + N / 2 * step, step, high);
    if constexpr (N == 2) {
      to = __builtin_shufflevector(low, high, 0, 1, 2, 3);
    } else {
      to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
  }
}

template <class T> struct Turn {
  static constexpr int64_t kSide = 64 / sizeof(T), kFewLines = 8;
  static constexpr int kPiece = 16 / sizeof(T), kLanes = kPiece * kTurnPieces;
  typedef T Lanes __attribute__((vector_size(sizeof(T) * kLanes)));

  // to[r][c] = from[c][r], rows of `to` and columns of `from` so many bytes apart.
  static void square(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows,
                     int64_t columns) {
    alignas(64) char lines[kSide][64];
    if (rows == kSide && columns == kSide) {
      if constexpr (kSide <= kFewLines) return turn(to, to_row, from, from_column);
      for (int64_t c = 0; c < kSide; ++c) memcpy(lines[c], from + c * from_column, 64);
      return turn(to, to_row, lines[0], 64);
    }
    alignas(64) char turned[kSide][64];
    for (int64_t c = 0; c < columns; ++c)
      memcpy(lines[c], from + c * from_column, size_t(rows) * sizeof(T));
    turn(turned[0], 64, lines[0], 64);
    for (int64_t r = 0; r < rows; ++r)
      memcpy(to + r * to_row, turned[r], size_t(columns) * sizeof(T));
  }

 private:
  static void turn(char* to, int64_t to_row, const char* lines, int64_t line) {
    for (int64_t r = 0; r < kSide; r += kPiece) {
      for (int64_t c = 0; c < kSide; c += kLanes)
        block(to + r * to_row + c * int64_t(sizeof(T)), to_row,
              lines + c * line + r * int64_t(sizeof(T)), line);
    }
  }

  // A piece of kLanes lines each: kPiece rows.
  FLAM_FN static void block(char* to, int64_t to_row, const char* lines, int64_t line) {
    Lanes v[kPiece], next[kPiece];
    for (int j = 0; j < kPiece; ++j) {
      typename TurnWords<kTurnPieces>::type words;
      load_pieces<kTurnPieces>(lines + j * line, kPiece * line, words);
      v[j] = Lanes(words);
    }
#pragma GCC unroll 4
    for (int step = 1; step < kPiece; step *= 2) {
#pragma GCC unroll 8
      for (int j = 0; j < kPiece / 2; ++j) {
        next[2 * j] = interleaved<0>(v[j], v[j + kPiece / 2], kEach);
        next[2 * j + 1] = interleaved<kPiece / 2>(v[j], v[j + kPiece / 2], kEach);
      }
      memcpy(v, next, sizeof v);
    }
    for (int j = 0; j < kPiece; ++j) memcpy(to + j * to_row, &v[j], sizeof v[j]);
  }

  static constexpr std::make_index_sequence<size_t(kLanes)> kEach{};
  // The halves of every piece that begin at First.
  template <int First, size_t... I>
  FLAM_FN static Lanes interleaved(Lanes a, Lanes b, std::index_sequence<I...>) {
    return __builtin_shufflevector(
        a, b, int(I % 2) * kLanes + int(I) / kPiece * kPiece + int(I) % kPiece / 2 + First...);
  }
};

// to[r][c] = from[c][r]; squares below one another share the pages that they read, as long as these
// are few.
template <class T> void turn_area(char* to, int64_t to_row, const char* from, int64_t from_column,
                                  int64_t rows, int64_t columns) {
  constexpr int64_t kSide = Turn<T>::kSide, kBytes = sizeof(T), kPages = 64;
  for (int64_t first = 0; first < columns; first += kPages) {
    const int64_t end = std::min(first + kPages, columns);
    for (int64_t r = 0; r < rows; r += kSide) {
      for (int64_t c = first; c < end; c += kSide) {
        Turn<T>::square(to + r * to_row + c * kBytes, to_row, from + r * kBytes + c * from_column,
                        from_column, std::min(kSide, rows - r), std::min(kSide, end - c));
      }
    }
  }
}

using TurnArea = void (*)(char* to, int64_t to_row, const char* from, int64_t from_column,
                          int64_t rows, int64_t columns);
inline TurnArea turn_area_of(int64_t bytes) {
  return bytes == 1   ? &turn_area<uint8_t>
         : bytes == 2 ? &turn_area<uint16_t>
         : bytes == 4 ? &turn_area<uint32_t>
                      : &turn_area<uint64_t>;
}

}  // namespace flambeau::FLAM_TARGET
