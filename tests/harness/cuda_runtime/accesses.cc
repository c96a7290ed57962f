// What CUDA's calls do not say and the HAL's do: which memory a launch reads and writes, and when
// the allocator hands a block out or takes it back. The provider's table is wrapped to tell the
// simulated devices' checker of both, so that over the stand-in, too, what nothing orders is found
// whatever order it ran in. A finding that no synchronisation told of is told at the end.
#include <cstdlib>
#include <utility>

#include "contract.h"
#include "device/cuda/status.h"
#include "device/sim/machine.h"
#include "driver.h"

namespace cuda_runtime {
thread_local std::span<const flambeau::Access> accesses;
}

namespace {

using namespace flambeau;
using hal::Status;

hal::Table g_given;

Status launch(int device, void* stream, const char* name, KernelFn fn, const void* args,
              size_t bytes, std::span<const Access> touched) {
  struct Told {
    std::span<const Access> before;
    ~Told() { cuda_runtime::accesses = before; }
  } const told{std::exchange(cuda_runtime::accesses, touched)};
  return g_given.launch(device, stream, name, fn, args, bytes, touched);
}

Status note_block(int device, void* stream, hal::BlockNote note, void* data, size_t bytes) {
  if (cuda_runtime::is_empty()) return Status::ok;
  const hal::Table& simulated = hal::sim_table();
  const Status status = simulated.note_block(device, stream, note, data, bytes);
  return status == Status::ok ? status : cuda::failed(status, simulated.error_text(device));
}

const hal::Table& wrapped() {
  static const hal::Table table = [] {
    hal::Table t = g_given;
    t.launch = launch;
    t.note_block = note_block;
    return t;
  }();
  return table;
}

struct Watch {
  Watch() {
    if (!hal::cuda_table) std::abort();  // the provider has to be linked before this file
    g_given = hal::cuda_table();
    hal::cuda_table = wrapped;
  }
  ~Watch() {
    if (!cuda_runtime::is_initialised()) return;  // a child's lock may be held by a thread it lacks
    sim::Machine& m = sim::Machine::instance();
    const auto lock = m.lock();
    if (const std::string races = m.take_races(); !races.empty())
      standin_breach(cat_text("at the end: ", races).c_str());
  }
} g_watch;

}  // namespace
