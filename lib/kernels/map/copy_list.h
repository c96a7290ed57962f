// Copies into other layouts, several in one launch of a GPU: small ones are worth less than their
// launches. A copy that turns planes goes by tiles in shared memory, as one by itself would; any
// other goes element by element in the order of its output.
#pragma once
#include <span>

#include "kernels/map/join.h"
#include "kernels/map/transpose_space.h"

namespace flambeau {

inline constexpr int kCopyParts = 4;
inline constexpr int kCopyThreads = 256, kCopyEach = 4;  // elements of a thread

// Of a copy by elements `outer` counts all dimensions, from the innermost on.
struct CopyListArgs {
  int32_t parts;
  struct Part {
    TransposeSpace space;
    uint32_t first_block, elements;  // 0: by tiles
  } part[kCopyParts];
};

// Elements of a dtype's size along the sides of a tile, as the kernel of transposes has them.
struct CopyTile {
  int64_t rows, columns;
};
inline CopyTile copy_tile(int64_t bytes) {
  const int64_t rows = 128 / bytes;
  return {rows, rows < 64 ? 64 : rows};
}

// Each `to` has its `from`'s shape, dtype and device. One launch where a kernel is for them and 32
// bits count what they have, else one each.
void run_copy_list(const char* op, std::span<const Joined> copies);

extern constinit Kernel kCopyList;

}  // namespace flambeau
