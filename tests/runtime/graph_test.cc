// Graphs on simulated devices: capture records without running, replays run in the stream's order,
// and what cannot be captured says so.
#include "device/graph.h"

#include "simulated.h"

namespace flambeau {
namespace {

using Graphs = Simulated;

TEST_F(Graphs, ReplaysWhatWasCaptured) {
  Buffer x(kSim0, 4096);
  const Stream s = create_stream(kSim0);
  StreamScope scope(s);
  wait_stream(s, default_stream(kSim0));
  fill_bytes(x.data(), kSim0, 0, x.bytes);
  GraphCapture capture(s);
  EXPECT_TRUE(is_capturing(s));
  add_one(s, x.data(), 1024);
  add_one(s, x.data(), 1024);
  const Graph graph = capture.end();
  EXPECT_FALSE(is_capturing(s));
  EXPECT_EQ(download(x.data(), 1, kSim0)[0], 0);
  for (int i = 0; i < 3; ++i) graph.launch(s);
  EXPECT_EQ(download(x.data(), 1, kSim0)[0], 6);
  EXPECT_EQ(code_of([&] { graph.launch(default_stream(kSim1)); }), Code::device_mismatch);
}

TEST_F(Graphs, SynchronisingDuringCaptureFails) {
  const Stream s = create_stream(kSim0);
  {
    GraphCapture capture(s);
    EXPECT_EQ(code_of([&] { synchronize(s); }), Code::graph_capture);
    EXPECT_EQ(code_of([&] { GraphCapture again(s); }), Code::graph_capture);
  }
  EXPECT_FALSE(is_capturing(s));  // an abandoned capture leaves the stream usable
  synchronize(s);
}

TEST_F(Graphs, ReplaysAreCheckedForRaces) {
  Buffer x(kSim0, 4096);
  const Stream s = create_stream(kSim0), other = create_stream(kSim0);
  wait_stream(s, default_stream(kSim0));
  GraphCapture capture(s);
  add_one(s, x.data(), 1024);
  const Graph graph = capture.end();
  graph.launch(s);
  graph.launch(other);
  EXPECT_EQ(sim::races().size(), 1u);
  sim::clear_races();
  synchronize(kSim0);
}

TEST_F(Graphs, TheCpuHasNone) {
  EXPECT_EQ(code_of([] { GraphCapture capture(default_stream(kCpu)); }), Code::unsupported);
}

}  // namespace
}  // namespace flambeau
