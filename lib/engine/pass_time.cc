// See pass_time.h.
#include "engine/pass_time.h"

#include <atomic>
#include <mutex>

#include "base/clock.h"
#include "base/thread_local.h"

namespace flambeau::pass_time {
namespace {

std::atomic<bool> g_wanted{false};
std::atomic<int> g_threads{0};  // that compute
std::atomic<int64_t> g_total{0};
int64_t g_since = 0;  // the first of them began
constinit std::mutex g_mutex;
FLAM_THREAD_LOCAL bool t_computes = false;

void begin() noexcept {
  t_computes = true;
  const std::lock_guard lock(g_mutex);
  if (g_threads.load(std::memory_order_relaxed) == 0) g_since = steady_ns();
  g_threads.fetch_add(1, std::memory_order_relaxed);
}

void end() noexcept {
  t_computes = false;
  const std::lock_guard lock(g_mutex);
  if (g_threads.load(std::memory_order_relaxed) == 1)
    g_total.fetch_add(steady_ns() - g_since, std::memory_order_relaxed);
  // Who sees without the lock that nobody computes sees the total of those who have.
  g_threads.fetch_sub(1, std::memory_order_release);
}

}  // namespace

void want() noexcept { g_wanted.store(true, std::memory_order_relaxed); }

int64_t so_far(int64_t now_ns) noexcept {
  if (g_threads.load(std::memory_order_acquire) == 0) return g_total;
  const std::lock_guard lock(g_mutex);
  const bool running = g_threads.load(std::memory_order_relaxed) > 0 && now_ns > g_since;
  return g_total + (running ? now_ns - g_since : 0);
}

Pass::Pass() noexcept : counts_(g_wanted.load(std::memory_order_relaxed) && !t_computes) {
  if (counts_) begin();
}
Pass::~Pass() {
  if (counts_) end();
}

Waiting::Waiting() noexcept : counts_(t_computes) {
  if (counts_) end();
}
Waiting::~Waiting() {
  if (counts_) begin();
}

}  // namespace flambeau::pass_time
