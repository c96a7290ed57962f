// Rows that are longer than those they come from, on the host: what is put before and after a row
// are elements of its own, and rows of a plane repeat in any order. So a padded image is written in
// one pass, each of its lines once, whatever the mode says about the places beyond its edges.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

struct PadRowsArgs {
  char* to;
  const char* from;
  int64_t planes, rows;      // of a plane of the output
  int64_t plane_bytes;       // of the input
  int64_t before, n, after;  // elements of a row of the output
  const int64_t* row;     // where each row of a plane comes from, in bytes from the plane's start
  const int64_t* column;  // and each element before and after, in elements from the row's start
};

// Keyed by the integer type of an element's size.
inline constinit Kernel kPadRows{"pad"};

}  // namespace flambeau
