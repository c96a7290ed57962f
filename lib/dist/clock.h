// The clock that the ranks of a group have in common: rank 0's. Each rank asks rank 0 what time it
// has, several times, and believes the answer that came soonest.
#pragma once
#include <cstdint>

#include "dist/group.h"

namespace flambeau::dist {

// One question: when it left, came, was answered, and when the answer came, by the clocks of who
// asks, who answers twice, and who asks.
struct ClockSample {
  int64_t asked, heard, answered, got;
  // How far the other clock is ahead, and for how long the messages were on their way (Mills et
  // al., 2010, RFC 5905, section 8).
  int64_t offset() const { return ((heard - asked) + (answered - got)) / 2; }
  int64_t delay() const { return (got - asked) - (answered - heard); }
};

// All ranks call it. Nanoseconds by which rank 0's steady clock is ahead of this process's; from
// then on `job_epoch_ns` says what time it is on rank 0.
int64_t align_clocks(Group& g);

}  // namespace flambeau::dist
