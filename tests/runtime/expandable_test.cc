// Expandable segments and the other settings of the caching allocator: memory grows in place and
// goes back page by page, whatever was asked for in which order, and a failure in the middle leaves
// all that was given. That the rest of the allocator works on top of them shows the run of these
// suites with FLAMBEAU_ALLOC_CONF (tests.cmake).
#include "simulated.h"

#include <algorithm>
#include <random>

#include "device/allocator_settings.h"
#include "device/graph.h"

namespace flambeau {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

int64_t reserved() { return memory_stats(kFirst).reserved_bytes.of[kAllPools].current; }
int64_t mib(int64_t n) { return n << 20; }
size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

class Settings : public Simulated {
 protected:
  void set(const char* text) { set_allocator_settings(parse_settings(text)); }
  void TearDown() override {
    set_allocator_settings(before_);
    Simulated::TearDown();
  }

 private:
  const AllocatorSettings before_ = allocator_settings();
};

class Expandable : public Settings {
 protected:
  void SetUp() override {
    Settings::SetUp();
    empty_cache(kFirst);
    set("expandable_segments:True");
  }
};

// 30, 50 and 60 MiB in turn on a device of 64: segments of their own would not fit beside each
// other, and each would have to go back first.
TEST_F(Expandable, OneRangeServesSizesThatGrow) {
  const int64_t retries = memory_stats(kFirst).num_alloc_retries;
  const void* first = nullptr;
  for (const size_t n : {30, 50, 60, 1, 45}) {
    Buffer x(kFirst, n * kMiB);
    if (!first) first = x.data();
    EXPECT_TRUE(n == 1 || x.data() == first) << n;
    add_one(current_stream(kFirst), x.data(), n * kMiB / 4);
  }
  synchronize(kFirst);
  EXPECT_EQ(reserved(), mib(60) + mib(2));
  EXPECT_EQ(memory_stats(kFirst).num_alloc_retries, retries);
  EXPECT_EQ(memory_stats(kFirst).segment.of[kAllPools].current, 0);  // as PyTorch counts
}

TEST_F(Expandable, PagesInTheMiddleGoBackAndComeAgain) {
  record_memory_history(100);
  Buffer a(kFirst, 20 * kMiB), b(kFirst, 20 * kMiB), c(kFirst, 20 * kMiB);
  for (Buffer* x : {&a, &c}) fill_bytes(x->data(), kFirst, 0, x->bytes);
  b.drop();
  EXPECT_EQ(memory_stats(kFirst).inactive_split_bytes.of[kAllPools].current, 0);
  empty_cache(kFirst);
  EXPECT_EQ(reserved(), mib(40));
  const std::string json = memory_snapshot_json();
  EXPECT_EQ(count(json, "\"total_size\":20971520"), 2u) << json;
  EXPECT_EQ(count(json, "\"is_expandable\":true"), 2u) << json;
  EXPECT_EQ(count(json, "\"action\":\"segment_map\""), 3u) << json;
  EXPECT_EQ(count(json, "\"action\":\"segment_unmap\""), 1u) << json;
  EXPECT_NE(json.find("\"expandable_segments\":true"), json.npos) << json;
  record_memory_history(0);
  Buffer again(kFirst, 18 * kMiB);
  EXPECT_EQ(static_cast<char*>(again.memory.data), static_cast<char*>(a.memory.data) + 20 * kMiB);
  EXPECT_EQ(reserved(), mib(60));
  for (Buffer* x : {&a, &c}) EXPECT_EQ(download(x->data(), 4, kFirst)[3], 0);
}

TEST_F(Expandable, MemoryThatWholeUnitsDoNotFitIntoIsUsed) {
  Buffer held(kFirst, 1), most(kFirst, 40 * kMiB);
  EXPECT_EQ(code_of([] { Buffer x(kFirst, 30 * kMiB); }), Code::out_of_device_memory);
  EXPECT_EQ(reserved(), mib(42));
  Buffer fits(kFirst, 20 * kMiB);
  EXPECT_EQ(reserved(), mib(62));
  most.drop();
  Buffer large(kFirst, 39 * kMiB);
  EXPECT_EQ(reserved(), mib(62));
  held.drop(), fits.drop(), large.drop();
  Buffer all(kFirst, 62 * kMiB);  // three units and a bit
  EXPECT_EQ(reserved(), mib(62));
}

TEST_F(Expandable, LimitsHold) {
  set_per_process_memory_fraction(0.5, kFirst);
  EXPECT_EQ(code_of([] { Buffer x(kFirst, 39 * kMiB); }), Code::out_of_device_memory);
  Buffer fits(kFirst, 20 * kMiB);
}

TEST_F(Expandable, APoolOfAGraphHasARangeOfItsOwn) {
  const Stream s = create_stream(kFirst);
  const StreamScope on(s);
  Buffer shared(kFirst, 4096);
  auto pool = make_ref<MemoryPool>(kFirst);
  GraphCapture capture(s, *pool);
  Buffer inside(kFirst, 4096);
  add_one(s, inside.data(), 1024);
  const Graph graph = capture.end();
  EXPECT_EQ(reserved(), mib(4));
  fill_bytes(inside.data(), kFirst, 0, 4096);
  graph.launch(s);
  EXPECT_EQ(download(inside.data(), 1024, kFirst)[7], 1);
  inside.drop();
  empty_cache(kFirst);
  EXPECT_EQ(reserved(), mib(4));  // the graph may be replayed
  pool = {};
  empty_cache(kFirst);
  EXPECT_EQ(reserved(), mib(2));
}

// Sizes over both pools, frees in any order, memory that ends and goes back in between: blocks
// never overlap, and keep what was written.
TEST_F(Expandable, RandomTraces) {
  std::mt19937_64 random(11);
  struct Written {
    Buffer buffer;
    float value;
  };
  std::vector<Written> live;
  int failures = 0;
  for (int i = 0; i < 400; ++i) {
    try {
      const size_t n = 1 + random() % (kMiB << random() % 4);
      Buffer fresh(kFirst, 4 * n);
      fill_bytes(fresh.data(), kFirst, i & 0x3f, 4 * n);
      live.push_back({std::move(fresh), 0});
      live.back().value = download(live.back().buffer.data(), 1, kFirst)[0];
    } catch (const Error& e) {
      ASSERT_EQ(e.code, Code::out_of_device_memory) << e.what();
      ++failures;
    }
    if (random() % 97 == 0) empty_cache(kFirst);
    ASSERT_LE(reserved(), mib(64));
    while (live.size() > random() % 24) {
      std::swap(live[random() % live.size()], live.back());
      const Buffer& b = live.back().buffer;
      ASSERT_EQ(download(b.data() + b.bytes / 4 - 1, 1, kFirst)[0], live.back().value);
      live.pop_back();
    }
  }
  EXPECT_GT(failures, 3);
}

TEST_F(Settings, UncutBlocksServeLargeRequestsOnly) {
  set("max_split_size_mb:21");
  Buffer large(kFirst, 22 * kMiB);
  const MemoryStats m = memory_stats(kFirst);
  EXPECT_EQ(m.max_split_size, mib(21));
  EXPECT_EQ(m.oversize_allocations.current, 1);
  EXPECT_EQ(m.oversize_segments.current, 1);
  large.drop();
  Buffer small(kFirst, 2 * kMiB);
  EXPECT_EQ(reserved(), mib(42));
  Buffer again(kFirst, 21 * kMiB);
  EXPECT_EQ(reserved(), mib(42));
}

TEST_F(Settings, GarbageIsCollectedOldestFirst) {
  set("garbage_collection_threshold:0.75");  // 48 MiB
  const int64_t retries = memory_stats(kFirst).num_alloc_retries;
  Buffer a(kFirst, 12 * kMiB), b(kFirst, 14 * kMiB), c(kFirst, 16 * kMiB);
  b.drop(), a.drop();
  Buffer d(kFirst, 20 * kMiB);
  EXPECT_EQ(reserved(), mib(12 + 16 + 20));
  EXPECT_EQ(memory_stats(kFirst).num_alloc_retries, retries);
}

TEST_F(Settings, GarbageIsCollectedBeforeARangeGrows) {
  Buffer segment(kFirst, 24 * kMiB);
  segment.drop();
  set("garbage_collection_threshold:0.5,expandable_segments:True");  // 32 MiB
  Buffer b(kFirst, 28 * kMiB);
  EXPECT_EQ(reserved(), mib(40));  // two units, and no segment
}

TEST_F(Settings, RequestsAreRoundedToStepsBetweenPowersOfTwo) {
  set("roundup_power2_divisions:[1:4,4:0,>:2]");
  const auto size = [](size_t bytes) {
    const int64_t before = memory_stats(kFirst).allocated_bytes.of[kAllPools].current;
    Buffer x(kFirst, bytes);
    return memory_stats(kFirst).allocated_bytes.of[kAllPools].current - before;
  };
  EXPECT_EQ(size(600), 1024);          // to the alignment: too small for steps
  EXPECT_EQ(size(5000), 5120);         // 4096 + 1024
  EXPECT_EQ(size(1100000), 1310720);   // 5/4 MiB
  EXPECT_EQ(size(5 * kMiB), mib(5));   // none
  EXPECT_EQ(size(9 * kMiB), mib(12));  // half steps
}

TEST_F(Settings, WhatCannotBeHonouredIsRefused) {
  for (const char* text :
       {"backend:cudaMallocAsync", "expandable_segments:yes", "max_split_size_mb:20", "fast:True",
        "garbage_collection_threshold:1", "roundup_power2_divisions:3", "expandable_segments",
        "roundup_power2_divisions:[256:1", "roundup_power2_divisions:[>:2,256:1]"}) {
    const std::string problem = message_of([&] { parse_settings(text); });
    EXPECT_NE(problem.find("accepted are expandable_segments"), problem.npos) << text;
  }
  EXPECT_TRUE(parse_settings("backend:native, expandable_segments: True").expandable_segments);
}

}  // namespace
}  // namespace flambeau
