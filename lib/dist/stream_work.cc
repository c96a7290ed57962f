// See stream_work.h.
#include "dist/stream_work.h"

#include <atomic>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "device/streams.h"

namespace flambeau::dist {
namespace {

struct Failed {
  const void* group;
  Device device;
  std::exception_ptr error;
};

std::atomic<int> g_failures{0};
std::mutex g_mutex;
std::vector<Failed>& failures() {
  static auto& all = *new std::vector<Failed>;
  return all;
}

void throw_failure(Device device) {
  if (g_failures.load(std::memory_order_relaxed) == 0) return;
  std::exception_ptr error;
  {
    const std::lock_guard lock(g_mutex);
    const auto found = std::ranges::find(failures(), device, &Failed::device);
    if (found == failures().end()) return;
    error = found->error;
    failures().erase(found);
    --g_failures;
  }
  std::rethrow_exception(error);
}
// The program hears of it otherwise.
void forget_failure(const std::exception_ptr& error) {
  const std::lock_guard lock(g_mutex);
  std::erase_if(failures(), [&](const Failed& f) { return f.error == error; });
  g_failures = int(failures().size());
}

[[maybe_unused]] const bool registered = (after_wait_of_collectives = throw_failure, true);

}  // namespace

void note_failure(const void* group, Device device, std::exception_ptr error) {
  const std::lock_guard lock(g_mutex);
  for (const Failed& f : failures())
    if (f.group == group && f.device == device) return;
  failures().push_back({group, device, std::move(error)});
  ++g_failures;
}

void forget_failures(const void* group) {
  if (g_failures.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(g_mutex);
  std::erase_if(failures(), [&](const Failed& f) { return f.group == group; });
  g_failures = int(failures().size());
}

StreamWork::StreamWork(What w, uint64_t n, Device d, Millis limit, const char* at)
    : what(std::move(w)), sequence(n), device(d), place(at), timeout(limit) {}

void StreamWork::enqueued(Event end) {
  const std::lock_guard lock(mutex_);
  ready_ = std::move(end);
  source_ = what.kind == Kind::recv ? what.peer : -1;
}

bool StreamWork::done() {
  const std::lock_guard lock(mutex_);
  if (over_ || !ready_) return over_;
  try {
    over_ = ready_->query();
  } catch (...) {  // the device is lost
    error_ = std::current_exception();
    over_ = true;
  }
  return over_;
}

void StreamWork::rethrow() {
  const std::lock_guard lock(mutex_);
  if (!error_) return;
  forget_failure(error_);
  std::rethrow_exception(error_);
}

void StreamWork::wait(std::optional<Millis> limit) {
  const auto until = Clock::now() + limit.value_or(Millis(0));
  rethrow();
  {
    const std::lock_guard lock(mutex_);
    if (!ready_)
      flambeau::fail(Code::invalid_argument, "Work.wait: ", what.text(),
                     " begins at the end of the block that collects transfers");
    ready_->wait(current_stream(device));
  }
  if (!limit && !host_waits) return;
  auto asked = Clock::now();
  for (int turn = 0; !done(); ++turn) {
    if (Clock::now() - asked > kInterruptEvery) {
      check_interrupt();
      asked = Clock::now();
    }
    if (limit && Clock::now() > until)
      flambeau::fail(Code::collective_timeout, "Work.wait: ", what.text(), " has not ended after ",
                     limit->count() / 1000.0, " s; it goes on");
    std::this_thread::sleep_for(std::chrono::microseconds(turn < 100 ? 20 : 500));
  }
  rethrow();
}

}  // namespace flambeau::dist
