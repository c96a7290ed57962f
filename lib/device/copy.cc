// Copies and fills between any two devices. The order: work already on both current streams comes
// first. The host side: pinned memory with non_blocking is read or written when the copy runs, and
// the block remembers the copy; everything else is safe to touch when the call returns.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/thread_pool.h"
#include "device/allocator.h"
#include "device/call.h"
#include "device/graph.h"
#include "device/probe_launch.h"
#include "device/streams.h"

namespace flambeau {
namespace {

using hal::Copy;
using hal::Direction;
using hal::Table;

Block* pinned_block(const void* host) {
  CachingAllocator* pinned = pinned_allocator_if_any();
  return pinned ? pinned->find(host) : nullptr;
}

void issue(Stream s, const Copy& c) {
  const probe::Launch mark(s.device, nullptr);
  hal::call<&Table::copy>(s.device, "copy", native_stream(s), c);
}

bool is_pageable(Device d, const void* host) {
  bool pageable = true;
  hal::call<&Table::is_pageable>(d, "host memory", host, &pageable);
  return pageable;
}

// A copy that is under way when what should order it fails: its memory may be freed next, so it is
// waited for.
template <class F>
void order_or_wait(Stream s, F&& order) {
  try {
    order();
  } catch (...) {
    fault::Exempt exempt;
    hal::try_call<&Table::stream_synchronize>(s.device, native_stream(s));
    throw;
  }
}

// As many pieces as threads, so that each stays long: long ones are moved past the caches.
template <class F> void in_pieces(size_t bytes, const F& work) {
  constexpr int64_t kLeast = 1 << 19, kLine = 64;
  const int64_t n = int64_t(bytes), threads = get_num_threads();
  const int64_t piece = std::max(kLeast, (n / threads + kLine) / kLine * kLine);
  parallel_for(n, piece, [&](int64_t begin, int64_t end) { work(begin, size_t(end - begin)); });
}

void copy_on_host(void* dst, const void* src, size_t bytes) {
  for (const void* side : {static_cast<const void*>(dst), src})
    if (Block* b = pinned_block(side)) wait_for_host_access(b);
  auto* to = static_cast<char*>(dst);
  auto* from = static_cast<const char*>(src);
  if (to < from + bytes && from < to + bytes) return void(std::memmove(dst, src, bytes));
  in_pieces(bytes, [&](int64_t at, size_t n) { std::memcpy(to + at, from + at, n); });
}

void copy_with_host(Device d, const void* host, Copy c, bool non_blocking) {
  const Stream s = current_stream(d);
  Block* pinned = pinned_block(host);
  c.pageable = !pinned && is_pageable(d, host);
  check(!c.pageable || !allocator_of(s.device).capturing() || !is_capturing(s), Code::graph_capture,
        "a graph cannot hold a copy from or to ordinary host memory, which is gone when it is "
        "replayed: copy before the capture, or from pinned memory that stays");
  issue(s, c);
  order_or_wait(s, [&] {
    if (pinned && non_blocking) return pinned->segment->owner->note_copy(pinned, s);
    // A pageable upload was staged by the provider; nothing else may be reused before it is done,
    // unless the caller keeps watch of memory that it has page-locked itself.
    if (c.pageable ? c.direction == Direction::to_host : pinned || !non_blocking) synchronize(s);
  });
}

void copy_to_peer(Device to, Device from, Copy c) {
  const Stream src = current_stream(from), dst = current_stream(to);
  wait_stream(src, dst);
  c.direction = Direction::to_peer;
  c.peer = to.index;
  issue(src, c);
  order_or_wait(src, [&] { wait_stream(dst, src); });
}

}  // namespace

void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                bool non_blocking) {
  if (bytes == 0) return;
  const Device to = resolve(dst_device), from = resolve(src_device);
  Copy c{dst, src, bytes, Direction::on_device};
  if (to.is_cpu() && from.is_cpu()) return copy_on_host(dst, src, bytes);
  if (to.is_meta()) return;
  check(!from.is_meta(), Code::unsupported, "Cannot copy out of meta tensor; no data!");
  if (from.is_cpu()) {
    c.direction = Direction::to_device;
    return copy_with_host(to, src, c, non_blocking);
  }
  if (to.is_cpu()) {
    c.direction = Direction::to_host;
    return copy_with_host(from, dst, c, non_blocking);
  }
  if (to == from) return issue(current_stream(to), c);
  if (to.type == from.type) return copy_to_peer(to, from, c);
  const Memory stage = allocate(kCpu, bytes);  // two kinds of accelerator meet in host memory
  struct Free {
    Block* b;
    ~Free() { deallocate(b); }
  } free{stage.block};
  copy_bytes(stage.data, kCpu, src, from, bytes, false);
  copy_bytes(dst, to, stage.data, kCpu, bytes, false);
}

void fill_bytes(void* dst, Device d, int value, size_t bytes) {
  if (bytes == 0) return;
  if (d.is_cpu()) {
    if (Block* b = pinned_block(dst)) wait_for_host_access(b);
    return in_pieces(
        bytes, [&](int64_t at, size_t n) { std::memset(static_cast<char*>(dst) + at, value, n); });
  }
  const Stream s = current_stream(resolve(d));
  const probe::Launch mark(s.device, nullptr);
  hal::call<&Table::fill>(s.device, "fill", native_stream(s), dst, value, bytes);
}

}  // namespace flambeau
