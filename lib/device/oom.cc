// The text of an out-of-memory error. Advice is computed from the state: each line is given only
// where it holds.
#include "device/oom.h"

#include <atomic>

#include "device/bytes.h"

namespace flambeau {
namespace {

std::atomic<OutOfMemoryAdvisor> g_advisor{nullptr};

std::string problem(const OutOfMemory& r) {
  const std::string where = r.pinned ? "pinned host memory" : to_string(r.device);
  std::string text =
      cat_text("out of memory on ", where, ": tried to allocate ", format_bytes(int64_t(r.asked)));
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
  if (const OutOfMemoryAdvisor advisor = g_advisor)
    if (const std::string more = advisor(r); !more.empty()) line(more);
  return text;
}

}  // namespace

void set_out_of_memory_advisor(OutOfMemoryAdvisor advisor) { g_advisor = advisor; }

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
