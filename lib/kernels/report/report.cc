// The words of page-locked memory that bad indices are reported in, one per device, kept for good.
#include "kernels/report/report.h"

#include <atomic>
#include <map>
#include <mutex>

#include "base/error.h"
#include "device/streams.h"

namespace flambeau {
namespace {

std::mutex g_mutex;

std::map<std::pair<int, int>, Report*>& reports() {
  static auto& all = *new std::map<std::pair<int, int>, Report*>;
  return all;
}

Report* find(Device d, bool make) {
  const std::lock_guard lock(g_mutex);
  Report*& r = reports()[{int(d.type), int(d.index)}];
  if (!r && make) {
    r = static_cast<Report*>(allocate_pinned(sizeof(Report)).data);
    *r = Report{};
  }
  return r;
}

}  // namespace

void throw_index(const char* op, int64_t index, int32_t dim, int64_t size) {
  throw Error(
      Code::index,
      size ? cat_text(op, ": index ", index, " is out of bounds for dimension ", dim, " with size ",
                      size)
           : cat_text(op, ": index ", index, " is out of bounds for dimension with size 0"),
      size ? cat_text("allowed are 0 to ", size - 1) : cat_text("dimension ", dim, " is empty"),
      "check the indices, or the size of what they index");
}

void check_reports(Device d) {
  if (!d.is_accelerator()) return;
  Report* r = find(d, false);
  if (!r) return;
  const std::atomic_ref state(r->state);
  int32_t expected = Report::published;  // and of threads that read at once, one gets it
  if (!state.compare_exchange_strong(expected, Report::claimed, std::memory_order_acquire)) return;
  const Report seen = *r;
  state.store(Report::none, std::memory_order_release);
  throw_index(seen.op, seen.index, seen.dim, seen.size);
}

[[maybe_unused]] static const bool registered = (after_wait = check_reports, true);

Report* report_of(Device d) {
  if (!d.is_accelerator()) return nullptr;
  check_reports(d);
  return find(d, true);
}

}  // namespace flambeau
