// A tile of rows side by side, kColumns of them, and the way between a tensor and it. In a tile a
// row's elements are of the type E that functors are made for: f16 becomes float (row_widened.h).
#pragma once
#include <utility>

#include "kernels/fold/turned_rows.h"
#include "kernels/map/map_element.h"
#include "kernels/row/row_columns.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

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

// n terms of `rows` rows at most kTurnedRows into lines of a tile, or back. Those that are
// converted are rows of a block before, a part at a time.
template <class T, class E>
void turn_into_tile(E* to, const char* from, int64_t stride, int64_t step, int rows, int64_t n) {
  if constexpr (std::is_same_v<T, E>) {
    return turn_rows(to, kColumns, from, stride, step, rows, int(n));
  } else {
    constexpr int64_t part = 32, bytes = part * int64_t(sizeof(E));
    E block[kTurnedRows][part];
    for (int64_t t = 0; t < n; t += part) {
      const int64_t terms = n - t < part ? n - t : part;
      for (int r = 0; r < rows; ++r) {
        gather_run<T>(reinterpret_cast<char*>(block[r]), from + r * stride + t * step, step, terms);
      }
      turn_rows(to + t * kColumns, kColumns, reinterpret_cast<const char*>(block[0]), bytes,
                int64_t(sizeof(E)), rows, int(terms));
    }
  }
}

template <class T, class E>
void turn_out_of_tile(char* to, int64_t stride, int64_t step, const E* from, int rows, int64_t n) {
  if constexpr (std::is_same_v<T, E>) {
    return turn_back(to, stride, step, from, kColumns, rows, int(n));
  } else {
    constexpr int64_t part = 32, bytes = part * int64_t(sizeof(E));
    E block[kTurnedRows][part];
    for (int64_t t = 0; t < n; t += part) {
      const int64_t terms = n - t < part ? n - t : part;
      turn_back(reinterpret_cast<char*>(block[0]), bytes, int64_t(sizeof(E)), from + t * kColumns,
                kColumns, rows, int(terms));
      for (int r = 0; r < rows; ++r) {
        scatter_run<T>(to + r * stride + t * step, step, reinterpret_cast<const char*>(block[r]),
                       terms);
      }
    }
  }
}

template <class T, class E>
void into_tile(const RowArgs& a, int k, int64_t row, int rows, char* tile) {
  E* to = reinterpret_cast<E*>(tile);
  each_part(a, k, row, rows, [&](int first, int64_t offset, int part) {
    const char* from = a.data[k] + offset;
    if (a.stride[k] == int64_t(sizeof(T))) {
      for (int64_t t = 0; t < a.n; ++t, from += a.step[k]) {
        fetch_ahead(from, part * int(sizeof(T)));
        E* line = to + t * kColumns + first;
        if constexpr (std::is_same_v<T, E>) copy_line<T>(line, from, part);
        if constexpr (!std::is_same_v<T, E>)
          gather_run<T>(reinterpret_cast<char*>(line), from, int64_t(sizeof(T)), part);
      }
      return;
    }
    for (int r = 0; r < part; r += kTurnedRows) {
      const int some = part - r < kTurnedRows ? part - r : kTurnedRows;
      turn_into_tile<T>(to + first + r, from + r * a.stride[k], a.stride[k], a.step[k], some, a.n);
    }
  });
}

template <class T, class E>
void out_of_tile(const RowArgs& a, int k, int64_t row, int rows, const char* tile) {
  const E* from = reinterpret_cast<const E*>(tile);
  each_part(a, k, row, rows, [&](int first, int64_t offset, int part) {
    char* to = a.data[k] + offset;
    if (a.stride[k] == int64_t(sizeof(T))) {
      for (int64_t t = 0; t < a.n; ++t, to += a.step[k]) {
        const E* line = from + t * kColumns + first;
        if constexpr (std::is_same_v<T, E>) copy_line<T>(to, line, part);
        if constexpr (!std::is_same_v<T, E>)
          scatter_run<T>(to, int64_t(sizeof(T)), reinterpret_cast<const char*>(line), part);
      }
      return;
    }
    for (int r = 0; r < part; r += kTurnedRows) {
      const int some = part - r < kTurnedRows ? part - r : kTurnedRows;
      turn_out_of_tile<T>(to + r * a.stride[k], a.stride[k], a.step[k], from + first + r, some,
                          a.n);
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

template <class T, class E> class RowTile {
 public:
  RowArgs args;  // with the tile's operands

  explicit RowTile(const RowArgs& a) : args(a), from_(a), memory_(size_of_all()) {
    char* at = memory_.as<char>();
    for (int k = 0; k < a.operands; ++k) {
      const size_t size = size_of(k);
      if (!size) continue;
      args.data[k] = std::exchange(at, at + size);
      if (a.role[k] == RowRole::shared)
        gather_run<T>(args.data[k], a.data[k], int64_t(sizeof(T)), a.n);
    }
  }

  __attribute__((noinline)) void read(int64_t row, int rows) const {
    for (int k = 0; k < from_.operands; ++k) {
      if (!from_.data[k] || from_.output[k]) continue;
      if (from_.role[k] == RowRole::each) values_into_tile(from_, k, row, rows, args.data[k]);
      if (from_.role[k] != RowRole::row) continue;
      if (rows < kColumns) memset(args.data[k], 0, size_of(k));  // columns behind the last row
      into_tile<T, E>(from_, k, row, rows, args.data[k]);
    }
  }

  __attribute__((noinline)) void write(int64_t row, int rows) const {
    for (int k = 0; k < from_.operands; ++k) {
      if (!from_.data[k] || !from_.output[k] || from_.role[k] == RowRole::total) continue;
      if (from_.role[k] == RowRole::row) {
        out_of_tile<T, E>(from_, k, row, rows, args.data[k]);
      } else {
        const size_t bytes = size_t(from_.bytes[k]);
        memcpy(from_.data[k] + size_t(row) * bytes, args.data[k], size_t(rows) * bytes);
      }
    }
  }

 private:
  size_t size_of(int k) const {
    const RowRole role = from_.role[k];
    const int64_t own = from_.bytes[k], n = from_.n > 0 ? from_.n : 1;
    const bool widened = !std::is_same_v<T, E> && own == int64_t(sizeof(T));
    if (!from_.data[k] || role == RowRole::total) return 0;
    if (role == RowRole::shared) return widened ? rounded(n * int64_t(sizeof(E))) : 0;
    if (role == RowRole::each) return rounded(kColumns * own);
    return rounded(kColumns * n * int64_t(sizeof(E)));
  }
  static size_t rounded(int64_t bytes) { return size_t(bytes + 63) / 64 * 64; }
  size_t size_of_all() const {
    size_t all = 0;
    for (int k = 0; k < from_.operands; ++k) all += size_of(k);
    return all;
  }

  const RowArgs& from_;
  const Scratch memory_;
};

}  // namespace flambeau::FLAM_TARGET
