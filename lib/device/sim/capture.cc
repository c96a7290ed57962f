// Captures of the simulated machine, with CUDA's rules: a stream that waits for an event of a
// capture joins it, one that is captured waits for nothing outside, and what joined must be waited
// for by the stream that began before it ends.
#include <algorithm>

#include "base/error.h"
#include "device/sim/machine.h"

namespace flambeau::sim {

void Machine::begin_capture(SimStream* s) {
  s->capture = std::make_shared<Graph>();
  s->capture->streams.push_back(s);
  s->captured = {};
}

std::string Machine::capture_wait(SimStream* s, const SimEvent& e) {
  const auto graph = e.capture.lock();
  const bool open = graph && std::ranges::any_of(graph->streams, [&](const SimStream* t) {
                      return t->capture == graph;
                    });
  if (s->capture && (!open || graph != s->capture))
    return s->name + " is being captured and cannot wait for what is not of the same capture";
  if (!open) return {};
  if (!s->capture) {
    s->capture = graph;
    s->captured = {};
    graph->streams.push_back(s);
  }
  s->captured.join(e.captured);
  return {};
}

bool Machine::captures(int device) const {
  return std::ranges::any_of(streams_,
                             [&](const auto& s) { return s->device == device && s->capture; });
}

std::string Machine::end_capture(SimStream* s, std::shared_ptr<Graph>& out) {
  out = s->capture;
  if (!out) return "the stream is not being captured";
  if (out->streams[0] != s) return "the capture began on " + out->streams[0]->name;
  std::string problem;
  for (SimStream* t : out->streams) {
    const uint32_t done = t->captured.at(t->number);
    if (t != s && s->captured.at(t->number) < done)
      problem = cat_text(t->name, " joined the capture, and ", s->name, " did not wait for it");
    t->capture = nullptr;
  }
  return problem;
}

}  // namespace flambeau::sim
