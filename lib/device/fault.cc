// The counters behind fault.h. Arming resets them, so that every test starts from 1.
#include "device/fault.h"

#include "base/thread_state.h"

namespace flambeau::fault {
namespace {

const Carried<int> carried_exempt([]() -> int& { return t_exempt; });

struct Point {
  std::atomic<int64_t> count{0}, target{0};
  std::atomic<bool> forever{false};

  void arm(int64_t n, Mode mode) {
    count = 0;
    target = n;
    forever = mode == Mode::forever;
  }
  bool hit() {
    if (t_exempt > 0) return false;
    const int64_t k = ++count, n = target;
    return n > 0 && (forever ? k >= n : k == n);
  }
};

Point g_allocation, g_hal;
std::atomic<bool> g_hit{false};

bool fails(Point& point) {
  const bool hit = point.hit();
  if (hit) g_hit = true;
  return hit;
}

void arm(Point& point, int64_t n, Mode mode) {
  clear();
  point.arm(n, mode);
  g_armed = true;
}

}  // namespace

void fail_allocation(int64_t n, Mode mode) { arm(g_allocation, n, mode); }
void fail_hal_call(int64_t n, Mode mode) { arm(g_hal, n, mode); }
void count_only() { arm(g_hal, 0, Mode::once); }

void clear() {
  g_armed = false;
  g_allocation.arm(0, Mode::once);
  g_hal.arm(0, Mode::once);
  g_hit = false;
}

int64_t allocations() { return g_allocation.count; }
int64_t hal_calls() { return g_hal.count; }
bool was_hit() { return g_hit; }
bool allocation_fails() { return fails(g_allocation); }
bool hal_call_fails() { return fails(g_hal); }

}  // namespace flambeau::fault
