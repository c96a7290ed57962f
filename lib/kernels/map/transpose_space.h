// The plan of a copy whose output is dense along one dimension and its input along another: rows
// are dense in the input, columns in the output, and each plane of the two is cut in tiles.
#pragma once
#include "kernels/fast_divide.h"
#include "kernels/map/map.h"

namespace flambeau {

struct TransposeSpace {
  const char* from;
  char* to;
  uint32_t rows, columns;
  int32_t to_row, from_column;  // in bytes, from one to the next
  FastDivide row_tiles, column_tiles;
  uint32_t tiles;           // of all planes
  int32_t outer;            // dimensions beside these two
  bool wide_from, wide_to;  // chunks of 16 bytes are aligned
  FastDivide size[kMapDims];
  int32_t to_step[kMapDims], from_step[kMapDims];
};

// Whether a copy of elements of so many bytes has planes large enough for tiles.
bool takes_tiles(const MapArgs& a, int64_t bytes);

// Of a launch that 32 bits hold (map_space.h).
TransposeSpace transpose_space(const MapArgs& a, int64_t bytes, int64_t tile_rows,
                               int64_t tile_columns);

}  // namespace flambeau
