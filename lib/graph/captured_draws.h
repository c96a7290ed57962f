// What random ops draw while a graph is captured. A replay is to draw anew, as the eager program
// would: a launch reads the generator's seed and offset from device memory, a cell that is written
// before each replay, and adds its own place among the graph's launches.
#pragma once
#include <atomic>
#include <vector>

#include "base/ref.h"
#include "graph/generator.h"
#include "kernels/random/random.h"

namespace flambeau {

class CapturedDraws final : public RefCounted {
 public:
  explicit CapturedDraws(Device d) : device_(d) {}

  Device device() const { return device_; }
  bool any() const { return !entries_.empty(); }
  // The capture has ended, on whatever thread; others that hold these see it before they draw.
  void close() { open_.store(false, std::memory_order_release); }
  bool open() const { return open_.load(std::memory_order_acquire); }
  // The draw of the next launch from `g`, and room for those of the launches after it.
  Draw next(Generator& g, uint64_t launches);
  // For every generator that is drawn from: write(cell, its state), and moves it on by as many
  // launches as the graph has.
  template <class F> void take(F&& write) const {
    for (const Entry& e : entries_) write(e.cell, e.generator->advance(e.launches));
  }

 private:
  struct Entry {
    Ref<Generator> generator;
    Tensor cell;
    uint64_t launches = 0;
  };
  Device device_;
  std::vector<Entry> entries_;
  std::atomic<bool> open_ = true;
};

// Of the graph that this thread captures or works for; null where there is none. A graph may be
// released, and with it its capture, on another thread: hence held, and asked whether it is open.
CapturedDraws* captured_draws() noexcept;
void capture_draws(Ref<CapturedDraws> draws);

// The draw of a launch on `device` from `g`; of several launches the first, whose offset each that
// follows has one more than.
Draw next_draw(Generator& g, Device device, uint64_t launches = 1);

}  // namespace flambeau
