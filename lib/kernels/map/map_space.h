// What the threads of an elementwise launch need to find their elements: offsets in 32 bits, so
// that no address costs a 64-bit division. A launch that reaches further is cut in parts. Where
// every operand is dense along the last dimension, or stands still, its threads take whole chunks
// of neighbours instead of elements.
#pragma once
#include "kernels/fast_divide.h"
#include "kernels/map/map.h"

namespace flambeau {

struct MapSpace {
  uint32_t items;             // chunks, or elements, and single ones beside chunks
  uint32_t chunks;            // 0: all items are elements
  uint32_t head;              // single elements before the first chunk; the others follow the last
  int32_t last;               // dimensions but the outermost
  FastDivide size[kMapDims];  // from the innermost on, by items
  int32_t stride[kMapOperands][kMapDims];  // in bytes, from the innermost on
  uint8_t still[kMapOperands];             // an operand that a chunk has one element of
  char* data[kMapOperands];                // where the first chunk is, or the first element
  double params[kMapParams];
  alignas(8) char value[kMapOperands][8];
};

// Elements of at most 16 bytes of every operand.
struct MapWidths {
  int32_t each;  // elements of a chunk
  int32_t bytes[kMapOperands];
};

// Whether 32 bits hold every offset, and if not the launch's two halves.
bool fits_map_space(const MapArgs& a);
void halve_map(const MapArgs& a, MapArgs& first, MapArgs& second);

// Calls launch for the parts of a launch, one after the other.
void launch_map_parts(const MapArgs& a, const MapWidths& widths, void* stream,
                      void (*launch)(void* stream, const MapSpace& part));

}  // namespace flambeau
