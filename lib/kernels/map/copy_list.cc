// Cuts a list of copies into the blocks of one launch; see copy_list.h.
#include "kernels/map/copy_list.h"

#include <vector>

#include "kernels/access.h"
#include "kernels/map/map_plan.h"
#include "kernels/map/map_space.h"

namespace flambeau {

constinit Kernel kCopyList{"to"};

namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 30;

// Every dimension from the innermost on, for single elements.
TransposeSpace element_space(const MapArgs& a) {
  TransposeSpace s{};
  s.from = a.data[1];
  s.to = a.data[0];
  s.outer = a.ndim;
  for (int d = 0; d < a.ndim; ++d) {
    const int from = a.ndim - 1 - d;
    s.size[d] = FastDivide(a.size[from]);
    s.to_step[d] = int32_t(a.stride[0][from]);
    s.from_step[d] = int32_t(a.stride[1][from]);
  }
  s.tiles = uint32_t((a.numel + kCopyThreads * kCopyEach - 1) / (kCopyThreads * kCopyEach));
  return s;
}

bool plan(std::span<const Joined> copies, CopyListArgs& list) {
  list.parts = 0;
  int64_t blocks = 0;
  for (const Joined& copy : copies) {
    MapArgs a;
    if (copy.to.dtype() != copy.from.dtype() || !plan_copy(copy.to, copy.from, a) ||
        !fits_map_space(a)) {
      return false;
    }
    const int64_t bytes = int64_t(copy.to.element_size());
    const bool tiles = takes_tiles(a, bytes);
    const CopyTile tile = copy_tile(bytes);
    CopyListArgs::Part& p = list.part[list.parts++];
    p.space = tiles ? transpose_space(a, bytes, tile.rows, tile.columns) : element_space(a);
    p.elements = tiles ? 0 : uint32_t(a.numel);
    p.first_block = uint32_t(blocks);
    blocks += p.space.tiles;
    if (blocks > kMostBlocks) return false;
  }
  return true;
}

bool run_at_once(const char* op, std::span<const Joined> copies) {
  const Tensor& first = copies[0].to;
  const int column = first.device().is_cpu() ? 0 : int(kernel_column(first.device()));
  const KernelFn fn = kCopyList.cells[column][int(first.dtype())];
  CopyListArgs list{};
  if (!fn || copies.size() > size_t(kCopyParts) || !plan(copies, list)) return false;
  std::vector<Access> accesses;
  for (const Joined& copy : copies) {
    accesses.push_back(writes(copy.to));
    accesses.push_back(reads(copy.from));
  }
  launch_kernel(op, fn, first.device(), list, std::span<const Access>(accesses));
  return true;
}

}  // namespace

void run_copy_list(const char* op, std::span<const Joined> copies) {
  if (copies.size() > 1 && run_at_once(op, copies)) return;
  for (const Joined& copy : copies) run_cast(copy.to, copy.from);
}

}  // namespace flambeau
