// See transpose_space.h.
#include "kernels/map/transpose_space.h"

namespace flambeau {

namespace {

constexpr int64_t kWorthwhile = 16;  // rows and columns, of which a tile has 16 at least

// The dimension along which the input is dense, where another one is the output's; else -1.
int row_dimension(const MapArgs& a, int64_t bytes) {
  const int last = a.ndim - 1;
  if (a.ndim < 2 || !a.data[1] || a.stride[0][last] != bytes || a.stride[1][last] == bytes ||
      a.stride[1][last] == 0)
    return -1;
  for (int d = last - 1; d >= 0; --d)
    if (a.stride[1][d] == bytes) return d;
  return -1;
}

}  // namespace

bool takes_tiles(const MapArgs& a, int64_t bytes) {
  const int d = row_dimension(a, bytes);
  return d >= 0 && a.size[d] >= kWorthwhile && a.size[a.ndim - 1] >= kWorthwhile;
}

TransposeSpace transpose_space(const MapArgs& a, int64_t bytes, int64_t tile_rows,
                               int64_t tile_columns) {
  const int rows = row_dimension(a, bytes), columns = a.ndim - 1;
  const auto tiles = [](int64_t n, int64_t tile) { return (n + tile - 1) / tile; };
  TransposeSpace s{};
  s.from = a.data[1];
  s.to = a.data[0];
  s.rows = uint32_t(a.size[rows]);
  s.columns = uint32_t(a.size[columns]);
  s.to_row = int32_t(a.stride[0][rows]);
  s.from_column = int32_t(a.stride[1][columns]);
  s.row_tiles = FastDivide(tiles(s.rows, tile_rows));
  s.column_tiles = FastDivide(tiles(s.columns, tile_columns));
  uint64_t planes = 1, from = uint64_t(uintptr_t(s.from)) | uint64_t(a.stride[1][columns]),
           to = uint64_t(uintptr_t(s.to)) | uint64_t(a.stride[0][rows]);
  for (int d = columns - 1; d >= 0; --d) {
    if (d == rows) continue;
    s.size[s.outer] = FastDivide(a.size[d]);
    s.to_step[s.outer] = int32_t(a.stride[0][d]);
    s.from_step[s.outer++] = int32_t(a.stride[1][d]);
    planes *= uint64_t(a.size[d]);
    from |= uint64_t(a.stride[1][d]);
    to |= uint64_t(a.stride[0][d]);
  }
  s.wide_from = from % 16 == 0;
  s.wide_to = to % 16 == 0;
  s.tiles = uint32_t(planes * s.row_tiles.divisor * s.column_tiles.divisor);
  return s;
}

}  // namespace flambeau
