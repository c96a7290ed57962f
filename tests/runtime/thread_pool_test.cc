// The thread pool: every chunk once, chunks that do not depend on the thread count, exceptions,
// nesting, forks.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"

namespace flambeau {
namespace {

class ThreadPool : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  const int before_ = get_num_threads();
};

using Chunks = std::set<std::pair<int64_t, int64_t>>;

Chunks chunks_of(int64_t n, int64_t grain) {
  std::vector<std::atomic<int64_t>> ends(static_cast<size_t>(n));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) { ends[size_t(begin)] += end; });
  Chunks chunks;
  for (size_t i = 0; i < ends.size(); ++i)
    if (ends[i]) chunks.insert({int64_t(i), ends[i]});
  return chunks;
}

TEST_F(ThreadPool, ChunksDoNotDependOnTheNumberOfThreads) {
  Chunks expected;
  for (int64_t b = 0; b < 1001; b += 10) expected.insert({b, std::min<int64_t>(1001, b + 10)});
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(get_num_threads(), threads);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(chunks_of(1001, 10), expected) << threads;
  }
}

// Each thread begins where it began in the loop before: its caches may hold what is there.
TEST_F(ThreadPool, EveryThreadBeginsInItsOwnPart) {
  set_num_threads(2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::atomic<int> begun{0};
    std::atomic<int64_t> first[2] = {-1, -1};
    parallel_for(100, 1, [&](int64_t i, int64_t) {
      std::atomic<int64_t>& own = first[std::this_thread::get_id() != caller];
      if (own != -1) return;
      own = i;
      ++begun;
      while (begun < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_EQ(first[0], 0);
    EXPECT_EQ(first[1], 50);
  }
}

TEST_F(ThreadPool, WhoIsFreeTakesTheRestOfOthers) {
  set_num_threads(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> done{0};
  std::set<int64_t> of_caller;
  parallel_for(100, 1, [&](int64_t i, int64_t) {
    if (std::this_thread::get_id() == caller) {
      of_caller.insert(i);
    } else {  // the worker is held up in the first chunk that it takes
      while (done < 99) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_GE(of_caller.size(), 99u);
}

TEST_F(ThreadPool, NothingToDo) {
  parallel_for(0, 10, [](int64_t, int64_t) { FAIL(); });
  parallel_for(-5, 10, [](int64_t, int64_t) { FAIL(); });
  EXPECT_EQ(chunks_of(5, 0).size(), 5u);
}

TEST_F(ThreadPool, ExceptionsReachTheCaller) {
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    EXPECT_THROW(
        parallel_for(1000, 1,
                     [](int64_t b, int64_t) { check(b != 500, Code::internal, "chunk 500"); }),
        Error);
    EXPECT_EQ(chunks_of(100, 1).size(), 100u);  // and the pool goes on
  }
}

TEST_F(ThreadPool, NestedLoopsRunOnTheirThread) {
  set_num_threads(4);
  std::atomic<int> elsewhere{0}, inner{0};
  parallel_for(16, 1, [&](int64_t, int64_t) {
    const auto me = std::this_thread::get_id();
    parallel_for(100, 1,
                 [&](int64_t, int64_t) { elsewhere += std::this_thread::get_id() != me, ++inner; });
  });
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(inner, 1600);
}

TEST_F(ThreadPool, SeveralCallersAtOnce) {
  set_num_threads(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        parallel_for(100, 3, [&](int64_t b, int64_t e) { sum += e - b; });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 4 * 200 * 100);
}

TEST_F(ThreadPool, RefusesNonsense) {
  EXPECT_THROW(set_num_threads(0), Error);
  parallel_for(2, 1, [](int64_t, int64_t) { EXPECT_THROW(set_num_threads(2), Error); });
}

#if !defined(__SANITIZE_THREAD__)  // it does not follow threads started after a fork
TEST_F(ThreadPool, WorksInAForkedChild) {
  set_num_threads(3);
  chunks_of(100, 1);
  const pid_t child = fork();
  if (child == 0) _exit(chunks_of(100, 1).size() == 100 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace flambeau
