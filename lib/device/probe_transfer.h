// What a profiler hears of communication between processes: each call once it has ended, with the
// group that called it, what it moved, and when it was asked for, began and ended.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "device/probe.h"

namespace flambeau::probe {

// A group of processes, as one of them sees it.
struct Channel {
  std::string group, backend;  // their names
  std::vector<int32_t> ranks;  // of the members, in the job
  int rank = 0;                // this process, in the group
  int job_size = 1;
};

// Where in the program something was asked for.
struct Asked {
  int64_t time_ns = 0, thread = 0;  // `thread`: the system's number
};

struct Transfer {
  std::shared_ptr<const Channel> channel;
  const char* call = nullptr;     // "all_reduce"
  const char* purpose = nullptr;  // of the engine's own; null: the program's
  const char* place = nullptr;    // in the program; null: not known
  Dtype dtype = Dtype::none;
  int64_t in = 0, out = 0;  // elements that this rank gives and gets
  int32_t peer = -1;        // root, source or destination; -1: none
  uint64_t sequence = 0;    // in the group; 0: of a transfer between two
  Asked asked;
  int64_t begin_ns = 0, end_ns = 0;
  int32_t span = -1;  // open meanwhile on the thread that waited for it; the probe's
};

// Where nobody listens both cost one test.
Asked asked_now() noexcept;
// `inside`: this thread did nothing else from `begin_ns` to `end_ns`.
void note_transfer(Transfer transfer, bool inside) noexcept;

}  // namespace flambeau::probe
