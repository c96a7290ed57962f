// Graphs on simulated devices: capture records without running, replays run in the stream's order,
// and what cannot be captured says so.
#include "device/graph.h"

#include "simulated.h"

namespace flambeau {
namespace {

using Graphs = Simulated;

TEST_F(Graphs, ReplaysWhatWasCaptured) {
  Buffer x(kFirst, 4096);
  const Stream s = create_stream(kFirst);
  StreamScope scope(s);
  wait_stream(s, default_stream(kFirst));
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  const auto pool = make_ref<MemoryPool>(kFirst);
  GraphCapture capture(s, *pool);
  EXPECT_TRUE(is_capturing(s));
  add_one(s, x.data(), 1024);
  add_one(s, x.data(), 1024);
  const Graph graph = capture.end();
  EXPECT_FALSE(is_capturing(s));
  EXPECT_EQ(download(x.data(), 1, kFirst)[0], 0);
  for (int i = 0; i < 3; ++i) graph.launch(s);
  EXPECT_EQ(download(x.data(), 1, kFirst)[0], 6);
  EXPECT_EQ(code_of([&] { graph.launch(default_stream(kSecond)); }), Code::device_mismatch);
}

TEST_F(Graphs, SynchronisingDuringCaptureFails) {
  const Stream s = create_stream(kFirst);
  {
    const auto pool = make_ref<MemoryPool>(kFirst);
    GraphCapture capture(s, *pool);
    EXPECT_EQ(code_of([&] { synchronize(s); }), Code::graph_capture);
    EXPECT_EQ(code_of([&] { GraphCapture again(s, *pool); }), Code::graph_capture);
  }
  EXPECT_FALSE(is_capturing(s));  // an abandoned capture leaves the stream usable
  synchronize(s);
}

TEST_F(Graphs, StreamsJoinACaptureByItsEvents) {
  Buffer x(kFirst, 4096);
  const Stream s = create_stream(kFirst), side = create_stream(kFirst),
               other = create_stream(kFirst);
  StreamScope scope(s);
  wait_stream(s, default_stream(kFirst));
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  const auto pool = make_ref<MemoryPool>(kFirst);
  GraphCapture capture(s, *pool);
  wait_stream(side, s);
  EXPECT_TRUE(is_capturing(side));
  add_one(side, x.data(), 1024);
  wait_stream(s, side);
  add_one(s, x.data(), 1024);
  EXPECT_EQ(code_of([&] { wait_stream(s, other); }), Code::graph_capture);
  const Graph graph = capture.end();
  EXPECT_FALSE(is_capturing(side));
  graph.launch(s);
  EXPECT_EQ(download(x.data(), 1, kFirst)[0], 2);
}

TEST_F(Graphs, AStreamThatJoinedMustBeWaitedFor) {
  Buffer x(kFirst, 4096);
  const Stream s = create_stream(kFirst), side = create_stream(kFirst);
  const auto pool = make_ref<MemoryPool>(kFirst);
  GraphCapture capture(s, *pool);
  wait_stream(side, s);
  add_one(side, x.data(), 1024);
  EXPECT_EQ(code_of([&] { capture.end(); }), Code::graph_capture);
  EXPECT_FALSE(is_capturing(s) || is_capturing(side));
}

TEST_F(Graphs, MemoryOfACaptureIsNobodyElses) {
  const Stream s = create_stream(kFirst);
  StreamScope scope(s);
  void* inside = nullptr;
  {
    const auto pool = make_ref<MemoryPool>(kFirst);
    GraphCapture capture(s, *pool);
    const Memory m = allocate(kFirst, 4096);
    inside = m.data;
    deallocate(m.block);
    EXPECT_EQ(code_of([] { empty_cache(kFirst); }), Code::graph_capture);
    const Memory again = allocate(kFirst, 4096);
    EXPECT_EQ(again.data, inside);
    deallocate(again.block);
    const Graph graph = capture.end();
    const Memory outside = allocate(kFirst, 4096);
    EXPECT_NE(outside.data, inside);
    deallocate(outside.block);
    const int64_t held = memory_stats(kFirst).reserved_bytes.of[kAllPools].current;
    empty_cache(kFirst);
    EXPECT_GT(memory_stats(kFirst).reserved_bytes.of[kAllPools].current, 0);
    EXPECT_LT(memory_stats(kFirst).reserved_bytes.of[kAllPools].current, held);
  }
  empty_cache(kFirst);
  EXPECT_EQ(memory_stats(kFirst).reserved_bytes.of[kAllPools].current, 0);
}

TEST_F(Graphs, ReplaysAreCheckedForRaces) {
  NEEDS_SIM(kRacesEndIt);
  Buffer x(kFirst, 4096);
  const Stream s = create_stream(kFirst), other = create_stream(kFirst);
  wait_stream(s, default_stream(kFirst));
  const auto pool = make_ref<MemoryPool>(kFirst);
  GraphCapture capture(s, *pool);
  add_one(s, x.data(), 1024);
  const Graph graph = capture.end();
  graph.launch(s);
  graph.launch(other);
  EXPECT_EQ(sim::races().size(), 1u);
  sim::clear_races();
  synchronize(kFirst);
}

TEST_F(Graphs, TheCpuHasNone) {
  EXPECT_EQ(code_of([] { make_ref<MemoryPool>(kCpu); }), Code::unsupported);
}

}  // namespace
}  // namespace flambeau
