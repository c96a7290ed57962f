// The training step that runs, as far as memory is concerned: what was allocated since its forward
// began grows with the batch, the rest does not. The ops layer tells of the first op that records a
// gradient, the engine of backward; an out-of-memory error then says which batch would fit.
// One step for the whole process: it only feeds advice.
#pragma once
#include <atomic>
#include <cstdint>

namespace flambeau {

struct Step {
  enum Phase : int8_t { idle, forward, backward };
  std::atomic<Phase> phase{idle};
  std::atomic<uint32_t> number{0};  // of the last forward that began, from 1
  std::atomic<int64_t> batch{0};    // its leading size; 0: not known
};

inline Step g_step;

inline bool in_forward() {
  return g_step.phase.load(std::memory_order_relaxed) == Step::forward &&
         g_step.batch.load(std::memory_order_relaxed) != 0;
}

// Begins a forward, or tells the batch of the one that runs. Nothing during backward.
inline void note_forward(int64_t batch) {
  if (g_step.phase == Step::backward) return;
  if (g_step.phase == Step::idle) {
    g_step.batch = 0;
    ++g_step.number;
    g_step.phase = Step::forward;
  }
  if (batch > 0) g_step.batch = batch;
}

// An allocation failed: who catches that begins anew, often with another batch.
inline void abandon_forward() {
  if (g_step.phase == Step::forward) g_step.phase = Step::idle;
}

class BackwardPhase {
 public:
  BackwardPhase() : outermost_(g_step.phase != Step::backward) {
    if (outermost_) g_step.phase = Step::backward;
  }
  ~BackwardPhase() {
    if (outermost_) g_step.phase = Step::idle;
  }
  BackwardPhase(const BackwardPhase&) = delete;
  BackwardPhase& operator=(const BackwardPhase&) = delete;

 private:
  bool outermost_;
};

// What the allocator writes on a block: the forward it belongs to, or 0.
inline uint32_t step_mark() {
  return g_step.phase.load(std::memory_order_relaxed) == Step::forward
             ? g_step.number.load(std::memory_order_relaxed)
             : 0;
}

}  // namespace flambeau
