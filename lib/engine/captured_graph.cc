// Captures and replays; see captured_graph.h.
#include "engine/captured_graph.h"

#include <utility>

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace fb = flambeau;

struct flam_graph::Capture {
  Capture(fb::Stream s, const fb::MemoryPool& pool, Mode mode, fb::Ref<fb::CapturedDraws> d)
      : native(s, pool, mode), draws(std::move(d)) {
    fb::capture_draws(draws);
  }
  ~Capture() {
    draws->close();
    fb::captured_draws();  // lets go of them, where this is the thread that draws
  }
  fb::GraphCapture native;
  const fb::Ref<fb::CapturedDraws> draws;
};

flam_graph::flam_graph() = default;

flam_graph::~flam_graph() {
  capture_.reset();
  if (!graph_) return;
  try {
    reset();
  } catch (...) {
    // The device is lost, and nothing runs there any more; or it is being captured for another
    // graph, and what this one still runs keeps to memory that stays where it is meanwhile.
  }
}

void flam_graph::capture_begin(fb::Device d, fb::Ref<fb::MemoryPool> pool, Mode mode) {
  fb::check(!capture_ && !graph_, fb::Code::graph_capture, "this graph ",
            capture_ ? "is being captured" : "has been captured",
            "; reset it, or make another one");
  fb::check(!fb::captured_draws(), fb::Code::graph_capture,
            "this thread captures another graph already");
  d = fb::resolve(d);
  if (!pool) pool = fb::make_ref<fb::MemoryPool>(d);
  auto draws = fb::make_ref<fb::CapturedDraws>(d);
  capture_ = std::make_unique<Capture>(fb::current_stream(d), *pool, mode, draws);
  draws_ = std::move(draws);
  pool_ = std::move(pool);
}

void flam_graph::capture_end() {
  fb::check(capture_ != nullptr, fb::Code::graph_capture, "this graph is not being captured");
  fb::check(capture_->native.is_of_this_thread(), fb::Code::graph_capture,
            "a capture ends on the thread that began it");
  const auto ending = std::move(capture_);
  try {
    graph_.emplace(ending->native.end());
  } catch (...) {
    draws_ = nullptr;
    pool_ = nullptr;
    throw;
  }
}

void flam_graph::replay() {
  fb::check(graph_.has_value(), fb::Code::graph_capture,
            "this graph has not been captured, and cannot be replayed");
  fb::check(!draws_->any() || !fb::captured_draws(), fb::Code::graph_capture,
            "a graph that draws random numbers cannot be captured as a part of another one");
  const fb::GradMode off(false);
  draws_->take([](const fb::Tensor& cell, fb::Generator::State s) {
    fb::ops::fill_(fb::ops::select(cell, 0, 0), fb::wrapped_number(int64_t(s.seed)));
    fb::ops::fill_(fb::ops::select(cell, 0, 1), fb::wrapped_number(int64_t(s.offset)));
  });
  graph_->launch(fb::current_stream(graph_->device()));
}

void flam_graph::reset() {
  fb::check(!capture_, fb::Code::graph_capture, "this graph is being captured; end that first");
  if (graph_) fb::synchronize(graph_->device());
  graph_.reset();
  draws_ = nullptr;
  pool_ = nullptr;
}

const fb::Ref<fb::MemoryPool>& flam_graph::pool() const {
  fb::check(bool(pool_), fb::Code::graph_capture,
            "this graph has no memory pool before its capture begins");
  return pool_;
}
