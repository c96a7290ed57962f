// The allocator's state as JSON in the schema of torch.cuda.memory._snapshot(): PyTorch's memory
// viewer reads it after a conversion to pickle. Labels take the place of stack frames, since
// holders are ops and modules here.
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "device/allocator.h"
#include "device/front.h"
#include "device/oom.h"

namespace flambeau {

namespace {

std::string frames(const Label& label) {
  if (!label.op && !label.module) return "[]";
  return cat_text("[{\"name\":", json::quoted(label.op ? label.op : ""),
                  ",\"filename\":", json::quoted(label.module ? label.module : ""),
                  ",\"line\":0}]");
}

const char* state_name(BlockState s) {
  switch (s) {
    case BlockState::in_use:
      return "active_allocated";
    case BlockState::pending:
      return "active_pending_free";
    default:
      return "inactive";
  }
}

const char* action_name(TraceAction a) {
  constexpr const char* names[] = {
      "alloc",        "free_requested", "free_completed", "segment_alloc",
      "segment_free", "segment_map",    "segment_unmap",  "oom"};
  return names[int(a)];
}

struct Sums {
  size_t total = 0, allocated = 0, active = 0, requested = 0;
};

bool has_memory(const Block* b) { return b && b->get_state() != BlockState::unmapped; }

// From `b` to where the memory ends.
std::string blocks_json(const Block* b, Sums& sums) {
  std::string out;
  for (; has_memory(b); b = b->after) {
    const BlockState state = b->get_state();
    const size_t requested =
        state == BlockState::in_use || state == BlockState::pending ? b->requested.load() : 0;
    sums.total += b->size;
    if (state == BlockState::in_use) sums.allocated += b->size;
    if (state == BlockState::in_use || state == BlockState::pending) sums.active += b->size;
    sums.requested += requested;
    out += cat_text(out.empty() ? "" : ",", "{\"address\":", reinterpret_cast<uintptr_t>(b->data),
                    ",\"size\":", b->size, ",\"requested_size\":", requested, ",\"state\":\"",
                    state_name(state), "\",\"frames\":", frames(b->label()), "}");
  }
  return out;
}

// An expandable one is as many segments as parts of it have memory.
std::string segment_json(const Segment& s, const Block* first, Device d) {
  Sums sums;
  const std::string blocks = blocks_json(first, sums);
  return cat_text(
      "{\"device\":", d.index, ",\"device_type\":", json::quoted(to_string(Device{d.type, -1})),
      ",\"address\":", reinterpret_cast<uintptr_t>(first->data), ",\"total_size\":", sums.total,
      ",\"allocated_size\":", sums.allocated, ",\"active_size\":", sums.active,
      ",\"requested_size\":", sums.requested, ",\"stream\":", s.stream, ",\"segment_type\":\"",
      s.pool == kSmallPool ? "small" : "large",
      "\",\"segment_pool_id\":[0,0],\"is_expandable\":", s.expandable ? "true" : "false",
      ",\"frames\":", frames(s.label), ",\"blocks\":[", blocks, "]}");
}

std::string entry_json(const TraceEntry& e) {
  const char* address = e.action == TraceAction::oom ? "device_free" : "addr";
  return cat_text("{\"action\":\"", action_name(e.action), "\",\"", address,
                  "\":", reinterpret_cast<uintptr_t>(e.address), ",\"size\":", e.size,
                  ",\"stream\":", e.stream, ",\"time_us\":", e.time_us,
                  ",\"frames\":", frames(e.label), "}");
}

}  // namespace

std::string memory_snapshot_json() {
  front_flush();
  std::string segments, traces;
  for (CachingAllocator* a : all_allocators()) {
    a->each_segment([&](const Segment& s) {
      for (const Block* b = s.first; b; b = b->after)
        if (has_memory(b) && !has_memory(b->before))
          segments += (segments.empty() ? "" : ",") + segment_json(s, b, a->device());
    });
    std::string trace;
    a->each_trace(
        [&](const TraceEntry& e) { trace += (trace.empty() ? "" : ",") + entry_json(e); });
    traces += cat_text(traces.empty() ? "" : ",", "[", trace, "]");
  }
  return cat_text("{\"segments\":[", segments, "],\"device_traces\":[", traces,
                  "],\"allocator_settings\":", settings_json(allocator_settings()), "}");
}

void record_memory_history(size_t max_entries) {
  front_flush();
  g_history_entries = max_entries;
  g_fronts_off = max_entries > 0;
  for (CachingAllocator* a : all_allocators()) a->set_history(max_entries);
}

}  // namespace flambeau
