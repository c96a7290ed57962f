// See added_rows.h. How the result is cut into strips follows from shapes and dtype; an address
// that is not aligned says only that a thread has one column, so that more blocks look at the
// indices. It changes neither the choice nor a sum.
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
// Bytes that a block may read beyond its share of them where blocks fill the device. It has 32 KiB
// under way, so these are sixteen waits for the memory, for two launches and more that are saved:
// counted, and by no GPU yet.
constexpr int64_t kMostAlone = int64_t{1} << 19;
constexpr int64_t kFilling = kBlocks / 2;  // more than one for each multiprocessor
constexpr int64_t kFew = 64;               // rows of halves copied to f32 in the time of one index

int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

struct Cut {
  int64_t width, count, words, strip, blocks;

  explicit Cut(const RowSums& s) {
    const int64_t rows = s.sizes[0];
    width = numel_of(s.sizes) / rows;
    count = s.source.numel() / width;
    words = 16 / int64_t(s.source.element_size());
    const int64_t tiles = up(width, width % words ? 32 : 32 * words);
    strip = std::clamp<int64_t>(up(rows * tiles, kBlocks), 1, kAddedStripRows);
    blocks = up(rows, strip) * tiles;
  }
};

bool has_cell(Device device, Dtype dtype) {
  const KernelColumn column = kernel_column(device);
  return column != KernelColumn::host && is_floating(dtype) &&
         kAddedRows.cells[int(column)][int(dtype)];
}

// What a second list goes on with, where one may come. A lookup's own sums in f32 and f64 are
// rounded then, which saves a table's memory; sums over a broadcast are as exact as sum_to's.
Tensor aside_of(const RowSums& s, const Cut& cut) {
  const Dtype dtype = s.source.dtype();
  const bool broadcast = cut.count > s.index.numel();
  if (cut.count <= kAddedListed || !(is_half(dtype) || broadcast)) return Tensor();
  return empty(s.sizes, is_half(dtype) ? Dtype::f32 : dtype, s.source.device());
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
  const int64_t read = cut.count * cut.width * size;
  if (read / cut.blocks - read / kFilling > kMostAlone) return false;
  // A copy in f32 of a table of which few rows are named.
  if (is_half(source.dtype()) && cut.count > kAddedListed && cut.count < s.sizes[0] / kFew)
    return false;
  return looked <= std::max(moved, kFreeLooks);
}

Tensor added_rows(const char* op, const RowSums& s) {
  const Device device = s.source.device();
  const Dtype dtype = s.source.dtype();
  const Cut cut(s);
  Tensor out = empty(s.sizes, dtype, device);
  const Tensor aside = aside_of(s, cut);
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
                        .aside = aside.defined() ? static_cast<char*>(aside.data()) : nullptr,
                        .each = int32_t(aligned ? cut.words : 1),
                        .strip = int32_t(cut.strip),
                        .op = op,
                        .report = report_of(device)};
  launch_kernel(op, kAddedRows.find(op, device, dtype), device, a,
                {writes(out), reads(s.source), reads(index), writes(aside)});
  return out;
}

}  // namespace flambeau
