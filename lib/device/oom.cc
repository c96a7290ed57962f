// The text of an out-of-memory error. Advice is computed from the state: each line is given only
// where it holds.
#include "device/oom.h"

#include <algorithm>

#include "device/bytes.h"

namespace flambeau {
namespace {

std::string problem(const OutOfMemory& r) {
  const std::string where = r.pinned ? "pinned host memory" : to_string(r.device),
                    asked = format_bytes(int64_t(r.asked));
  // Programs look for PyTorch's words, to try again with less.
  std::string text = !r.pinned && r.device.type == DeviceType::cuda
                         ? cat_text("CUDA out of memory. Tried to allocate ", asked, " on ", where)
                         : cat_text("out of memory on ", where, ": tried to allocate ", asked);
  if (r.capacity)
    text += cat_text("; ", format_bytes(int64_t(r.device_free)), " of ",
                     format_bytes(int64_t(r.capacity)), " are free");
  return text;
}

std::string facts(const OutOfMemory& r) {
  const int64_t cached = r.reserved - r.allocated - r.pending;
  std::string text = cat_text("allocated by tensors: ", format_bytes(r.allocated),
                              "; reserved from the device: ", format_bytes(r.reserved),
                              "; cached and unused: ", format_bytes(cached));
  if (r.pending) text += cat_text("; freed, awaiting another stream: ", format_bytes(r.pending));
  text += cat_text("\nlargest free block: ", format_bytes(int64_t(r.largest_free_block)));
  if (cached > 0)
    text += cat_text("; fragmentation: ",
                     int(100.0 * (1.0 - double(r.largest_free_block) / double(cached)) + 0.5),
                     "% of the cache is not in it");
  if (r.limit != SIZE_MAX)
    text +=
        cat_text("\nlimit by set_per_process_memory_fraction: ", format_bytes(int64_t(r.limit)));
  for (const Holder& h : r.holders)
    text += cat_text("\nheld by ", h.label, ": ", format_bytes(h.bytes), " in ", h.blocks,
                     h.blocks == 1 ? " block" : " blocks");
  return text;
}

std::string batch_advice(const OutOfMemory& r, int64_t rows) {
  const bool step = r.phase != Step::idle;
  if (rows == 0) return step ? "not even a batch of 1 would fit" : "not even one row would fit";
  if (step)
    return cat_text("batch ", rows, " would fit",
                    r.phase == Step::forward ? ", backward included" : "", "; this step's is ",
                    r.batch);
  return cat_text("a batch of ", rows, " rows would fit; this call has ", r.rows);
}

std::string advice(const OutOfMemory& r) {
  std::string text;
  const auto line = [&](const std::string& s) { text += (text.empty() ? "" : "\n") + s; };
  const int64_t cached = r.reserved - r.allocated - r.pending;
  if (r.capacity && r.rounded > r.capacity) line("the request is larger than the whole device");
  if (r.limit != SIZE_MAX && int64_t(r.rounded) <= int64_t(r.device_free))
    line("the device has room: raise the fraction given to set_per_process_memory_fraction");
  if (cached >= int64_t(r.rounded) && int64_t(r.largest_free_block) < int64_t(r.rounded))
    line(
        "enough is cached but in pieces: free the large tensors before allocating, or keep sizes "
        "the same from "
        "step to step");
  if (int64_t(r.free_in_other_streams) >= int64_t(r.rounded))
    line(
        "enough is cached for other streams: use one stream for tensors of this size, or call "
        "empty_cache");
  if (!r.holders.empty() && r.allocated >= r.reserved / 2)
    line(
        "tensors hold the memory: use a smaller batch, no_grad for evaluation, or drop references "
        "to old results");
  if (const int64_t rows = fitting_rows(r); rows >= 0) line(batch_advice(r, rows));
  return text;
}

}  // namespace

// Everything but the step's own blocks is taken to stay as it is. Of the memory that the allocator
// may own one part in sixteen is left for rounding and fragmentation.
int64_t fitting_rows(const OutOfMemory& r) {
  if (r.capacity == 0) return -1;
  const double own =
      double(std::min(uint64_t(r.limit), uint64_t(r.reserved) + uint64_t(r.device_free)));
  const double room = own - own / 16 - double(r.allocated + r.pending), request = double(r.rounded);
  if (r.phase == Step::idle) {  // an op by itself, as under no_grad
    if (r.rows < 2) return -1;
    const int64_t rows = int64_t(std::max(0.0, room) / request * double(r.rows));
    return rows < r.rows ? rows : -1;
  }
  if (r.batch < 2) return -1;
  const bool grows = r.phase == Step::forward && r.rows == r.batch;
  const size_t largest = std::max(r.step_largest, grows ? r.rounded : 0);
  const double for_backward = r.phase == Step::forward ? 2 * double(largest) : 0;
  const double growing = double(r.step_bytes) + (grows ? request : 0) + for_backward;
  const double fits = room + double(r.step_bytes) - (grows ? 0 : request);
  if (growing == 0 || fits < 0) return -1;
  const int64_t rows = int64_t(fits / growing * double(r.batch));
  return rows < r.batch ? rows : -1;
}

void throw_out_of_memory(const OutOfMemory& r) {
  const bool host = r.pinned || r.device.is_cpu();
  throw Error(host ? Code::out_of_host_memory : Code::out_of_device_memory, problem(r), facts(r),
              advice(r));
}

std::string describe(const Label& label) {
  if (!label.op && !label.module) return "unlabelled";
  if (!label.module) return label.op;
  if (!label.op) return label.module;
  return cat_text(label.op, " in ", label.module);
}

}  // namespace flambeau
