// See workspace.h. While events are traced or faults are injected, every call allocates: the trace
// says what each used, and each can fail.
#include "device/workspace.h"

#include "device/allocator.h"
#include "device/fault.h"
#include "device/memory_pool.h"
#include "device/probe.h"

namespace flambeau {

Workspace::Workspace(Stream s, size_t bytes, const char* label)
    : keeps_(bytes > 0 && pool_in_use(s.device) == 0 && !probe::on() &&
             !fault::g_armed.load(std::memory_order_relaxed) &&
             g_history_entries.load(std::memory_order_relaxed) == 0) {
  const OpLabel labelled(label);
  Block* const kept = keeps_ ? allocator_of(s.device).take_kept(s.id) : nullptr;
  if (kept && kept->size >= bytes) {
    kept->hand_out(kept->requested.load(std::memory_order_relaxed));
    memory_ = {kept->data, kept};
    return;
  }
  deallocate(kept);
  memory_ = allocate(s.device, bytes);
}

Workspace::~Workspace() {
  if (keeps_ && memory_.block->segment->owner->keep(memory_.block)) return;
  deallocate(memory_.block);
}

}  // namespace flambeau
