// Transposing copies on GPUs: a block turns a tile in shared memory, so that both sides are read
// and written along their own neighbours, by 16 bytes where these are aligned. A tile's columns lie
// one word further apart than they are long; its words, of as many elements as 4 bytes have, are
// written and read without a conflict of banks, and a thread takes them apart in registers.
#pragma once
#include <algorithm>

#include "kernels/cuda_launch.h"
#include "kernels/map/map_chunk.h"
#include "kernels/map/map_space.h"
#include "kernels/map/transpose_space.h"
#include "kernels/tile/shared_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kTransposeThreads = 256;

template <class T> struct TransposeTile {
  static constexpr int kSize = int(sizeof(T)), kEach = 16 / kSize;  // elements of a chunk
  static constexpr int kRows = 128 / kSize, kColumns = std::max(64, kRows), kChunks = 8;
  using Unit = std::conditional_t<kSize == 8, uint64_t, uint32_t>;
  static constexpr int kOfUnit = int(sizeof(Unit)) / kSize, kUnits = kRows / kOfUnit,
                       kPitch = kUnits + 1, kOfChunk = 16 / int(sizeof(Unit));
  static constexpr int kAcross = std::min(8, 32 / kEach);  // lanes along a row of the output
  static constexpr int kLoads = kColumns * kChunks / kTransposeThreads,
                       kStores = kUnits * (kColumns / kEach) / kTransposeThreads;
  static_assert(kLoads > 0 && kStores > 0);
  using Piece = Chunk<T, kEach>;
};

template <class T>
__device__ __forceinline__ Chunk<T, 16 / sizeof(T)> load_some(const char* p, int count, bool wide) {
  using C = Chunk<T, 16 / int(sizeof(T))>;
  constexpr int kEach = 16 / int(sizeof(T));
  if (wide && count >= kEach) return C::from(p);
  C c{};
#pragma unroll
  for (int e = 0; e < kEach; ++e)
    if (e < count) c.put(e, load_global(reinterpret_cast<const T*>(p) + e));
  return c;
}

template <class C> __device__ __forceinline__ void store_some(const C& c, char* p, int count,
                                                              bool wide) {
  using T = decltype(c.element(0));
  constexpr int kEach = C::kBytes / int(sizeof(T));
  if (wide && count >= kEach) return c.to(p);
#pragma unroll
  for (int e = 0; e < kEach; ++e)
    if (e < count) store_global(reinterpret_cast<T*>(p) + e, c.element(e));
}

// Of units that are neighbours along a row of the output, the chunk of the r-th of their elements.
template <class T>
__device__ __forceinline__ Chunk<T, 16 / sizeof(T)> row_of_units(
    const typename TransposeTile<T>::Unit (&u)[16 / sizeof(T)], int r) {
  Chunk<T, 16 / int(sizeof(T))> c;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 8) {
      c.word[w] = uint32_t(u[w / 2] >> w % 2 * 32);
    } else if constexpr (sizeof(T) == 4) {
      c.word[w] = u[w];
    } else if constexpr (sizeof(T) == 2) {
      c.word[w] = __byte_perm(u[2 * w], u[2 * w + 1], r ? 0x7632 : 0x5410);
    } else {
      const uint32_t pick = uint32_t(r) | uint32_t(4 + r) << 4;
      c.word[w] = __byte_perm(__byte_perm(u[4 * w], u[4 * w + 1], pick),
                              __byte_perm(u[4 * w + 2], u[4 * w + 3], pick), 0x5410);
    }
  }
  return c;
}

// Tile `plane` of all, by all threads of a block.
template <class T>
__device__ __forceinline__ void turn_tile(const TransposeSpace& s, uint32_t plane) {
  using Tile = TransposeTile<T>;
  using Unit = typename Tile::Unit;
  __shared__ __align__(16) Unit tile[Tile::kColumns * Tile::kPitch];

  const uint32_t of_columns = plane - quotient(plane, s.column_tiles) * s.column_tiles.divisor;
  plane = quotient(plane, s.column_tiles);
  const uint32_t of_rows = plane - quotient(plane, s.row_tiles) * s.row_tiles.divisor;
  plane = quotient(plane, s.row_tiles);
  const char* from = s.from;
  char* to = s.to;
#pragma unroll 1
  for (int d = 0; d < s.outer; ++d) {
    const uint32_t next = quotient(plane, s.size[d]);
    const auto index = int32_t(plane - next * s.size[d].divisor);
    from += index * s.from_step[d];
    to += index * s.to_step[d];
    plane = next;
  }
  const int row = int(of_rows) * Tile::kRows, column = int(of_columns) * Tile::kColumns,
            rows = int(s.rows) - row, columns = int(s.columns) - column;
  from += int64_t(row) * Tile::kSize + int64_t(column) * s.from_column;
  to += int64_t(column) * Tile::kSize + int64_t(row) * s.to_row;

  typename Tile::Piece piece[Tile::kLoads];
#pragma unroll
  for (int i = 0; i < Tile::kLoads; ++i) {
    const int at = int(threadIdx.x) + i * kTransposeThreads, chunk = at % Tile::kChunks,
              c = at / Tile::kChunks, first = chunk * Tile::kEach;
    piece[i] = load_some<T>(from + int64_t(c) * s.from_column + first * Tile::kSize,
                            c < columns ? rows - first : 0, s.wide_from);
  }
#pragma unroll
  for (int i = 0; i < Tile::kLoads; ++i) {
    const int at = int(threadIdx.x) + i * kTransposeThreads, chunk = at % Tile::kChunks,
              c = at / Tile::kChunks;
#pragma unroll
    for (int u = 0; u < Tile::kOfChunk; ++u) {
      Unit unit;
      memcpy(&unit, piece[i].word + u * int(sizeof(Unit)) / 4, sizeof unit);
      store_shared(tile + c * Tile::kPitch + chunk * Tile::kOfChunk + u, unit);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Tile::kStores; ++i) {
    const int at = int(threadIdx.x) + i * kTransposeThreads, rest = at / Tile::kAcross,
              unit = rest % Tile::kUnits,
              c = (rest / Tile::kUnits * Tile::kAcross + at % Tile::kAcross) * Tile::kEach;
    Unit units[Tile::kEach];
#pragma unroll
    for (int e = 0; e < Tile::kEach; ++e)
      units[e] = load_shared(tile + (c + e) * Tile::kPitch + unit);
#pragma unroll
    for (int r = 0; r < Tile::kOfUnit; ++r) {
      const int at_row = unit * Tile::kOfUnit + r;
      store_some(row_of_units<T>(units, r), to + int64_t(at_row) * s.to_row + c * Tile::kSize,
                 at_row < rows ? columns - c : 0, s.wide_to);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kTransposeThreads) transpose_kernel(const TransposeSpace s) {
  turn_tile<T>(s, blockIdx.x);
}

template <class T> void transpose_parts(void* stream, const MapArgs& a) {
  if (!fits_map_space(a)) {
    MapArgs first, second;
    halve_map(a, first, second);
    transpose_parts<T>(stream, first);
    return transpose_parts<T>(stream, second);
  }
  using Tile = TransposeTile<T>;
  const TransposeSpace s = transpose_space(a, sizeof(T), Tile::kRows, Tile::kColumns);
  FLAM_LAUNCH((transpose_kernel<T>), dim3(s.tiles), dim3(kTransposeThreads), 0, stream, s);
}

}  // namespace flambeau::FLAM_TARGET
