// Blocks and streams that are not their own: record_stream, copies of pinned memory, and the freed
// blocks that wait for events.
#include <algorithm>
#include <array>
#include <utility>

#include "device/allocator.h"
#include "device/call.h"
#include "device/streams.h"

namespace flambeau {

using hal::Table;

namespace {

// Streams that were found busy. Blocks wait in the order in which they were freed, so that nobody
// behind such a block need ask its stream again: each allocation asks each stream once.
struct BusyStreams {
  std::array<Stream, 16> streams;  // where there are more, some are asked again
  size_t count = 0;

  bool has(Stream s) const {
    return std::find(streams.begin(), streams.begin() + count, s) != streams.begin() + count;
  }
  void add(Stream s) {
    if (count < streams.size()) streams[count++] = s;
  }
};

// A failed device counts as done: it touches nothing any more.
bool uses_are_done(const Block* b, bool wait, BusyStreams& busy) noexcept {
  for (StreamUse* use = b->uses; use; use = use->next) {
    const Device d = use->stream.device;
    if (wait) {
      hal::try_call<&Table::event_synchronize>(d, use->event);
      continue;
    }
    if (busy.has(use->stream)) return false;
    if (hal::try_call<&Table::event_query>(d, use->event) != hal::Status::not_ready) continue;
    busy.add(use->stream);
    return false;
  }
  return true;
}

}  // namespace

void* CachingAllocator::new_event(Device d) {
  for (size_t i = events_.size(); i-- > 0;) {
    if (events_[i].first != d) continue;
    void* event = events_[i].second;
    events_.erase(events_.begin() + ptrdiff_t(i));
    return event;
  }
  void* event = nullptr;
  hal::call<&Table::event_create>(d, "event create", false, &event);
  return event;
}

// The use of `b` by `s`, made if it is new: all that can fail happens here, so that freeing cannot.
StreamUse* CachingAllocator::use_by(Block* b, Stream s) {
  for (StreamUse* use = b->uses; use; use = use->next)
    if (use->stream == s) return use;
  auto use = std::make_unique<StreamUse>();
  events_.reserve(events_.size() + 16);  // room to recycle
  use->stream = s;
  use->event = new_event(s.device);
  use->next = b->uses;
  return b->uses = use.release();
}

void CachingAllocator::record_stream(Block* b, Stream s) {
  if (kind_ == MemoryKind::device && s.device == device_ && s.id == b->segment->stream) return;
  if (s.device.is_cpu()) return;
  std::lock_guard lock(mutex_);
  use_by(b, s)->recorded = false;
}

void CachingAllocator::note_copy(Block* b, Stream s) {
  std::lock_guard lock(mutex_);
  if (capturing()) {  // a graph's copy runs whenever it is replayed: no event stands for it
    bool captured = false;
    hal::call<&Table::capture_active>(s.device, "graph capture", native_stream(s), &captured);
    if (captured) return;
  }
  StreamUse* use = use_by(b, s);
  hal::call<&Table::event_record>(s.device, "event record", use->event, native_stream(s));
  use->recorded = true;
}

void CachingAllocator::wait_for_copies(Block* b) {
  std::vector<std::pair<Device, void*>> waits;
  {
    std::lock_guard lock(mutex_);
    for (StreamUse* use = b->uses; use; use = use->next)
      if (use->recorded) waits.emplace_back(use->stream.device, use->event);
  }
  // Without the lock: other threads allocate meanwhile. Events are recycled, never destroyed.
  for (auto [device, event] : waits)
    hal::call<&Table::event_synchronize>(device, "event synchronize", event);
}

void CachingAllocator::drop_uses(Block* b) noexcept {
  for (StreamUse *use = std::exchange(b->uses, nullptr), *next; use; use = next) {
    next = use->next;
    if (events_.size() < events_.capacity())
      events_.emplace_back(use->stream.device, use->event);
    else
      hal::try_call<&Table::event_destroy>(use->stream.device, use->event);
    delete use;
  }
}

void CachingAllocator::record_uses(Block* b) noexcept {
  fault::Exempt exempt;
  for (StreamUse* use = b->uses; use; use = use->next) {
    if (use->recorded) continue;
    hal::try_call<&Table::event_record>(use->stream.device, use->event, native_stream(use->stream));
    use->recorded = true;
  }
}

// Frees the blocks whose other streams are done; with `wait`, all of them.
void CachingAllocator::process_pending(bool wait) noexcept {
  if (capturing()) return;
  fault::Exempt exempt;
  BusyStreams busy;
  Block** link = &pending_;
  while (Block* b = *link) {
    if (!uses_are_done(b, wait, busy)) {
      link = &b->free_next;
      continue;
    }
    *link = b->free_next;
    b->free_next = nullptr;
    drop_uses(b);
    release_block(b);
  }
  pending_end_ = link;
}

}  // namespace flambeau
