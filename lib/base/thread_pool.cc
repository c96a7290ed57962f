// The pool: idle workers spin for a moment, then sleep on a futex (std::atomic::wait). A loop is
// published as one job; each worker joins it, claims chunks with one fetch_add, first of its own
// share, whose places its caches may still hold, then of others', and leaves. The caller returns
// when all chunks are done and every worker that joined has left, so the job may live on its stack.
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/setting.h"
#include "base/thread_state.h"

namespace flambeau {
namespace {

const Carried<int> carried_inline([]() -> int& { return detail::t_inline; });

// The chunks that a thread begins with. Whoever has none left goes on with another's.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

struct Job {
  int64_t n, grain;
  detail::ChunkFn fn;
  void* f;
  size_t shares = 0;
  std::atomic<bool> failed{false};
  std::exception_ptr error = nullptr;

  void work(std::vector<Share>& all, size_t own) noexcept {
    InlineLoops nested;
    for (size_t k = 0; k < shares; ++k) {
      Share& share = all[(own + k) % shares];
      for (int64_t i; (i = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        chunk(i);
    }
  }

  void chunk(int64_t i) noexcept {
    if (failed.load(std::memory_order_relaxed)) return;
    try {
      fn(f, i * grain, std::min(n, (i + 1) * grain));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

int default_threads() {
  if (const int n = setting_threads()) return n;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, int(std::thread::hardware_concurrency()));
}

class Pool {
 public:
  int threads() const { return threads_.load(std::memory_order_relaxed); }

  void resize(int n) {
    std::lock_guard lock(use_);
    stop_workers();
    threads_ = n;
  }

  // False where another thread is using the pool: the caller then does the work itself.
  bool run(Job& job) {
    std::unique_lock lock(use_, std::try_to_lock);
    if (!lock) return false;
    if (workers_.empty()) start_workers();
    share_out(job);
    gate_.store(reinterpret_cast<uintptr_t>(&job), std::memory_order_seq_cst);
    generation_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) > 0) generation_.notify_all();
    job.work(shares_, 0);
    gate_.store(0, std::memory_order_seq_cst);  // no one joins any more
    for (int spins = 0; inside_.load(std::memory_order_acquire) != 0;)
      if (++spins < kSpins)
        relax();
      else
        std::this_thread::yield();
    return true;
  }

  // In a forked child there are no workers; it starts its own when it needs them.
  void forget_workers() {
    new (&workers_) std::vector<std::thread>;  // the parent's threads are not ours to join
    new (&shares_) std::vector<Share>;
    new (&use_) std::mutex;
    gate_ = 0;
    inside_ = 0;
    sleeping_ = 0;
    stop_ = false;
  }

 private:
  static constexpr int kSpins = 2000;  // some microseconds

  void start_workers() {
    static std::once_flag fork_handler;
    std::call_once(fork_handler,
                   [] { pthread_atfork(nullptr, nullptr, [] { instance().forget_workers(); }); });
    const uint32_t seen = generation_;
    try {
      for (int i = 1; i < threads_; ++i) workers_.emplace_back([this, seen, i] { serve(seen, i); });
    } catch (
        const std::system_error&) {  // the caller can do all the work: fewer workers are no failure
    }
  }

  // No more shares than chunks: a loop of few touches no lines of many threads.
  void share_out(Job& job) {
    const int64_t chunks = (job.n + job.grain - 1) / job.grain;
    if (shares_.size() != size_t(threads_)) shares_ = std::vector<Share>(size_t(threads_));
    job.shares = size_t(std::min<int64_t>(chunks, threads_));
    for (size_t i = 0; i < job.shares; ++i) {
      shares_[i].next.store(chunks * int64_t(i) / int64_t(job.shares), std::memory_order_relaxed);
      shares_[i].end = chunks * int64_t(i + 1) / int64_t(job.shares);
    }
  }

  void stop_workers() {
    stop_ = true;
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& t : workers_) t.join();
    workers_.clear();
    stop_ = false;
  }

  void serve(uint32_t seen, size_t own) {
    while (!stop_.load(std::memory_order_acquire)) {
      inside_.fetch_add(1, std::memory_order_seq_cst);
      if (auto* job = reinterpret_cast<Job*>(gate_.load(std::memory_order_seq_cst)))
        job->work(shares_, own);
      inside_.fetch_sub(1, std::memory_order_seq_cst);
      for (int spins = 0; spins < kSpins && generation_.load(std::memory_order_acquire) == seen;
           ++spins)
        relax();
      if (generation_.load(std::memory_order_acquire) == seen) {
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        generation_.wait(seen, std::memory_order_seq_cst);
        sleeping_.fetch_sub(1, std::memory_order_seq_cst);
      }
      seen = generation_.load(std::memory_order_acquire);
    }
  }

  std::mutex use_;
  std::vector<std::thread> workers_;
  std::vector<Share> shares_;
  std::atomic<int> threads_{default_threads()};
  std::atomic<uintptr_t> gate_{0};
  std::atomic<uint32_t> generation_{0};
  std::atomic<int> inside_{0}, sleeping_{0};
  std::atomic<bool> stop_{false};

 public:
  static Pool& instance() {
    static Pool& pool = *new Pool;  // workers may outlive static destruction
    return pool;
  }
};

}  // namespace

int get_num_threads() { return Pool::instance().threads(); }

void set_num_threads(int n) {
  check(n >= 1, Code::invalid_argument, "the number of threads must be at least 1, not ", n);
  check(detail::t_inline == 0, Code::invalid_argument,
        "the number of threads cannot change inside a parallel loop");
  Pool::instance().resize(n);
}

namespace detail {

static void run_inline(int64_t n, int64_t grain, ChunkFn fn, void* f) {
  for (int64_t begin = 0; begin < n; begin += grain) fn(f, begin, std::min(n, begin + grain));
}

void run_chunks(int64_t n, int64_t grain, ChunkFn fn, void* f) {
  Pool& pool = Pool::instance();
  if (t_inline > 0 || pool.threads() == 1) return run_inline(n, grain, fn, f);
  Job job{n, grain, fn, f};
  if (!pool.run(job)) {  // other threads' loop has the pool
    InlineLoops nested;
    return run_inline(n, grain, fn, f);
  }
  if (job.failed) std::rethrow_exception(job.error);
}

}  // namespace detail
}  // namespace flambeau
