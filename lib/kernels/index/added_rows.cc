// See added_rows.h. How the result is cut into blocks follows from shapes; addresses say only how
// many columns a thread has, which changes no sum.
#include "kernels/index/added_rows.h"

#include <algorithm>

#include "kernels/access.h"
#include "kernels/map/map.h"
#include "kernels/report/report.h"

namespace flambeau {

constinit Kernel kAddedRows{"index_add"};

namespace {

constexpr int64_t kBlocks = 320;  // three for each multiprocessor
constexpr int64_t kMostTiles = 65535, kMostRows = int64_t{1} << 31;
// Bytes of indices that all blocks read from a cache in less time than a launch takes.
constexpr int64_t kFreeLooks = int64_t{1} << 22;

int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

struct Cut {
  int64_t width, count, words, strip, blocks;

  explicit Cut(const RowSums& s) {
    const int64_t rows = s.sizes[0];
    width = numel_of(s.sizes) / rows;
    count = s.source.numel() / width;
    words = 16 / int64_t(s.source.element_size());
    const int64_t tiles = up(width, 32 * words);
    strip = std::clamp<int64_t>(up(rows * tiles, kBlocks), 1, kAddedStripRows);
    blocks = up(rows, strip) * tiles;
  }
};

bool has_cell(Device device, Dtype dtype) {
  const KernelColumn column = kernel_column(device);
  return column != KernelColumn::host && is_floating(dtype) &&
         kAddedRows.cells[int(column)][int(dtype)];
}

}  // namespace

bool adds_rows(const RowSums& s) {
  const Tensor& source = s.source;
  if (source.device().is_cpu() || s.sizes.empty() || numel_of(s.sizes) == 0) return false;
  if (!has_cell(source.device(), source.dtype()) || !source.is_contiguous()) return false;
  const Cut cut(s);
  const int64_t size = int64_t(source.element_size());
  if (cut.count >= kMostRows || up(cut.width, 32) > kMostTiles) return false;
  const int64_t looked = cut.blocks * cut.count * int64_t(sizeof(int64_t)),
                moved = (s.sizes[0] + cut.count) * cut.width * size;
  return looked <= std::max(moved, kFreeLooks);
}

Tensor added_rows(const char* op, const RowSums& s) {
  const Device device = s.source.device();
  const Dtype dtype = s.source.dtype();
  const Cut cut(s);
  Tensor out = empty(s.sizes, dtype, device);
  const Tensor wide = is_half(dtype) ? empty(s.sizes, Dtype::f32, device) : Tensor();
  const bool lies = s.index.is_contiguous();
  const Tensor index = lies ? s.index : empty(s.index.sizes(), Dtype::i64, device);
  if (!lies) run_cast(index, s.index);
  const bool aligned =
      reinterpret_cast<uintptr_t>(s.source.data()) % 16 == 0 && cut.width % cut.words == 0;
  const AddedRowsArgs a{.rows = s.sizes[0],
                        .width = cut.width,
                        .count = cut.count,
                        .skipped = s.skipped,
                        .out = static_cast<char*>(out.data()),
                        .source = static_cast<const char*>(s.source.data()),
                        .index = index.data_as<int64_t>(),
                        .period = FastDivide(std::max<int64_t>(index.numel(), 1)),
                        .wide = wide.defined() ? wide.data_as<float>() : nullptr,
                        .each = int32_t(aligned ? cut.words : 1),
                        .strip = int32_t(cut.strip),
                        .op = op,
                        .report = report_of(device)};
  launch_kernel(op, kAddedRows.find(op, device, dtype), device, a,
                {writes(out), reads(s.source), reads(index), writes(wide)});
  return out;
}

}  // namespace flambeau
