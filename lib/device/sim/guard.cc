// The fault handler. It is installed with the arena and ends kernels; all other faults go to
// whoever was there before, those on device memory after they were named. Leaving a kernel by
// siglongjmp skips its destructors: the price of going on after what would have ended the process.
#include "device/sim/guard.h"

#include <setjmp.h>
#include <signal.h>

#include <exception>

#include "base/error.h"
#include "base/of_thread.h"
#include "base/thread_local.h"
#include "base/thread_pool.h"
#include "device/sim/arena.h"
#include "device/sim/host_access.h"
#include "device/sim/key.h"

namespace flambeau::sim {
namespace {

constexpr int kMaxOpen = 4096;

struct Guard {
  sigjmp_buf back;
  const void* address = nullptr;
  int open = 0;
  const void* granules[kMaxOpen];
};

FLAM_THREAD_LOCAL Guard* t_guard = nullptr;
FLAM_THREAD_LOCAL OfThread<Guard> t_own;
Arena* g_arena = nullptr;
struct sigaction g_before[2];

bool was_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  return false;
#endif
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = g_before[signal == SIGBUS];
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  // The faulting instruction repeats under the old disposition.
  sigaction(signal, &before, nullptr);
}

void handle(int signal, siginfo_t* info, void* context) {
  Guard* guard = t_guard;
  if (!guard) {
    if (g_arena->contains(info->si_addr))
      report_host_access(*g_arena, info->si_addr, was_write(context));
    return pass_on(signal, info, context);
  }
  if (guard->open < kMaxOpen && g_arena->open_granule(info->si_addr)) {
    guard->granules[guard->open++] = info->si_addr;
    return;
  }
  guard->address = info->si_addr;
  siglongjmp(guard->back, 1);
}

[[gnu::noinline]] void run_catching(const char* name, const std::function<void()>& work,
                                    std::string& problem) {
  try {
    work();
  } catch (const std::exception& e) {
    problem = cat_text("kernel \"", name, "\" failed: ", e.what());
  } catch (...) {
    problem = cat_text("kernel \"", name, "\" failed");
  }
}

// Apart and never inlined: what lives across a sigsetjmp must not sit in registers.
[[gnu::noinline]] bool ends_by_itself(Guard& guard, const char* name,
                                      const std::function<void()>& work, std::string& problem) {
  if (sigsetjmp(guard.back, 1) != 0)
    return false;  // 1: the handler may have run with signals blocked
  t_guard = &guard;
  run_catching(name, work, problem);
  return true;
}

}  // namespace

void watch_faults(Arena& arena) {
  g_arena = &arena;
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &g_before[0]);
  sigaction(SIGBUS, &action, &g_before[1]);
}

std::string run_guarded(const char* name, const std::function<void()>& work) {
  const KeyOpen open(Arena::instance().key());
  Guard& guard = t_own.get();
  const int inline_before = detail::t_inline;
  ++detail::t_inline;  // the pool's threads are not under the guard
  guard.open = 0;
  std::string problem;
  if (!ends_by_itself(guard, name, work, problem))
    problem = cat_text("kernel \"", name, "\" accessed an illegal address (", guard.address, ")");
  t_guard = nullptr;
  detail::t_inline = inline_before;
  for (int i = 0; i < guard.open; ++i) g_arena->close_granule(guard.granules[i]);
  return problem;
}

bool in_guarded_work() { return t_guard != nullptr; }

}  // namespace flambeau::sim
