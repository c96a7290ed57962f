// The caching allocator on the cpu and on simulated devices: reuse, splitting, streams, out of
// memory, counters.
#include "simulated.h"

#include <algorithm>
#include <random>
#include <thread>

#include "device/label.h"
#include "device/oom.h"

namespace flambeau {
namespace {

using sim::Schedule;
using Allocator = Simulated;

constexpr size_t kMiB = size_t(1) << 20;

int64_t allocated(Device d) { return memory_stats(d).allocated_bytes.of[kAllPools].current; }
int64_t reserved(Device d) { return memory_stats(d).reserved_bytes.of[kAllPools].current; }

TEST_F(Allocator, RoundsAndPoolsAsPyTorch) {
  Buffer small(kFirst, 1);
  EXPECT_EQ(allocated(kFirst), 512);
  EXPECT_EQ(reserved(kFirst), int64_t(2 * kMiB));
  Buffer large(kFirst, 2 * kMiB);
  EXPECT_EQ(reserved(kFirst), int64_t(22 * kMiB));  // cut from a 20 MiB segment
  Buffer huge(kFirst, 19 * kMiB);
  EXPECT_EQ(reserved(kFirst), int64_t(42 * kMiB));  // a segment of its own, rounded to 2 MiB
  const MemoryStats m = memory_stats(kFirst);
  EXPECT_EQ(m.requested_bytes.of[kAllPools].current, int64_t(1 + 21 * kMiB));
  EXPECT_EQ(m.allocation.of[kSmallPool].current, 1);
  EXPECT_EQ(m.allocation.of[kLargePool].current, 2);
}

TEST_F(Allocator, FreedBlocksAreReusedAndJoined) {
  Buffer a(kFirst, kMiB / 2), b(kFirst, kMiB / 2), c(kFirst, kMiB / 2), d(kFirst, kMiB / 2);
  const void* first = a.data();
  a.drop(), b.drop();
  Buffer joined(kFirst, kMiB);
  EXPECT_EQ(joined.data(), first);
  EXPECT_EQ(memory_stats(kFirst).num_device_alloc - memory_stats(kFirst).num_device_free, 1);
}

TEST_F(Allocator, StreamsDoNotShareFreeBlocks) {
  Buffer a(kFirst, 4096);
  const void* mine = a.data();
  a.drop();
  const Stream side = create_stream(kFirst);
  {
    StreamScope scope(side);
    Buffer other(kFirst, 4096);
    EXPECT_NE(other.data(), mine);
  }
  Buffer again(kFirst, 4096);
  EXPECT_EQ(again.data(), mine);
}

TEST_F(Allocator, RecordedBlockWaitsForItsStream) {
  sim::set_schedule(Schedule::lazy);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  Buffer x(kFirst, 4096);
  const void* address = x.data();
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  wait_stream(side, main);
  for (int i = 0; i < 5; ++i) add_one(side, x.data(), 1024);
  record_stream(x.memory.block, side);
  x.drop();
  const MemoryStats m = memory_stats(kFirst);
  EXPECT_EQ(m.allocated_bytes.of[kAllPools].current, 0);
  EXPECT_EQ(m.active_bytes.of[kAllPools].current, 4096);
  Buffer y(kFirst, 4096);
  EXPECT_NE(y.data(), address);
  synchronize(side);
  Buffer z(kFirst, 4096);
  EXPECT_EQ(z.data(), address);
}

// However many blocks wait for a stream, an allocation asks it once, and takes all that are done.
TEST_F(Allocator, ManyPendingBlocksCostOneQuestion) {
  sim::set_schedule(Schedule::lazy);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  std::vector<Buffer> held;
  for (int i = 0; i < 50; ++i) held.emplace_back(kFirst, 4096);
  wait_stream(side, main);
  for (Buffer& b : held) {
    add_one(side, b.data(), 1024);
    record_stream(b.memory.block, side);
    b.drop();
  }
  Buffer warm(kFirst, 4096);
  warm.drop();
  fault::count_only();
  Buffer x(kFirst, 4096);
  EXPECT_LE(fault::hal_calls(), 3);
  fault::clear();
  synchronize(side);
  Buffer y(kFirst, 4096);
  EXPECT_EQ(memory_stats(kFirst).active_bytes.of[kAllPools].current, 2 * 4096);
}

TEST_F(Allocator, OutOfMemoryTakesAPendingBlockBeforeFailing) {
  sim::set_schedule(Schedule::lazy);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  Buffer x(kFirst, 40 * kMiB);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  wait_stream(side, main);
  add_one(side, x.data(), 1024);
  record_stream(x.memory.block, side);
  const void* address = x.data();
  x.drop();
  Buffer y(kFirst, 40 * kMiB);
  EXPECT_EQ(y.data(), address);
  EXPECT_EQ(memory_stats(kFirst).num_sync_all_streams, 1);
}

TEST_F(Allocator, OutOfMemoryGivesTheCacheBackFirst) {
  {
    Buffer x(kFirst, 40 * kMiB);
  }
  EXPECT_EQ(reserved(kFirst), int64_t(40 * kMiB));
  const int64_t retries = memory_stats(kFirst).num_alloc_retries;
  Buffer y(kFirst, 50 * kMiB);
  EXPECT_EQ(memory_stats(kFirst).num_alloc_retries, retries + 1);
}

TEST_F(Allocator, OutOfMemoryReportSaysWhoHoldsWhat) {
  const char* module = intern("net.0");
  std::vector<Buffer> held;
  {
    ModuleLabel m(module);
    OpLabel op("linear");
    held.emplace_back(kFirst, 40 * kMiB);
  }
  OpLabel op("relu");
  held.emplace_back(kFirst, 12 * kMiB);
  const std::string text = message_of([] { Buffer more(kFirst, 30 * kMiB); });
  for (const char* part :
       {"out of memory", "ried to allocate 30.00 MiB", to_string(kFirst).c_str(),
        "12.00 MiB of 64.00 MiB are free", "held by linear in net.0: 40.00 MiB in 1 block",
        "held by relu: 12.00 MiB"})
    EXPECT_NE(text.find(part), text.npos) << part << "\nis missing in\n" << text;
  EXPECT_EQ(code_of([] { Buffer more(kFirst, 30 * kMiB); }), Code::out_of_device_memory);
  held.pop_back();
  Buffer now_it_fits(kFirst, 20 * kMiB);
}

// A step that needs 1 MiB per sample beside 20 MiB that do not grow, on a device of 64 MiB.
std::string out_of_memory_at_batch(int64_t batch, int64_t& failed_at) {
  Buffer weights(kFirst, 20 * kMiB);
  note_forward(batch);
  OpLabel op("linear");
  t_label.rows = batch;
  std::vector<Buffer> activations;
  const std::string text = message_of([&] {
    for (failed_at = 0; failed_at < 4; ++failed_at)
      activations.emplace_back(kFirst, size_t(batch) * kMiB / 4);
    const BackwardPhase backward;  // which ends the step
    activations.emplace_back(kFirst, size_t(batch) * kMiB / 4);
    activations.emplace_back(kFirst, size_t(batch) * kMiB / 4);
  });
  t_label.rows = 0;
  return text;
}

TEST_F(Allocator, OutOfMemorySaysWhichBatchWouldFit) {
  int64_t failed_at;
  const std::string text = out_of_memory_at_batch(48, failed_at);
  ASSERT_EQ(failed_at, 3);
  // (64 - 4 - 20) MiB have to hold four activations and two of their gradients.
  EXPECT_NE(text.find("batch 26 would fit, backward included; this step's is 48"), text.npos)
      << text;
  empty_cache(kFirst);  // segments cut to the larger batch would waste what they are larger by
  EXPECT_EQ(out_of_memory_at_batch(26, failed_at), "");
  Buffer most(kFirst, 62 * kMiB);
  note_forward(8);
  const std::string alone = message_of([] { Buffer more(kFirst, 20 * kMiB); });
  EXPECT_EQ(alone.find("would fit"), alone.npos) << alone;  // nothing known grows with the batch
}

TEST_F(Allocator, OutOfMemoryOutsideOfAStepCountsTheCallsRows) {
  Buffer most(kFirst, 30 * kMiB);
  t_label.rows = 100;
  const std::string text = message_of([] { Buffer more(kFirst, 100 * kMiB); });
  t_label.rows = 0;
  EXPECT_NE(text.find("a batch of 30 rows would fit; this call has 100"), text.npos) << text;
}

TEST_F(Allocator, AbsurdRequestFailsCleanly) {
  EXPECT_EQ(code_of([] { allocate(kFirst, SIZE_MAX); }), Code::out_of_device_memory);
  EXPECT_EQ(code_of([] { allocate(kCpu, SIZE_MAX); }), Code::out_of_host_memory);
}

TEST_F(Allocator, FractionLimits) {
  set_per_process_memory_fraction(0.25, kFirst);
  const std::string text = message_of([] { Buffer x(kFirst, 20 * kMiB); });
  EXPECT_NE(text.find("set_per_process_memory_fraction"), text.npos) << text;
  Buffer fits(kFirst, 15 * kMiB);
  EXPECT_EQ(code_of([] { set_per_process_memory_fraction(1.5, kFirst); }), Code::invalid_argument);
}

TEST_F(Allocator, InjectedFaultsFailOnceOrForGood) {
  fault::fail_allocation(2, fault::Mode::once);
  Buffer a(kFirst, 64);
  EXPECT_EQ(code_of([] { Buffer b(kFirst, 64); }), Code::out_of_device_memory);
  Buffer c(kFirst, 64);
  EXPECT_TRUE(fault::was_hit());
  fault::fail_allocation(1, fault::Mode::forever);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(code_of([] { Buffer b(kCpu, 64); }), Code::out_of_host_memory);
  fault::clear();
  Buffer d(kCpu, 64);
}

// Every HAL call of a small program fails once: an error comes back, nothing leaks, and a retry
// succeeds.
TEST_F(Allocator, EveryHalCallMayFail) {
  const auto program = [] {
    Buffer x(kFirst, 4096), y(kSecond, 4096), pinned(4096);
    std::fill_n(pinned.data(), 1024, 1.f);
    copy_bytes(x.data(), kFirst, pinned.data(), kCpu, 4096, true);
    add_one(current_stream(kFirst), x.data(), 1024);
    copy_bytes(y.data(), kSecond, x.data(), kFirst, 4096, true);
    return download(y.data(), 1024, kSecond)[1023];
  };
  for (fault::Mode mode : {fault::Mode::once, fault::Mode::forever}) {
    int64_t failures = 0;
    for (int64_t n = 1;; ++n) {
      for (Device d : {kFirst, kSecond}) empty_cache(d);
      empty_pinned_cache();
      fault::fail_hal_call(n, mode);
      const Code code = code_of([&] { program(); });
      const bool hit = fault::was_hit();
      fault::clear();
      synchronize(kFirst), synchronize(kSecond);
      ASSERT_EQ(allocated(kFirst), 0);
      ASSERT_EQ(allocated(kSecond), 0);
      ASSERT_EQ(pinned_memory_stats().allocated_bytes.of[kAllPools].current, 0);
      ASSERT_EQ(program(), 2);
      if (!hit) break;
      ASSERT_NE(code, Code::ok) << "call " << n << " failed and no one noticed";
      ++failures;
    }
    EXPECT_GT(failures, 10);
  }
}

TEST_F(Allocator, CountersOfTheCpuAreExactAcrossThreads) {
  const MemoryStats before = memory_stats(kCpu);
  reset_peak_memory_stats(kCpu);
  std::vector<Buffer> held;
  for (int i = 0; i < 100; ++i) held.emplace_back(kCpu, 1000);
  EXPECT_EQ(allocated(kCpu) - before.allocated_bytes.of[kAllPools].current, 100 * 1024);
  std::thread([&] { held.clear(); }).join();  // freed by another thread, which then ends
  EXPECT_EQ(allocated(kCpu), before.allocated_bytes.of[kAllPools].current);
  const MemoryStats m = memory_stats(kCpu);
  EXPECT_EQ(m.allocated_bytes.of[kAllPools].peak - before.allocated_bytes.of[kAllPools].current,
            100 * 1024);
  EXPECT_EQ(m.requested_bytes.of[kAllPools].current, before.requested_bytes.of[kAllPools].current);
}

TEST_F(Allocator, FlatStatisticsHaveTorchsKeys) {
  Buffer x(kFirst, 5000);
  const auto flat = memory_stats_flat(kFirst);
  EXPECT_TRUE(std::is_sorted(flat.begin(), flat.end()));
  const auto value = [&](const std::string& key) {
    for (const auto& [k, v] : flat)
      if (k == key) return v;
    ADD_FAILURE() << key;
    return int64_t(-1);
  };
  EXPECT_EQ(value("allocated_bytes.all.current"), 5120);
  EXPECT_EQ(value("requested_bytes.small_pool.current"), 5000);
  EXPECT_EQ(value("reserved_bytes.all.peak") >= int64_t(2 * kMiB), true);
  EXPECT_EQ(value("inactive_split_bytes.small_pool.current"), int64_t(2 * kMiB) - 5120);
  for (const char* key : {"num_alloc_retries", "num_ooms", "num_sync_all_streams",
                          "num_device_alloc", "num_device_free", "oversize_segments.current",
                          "segment.large_pool.freed", "active.all.allocated"})
    EXPECT_GE(value(key), 0) << key;
}

TEST_F(Allocator, SummaryIsAlignedAndSnapshotNamesBlocks) {
  record_memory_history(100);
  reset_peak_memory_stats(kFirst);
  OpLabel op("conv2d");
  Buffer x(kFirst, 5000);
  const std::string table = memory_summary(kFirst, false);
  for (size_t begin = 0, end; (end = table.find('\n', begin)) != table.npos; begin = end + 1)
    EXPECT_EQ(end - begin, 77u) << table.substr(begin, end - begin);
  EXPECT_NE(table.find("| Allocated memory      |   5120 B   |"), table.npos) << table;
  const std::string json = memory_snapshot_json();
  for (const char* part :
       {"\"state\":\"active_allocated\"", "\"requested_size\":5000", "\"name\":\"conv2d\"",
        "\"action\":\"alloc\"", "\"segment_type\":\"small\""})
    EXPECT_NE(json.find(part), json.npos) << part;
  record_memory_history(0);
}

// Random traces: blocks never overlap, the counters follow, and everything goes back.
TEST_F(Allocator, RandomTraces) {
  for (Device d : {kCpu, kFirst}) {
    const int64_t held_before = allocated(d);
    std::mt19937_64 random(7);
    std::vector<Buffer> live;
    double worst = 0;
    for (int i = 0; i < 4000; ++i) {
      if (live.size() < 40 || random() % 2) {
        const size_t bytes = 1 + random() % (size_t(1) << (4 + random() % 16));
        live.emplace_back(d, bytes);
        const char* begin = static_cast<char*>(live.back().memory.data);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(begin) % (d.is_cpu() ? 64 : 512), 0u);
        for (size_t k = 0; k + 1 < live.size(); ++k) {
          const char* other = static_cast<char*>(live[k].memory.data);
          ASSERT_TRUE(begin + bytes <= other || other + live[k].bytes <= begin);
        }
      }
      if (live.size() > 60) {
        std::swap(live[random() % live.size()], live.back());
        live.pop_back();
      }
      int64_t requested = 0;
      if (i % 500 == 499) {
        for (const Buffer& b : live) requested += int64_t(b.bytes);
        EXPECT_GE(allocated(d) - held_before, requested);
      }
      if (i > 1000) worst = std::max(worst, double(reserved(d)) / double(allocated(d)));
    }
    RecordProperty(to_string(d) + "_reserved_over_allocated_percent", int(100 * worst));
    live.clear();
    EXPECT_EQ(allocated(d), held_before);
  }
}

}  // namespace
}  // namespace flambeau
